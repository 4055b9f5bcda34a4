"""Readers that get killed, and writers that outlive them: these functions run in children of the nursery."""

from __future__ import annotations

import ctypes
import random
import threading
from multiprocessing.connection import Connection
from multiprocessing.reduction import recv_handle
from pathlib import Path

from penstock.errors import RingAttachError, RingClosedError
from penstock.transport.ring import RingReader, RingSettings, RingWriter, Route
from tests.ring.traffic import SMALLEST, message, opened
from tests.ring.victims import Strike

LARGE = 20_000


def create_and_idle(channel: Connection, settings: RingSettings) -> None:
    """Makes a ring, tells its address, and reads nothing until it is killed."""
    reader = RingReader.create(settings)
    channel.send(reader.address)
    channel.recv()  # never comes
    reader.close()


def create_and_consume(channel: Connection, settings: RingSettings, strike: Strike | None, at_a_time: int) -> None:
    _consume(channel, RingReader.create(settings), strike, at_a_time)


def resume_and_consume(channel: Connection, strike: Strike | None, at_a_time: int) -> None:
    """Takes over the ring whose descriptor comes through the channel."""
    _consume(channel, RingReader.resume(recv_handle(channel)), strike, at_a_time)


def _consume(channel: Connection, reader: RingReader, strike: Strike | None, at_a_time: int) -> None:
    """Tells the address; then, on any word, reports each batch that it reads until it is killed."""
    channel.send(reader.address)
    channel.recv()
    if strike is not None:
        strike.arm()
    while True:
        records = reader.read_many(at_a_time)
        channel.send([opened(payload) for record in records for payload in record.payloads])
        del records  # what was lent keeps its space until it is dropped


def write_whoever_reads(channel: Connection, address: str, producer: int, enough: Path) -> None:
    """Writes until there is a file, to whichever reader is there.

    Reports how many messages it wrote, and which of them may arrive more than once.
    """
    rng = random.Random(producer)
    repeatable: set[int] = set()
    sequence = 0
    with RingWriter.attach(address) as writer:
        channel.send("attached")
        while not enough.exists():
            payload = message(producer, sequence, rng.choice([SMALLEST, 100, 1_000, 6_000, LARGE]))
            if len(payload) == LARGE:  # sent again, without a word, if it was on its way when the reader changed
                repeatable.add(sequence)
            while True:
                try:
                    writer.write(payload, Route(source=producer))
                    break
                except RingClosedError:
                    repeatable.add(sequence)
                    _meet_new_reader(channel, writer)
            sequence += 1
    channel.send((sequence, repeatable))


def _meet_new_reader(channel: Connection, writer: RingWriter) -> None:
    while True:
        channel.send("where?")
        try:
            return writer.reattach(channel.recv())
        except RingAttachError:  # that one is dead too
            continue


def lose_the_leading_thread(channel: Connection, settings: RingSettings) -> None:
    """Reads in a second thread, and ends the first one."""
    reader = RingReader.create(settings)
    channel.send(reader.address)

    def read_for_ever() -> None:
        while True:
            reader.read(timeout_s=1)

    threading.Thread(target=read_for_ever).start()
    ctypes.CDLL(None).pthread_exit(None)
