"""Processes that wait in the ring and are interrupted: these functions run in children of the nursery."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable
from multiprocessing.connection import Connection

from penstock.errors import RingClosedError
from penstock.transport.ring import RingReader, RingSettings, RingWriter, Route
from tests.ring.proc import has_a_ring_mapped, open_descriptors

SETTINGS = RingSettings(capacity_bytes=1 << 14, max_producers=2)


def _resources() -> tuple[int, int, bool]:
    """Open descriptors, threads, and whether a ring is mapped."""
    return len(open_descriptors()), threading.active_count(), has_a_ring_mapped()


def _interrupted(wait: Callable[[], object]) -> bool:
    try:
        wait()
    except KeyboardInterrupt:
        return True
    return False


def read_until_interrupted(channel: Connection) -> None:
    """Reports whether Ctrl-C got through, whether the ring still works, and what was leaked."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    before = _resources()
    with RingReader.create(SETTINGS) as reader:
        channel.send(reader.address)
        interrupted = _interrupted(reader.read)
        channel.send(interrupted)
        record = reader.read()
        channel.send(record is not None and bytes(record.payload))
    channel.send(_resources() == before)


def write_until_interrupted(channel: Connection, address: str, message_bytes: int) -> None:
    """Fills the ring, and reports the same."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    before = _resources()
    with RingWriter.attach(address) as writer:
        while writer.try_write(bytes(1_000), Route()):
            pass
        channel.send(_interrupted(lambda: writer.write(bytes(message_bytes), Route())))
        channel.recv()
        writer.write(b"after", Route())
    channel.send(_resources() == before)


def close_while_a_thread_reads(channel: Connection, rounds: int) -> None:
    """Reports how each read ended."""
    for _ in range(rounds):
        reader = RingReader.create(SETTINGS)
        ends: list[str] = []

        def read(reader: RingReader = reader, ends: list[str] = ends) -> None:
            try:
                ends.append(repr(reader.read()))
            except RingClosedError:
                ends.append("closed")

        thread = threading.Thread(target=read)
        thread.start()
        while reader.counters().sleeps == 0:
            pass
        reader.close()
        thread.join()
        channel.send(ends)
