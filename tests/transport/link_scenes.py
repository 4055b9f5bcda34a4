"""Processes at the ends of links: these functions run in children of the nursery."""

from __future__ import annotations

import ctypes
import os
import warnings
from multiprocessing.connection import Connection
from pathlib import Path

from penstock.errors import RingClosedError
from penstock.transport.links import LinkKeys
from tests.transport.linked import ROUTE, read, receiving, send, sending

# Newer Pythons warn of forks in processes with threads. That it works all the same is what the scene shows.
warnings.filterwarnings("ignore", message=".*multi-threaded.*fork", category=DeprecationWarning)


def receive_while_the_interpreter_is_busy(channel: Connection, keys: LinkKeys) -> None:
    """Holds the interpreter lock from the parent's word until its next byte, then reports what is in the ring."""
    with receiving(keys) as (ring, receiver):
        channel.send((ring.address, receiver.endpoint))
        channel.recv()
        channel.send("busy")
        # A function of PyDLL keeps the lock: no thread of Python runs before it returns.
        ctypes.PyDLL(None).read(channel.fileno(), ctypes.create_string_buffer(1), 1)
        channel.send([bytes(record.payload) for record in ring.read_many(64, 0)])


def send_numbers(channel: Connection, endpoint: str, keys: LinkKeys) -> None:
    """Sends 0, 1, 2 ... until it is killed."""
    with sending(endpoint, keys) as sender:
        channel.send("begins")
        number = 0
        while True:
            number += sender.try_send(ROUTE, number.to_bytes(4, "little") * 100)


def receive_around_a_fork(channel: Connection, keys: LinkKeys) -> None:
    """Reports what is left of the receiver in a forked child, how that ended, and what the parent gets afterwards."""
    with receiving(keys) as (ring, receiver), sending(receiver.endpoint, keys) as sender:
        send(sender, b"before")
        before = read(ring, 1)
        pid = os.fork()
        if pid == 0:
            try:
                left = Path("/proc/self/maps").read_text().count("/memfd:penstock-ring")
                try:
                    receiver._intake.take(bytes(100), 1)
                    taken = "no error"
                except RingClosedError as error:
                    taken = type(error).__name__
                receiver.close()
                receiver.close()
                channel.send((left, taken, len(list(Path("/proc/self/task").iterdir()))))
                os._exit(0)
            finally:
                os._exit(1)
        code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        send(sender, b"after")
        channel.send((code, before + read(ring, 1), receiver.error))
