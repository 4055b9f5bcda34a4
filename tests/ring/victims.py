"""Processes that get killed or stopped: these functions run in children of the nursery."""

from __future__ import annotations

import signal
import sys
from multiprocessing.connection import Connection
from types import ModuleType

import msgspec

from penstock.errors import RingAttachError
from penstock.transport.ring import RingWriter, Route
from tests.ring.traffic import message


class Strike(msgspec.Struct, frozen=True):
    """Where a process sends itself which signal, once it has passed the point `passes` times."""

    point: str
    signal: int = signal.SIGKILL
    passes: int = 0

    def arm(self) -> None:
        chaos: ModuleType = sys.modules["penstock._native"]
        chaos.arm(self.point, int(self.signal), self.passes)


def attach_when_there_is_room(address: str) -> RingWriter:
    """A slot of the dead is free only when the reader has passed all that they left behind."""
    while True:
        try:
            return RingWriter.attach(address)
        except RingAttachError as error:
            if "all producer slots are taken" not in str(error):
                raise


def write_and_be_struck(channel: Connection, address: str, producer: int, sizes: list[int], strike: Strike) -> None:
    """Writes a message of each size and reports how many writes have returned."""
    with RingWriter.attach(address) as writer:
        channel.send(0)
        strike.arm()
        for sequence, size in enumerate(sizes):
            writer.write(message(producer, sequence, size), Route(source=producer))
            channel.send(sequence + 1)


def write_batches_and_be_struck(
    channel: Connection, address: str, producer: int, batches: list[int], strike: Strike
) -> None:
    """Writes batches of so many messages each, and reports how many messages have gone."""
    sequence = 0
    with RingWriter.attach(address) as writer:
        channel.send(0)
        strike.arm()
        for count in batches:
            writer.write_many([message(producer, sequence + i) for i in range(count)], Route(source=producer))
            sequence += count
            channel.send(sequence)
