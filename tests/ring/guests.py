"""Processes at the ring's door: these functions run in children of the nursery."""

from __future__ import annotations

import os
import socket
from multiprocessing.connection import Connection

from penstock.errors import RingError
from penstock.transport.ring import RingReader, RingSettings, RingWriter, Route
from tests.ring.patience import PATIENCE_S
from tests.ring.traffic import message

NOBODY = 65534


def attach_as_nobody(channel: Connection, address: str) -> None:
    os.setuid(NOBODY)
    try:
        RingWriter.attach(address).close()
        channel.send("attached")
    except RingError as error:
        channel.send(repr(error))


def knock_as_nobody(channel: Connection, address: str, greeting: bytes) -> None:
    """Sends the greeting without asking whose door it is, and reports the answer and how many descriptors came."""
    os.setuid(NOBODY)
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as door:
        door.connect("\0" + address)
        door.send(greeting)
        answer, descriptors, _, _ = socket.recv_fds(door, 4096, 4)
        channel.send((answer, len(descriptors)))


def create_as_nobody(channel: Connection) -> None:
    os.setuid(NOBODY)
    with RingReader.create(RingSettings(capacity_bytes=1 << 14)) as reader:
        channel.send(reader.address)
        channel.recv()


def attach_and_write(channel: Connection, address: str, producer: int, messages: int) -> None:
    with RingWriter.attach(address, timeout_s=PATIENCE_S) as writer:
        channel.send("attached")
        channel.recv()  # all are there
        for sequence in range(messages):
            writer.write(message(producer, sequence), Route(source=producer))


def lose_the_connection_and_write(channel: Connection, address: str) -> None:
    """A writer that closes its socket (as a careless daemon closes all descriptors), and writes on."""
    writer = RingWriter.attach(address)
    channel.send("attached")
    channel.recv()
    writer._admission.connection.close()
    channel.send("closed")
    channel.recv()
    writer.write(message(1, 0), Route())
    channel.recv()  # never comes
