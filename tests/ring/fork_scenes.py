"""What happens around a fork: these functions run in children of the nursery, and fork there."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import warnings
from collections.abc import Callable
from multiprocessing.connection import Connection

from penstock.errors import RingError
from penstock.transport.ring import RingReader, RingSettings, RingWriter, Route
from tests.ring.traffic import message

SETTINGS = RingSettings(capacity_bytes=1 << 16, max_producers=2)
# Newer Pythons warn of forks in processes with threads, such as a reader's door. That it works all the same is what
# these scenes show.
warnings.filterwarnings("ignore", message=".*multi-threaded.*fork", category=DeprecationWarning)


def _fork(child: Callable[[], object]) -> int:
    pid = os.fork()
    if pid == 0:
        try:
            child()
            os._exit(0)
        finally:
            os._exit(1)
    return pid


def _exit_code(pid: int) -> int:
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def _error_of(use: Callable[[], object]) -> str:
    try:
        use()
    except RingError as error:
        return f"{type(error).__name__}: {error}"
    return "no error"


def _live_until_the_test_hangs_up(channel: Connection) -> None:
    with contextlib.suppress(EOFError):
        channel.recv()


def use_both_ends_in_the_child(channel: Connection) -> None:
    """Reports what each use of an inherited end raises in the child, and what the parent's ring does afterwards."""
    with RingReader.create(SETTINGS) as reader, RingWriter.attach(reader.address) as writer:
        writer.write(message(1, 0), Route())

        def child() -> None:
            channel.send(
                [
                    _error_of(lambda: reader.read(timeout_s=0)),
                    _error_of(reader.counters),
                    _error_of(lambda: writer.write(b"from the child", Route())),
                    _error_of(lambda: writer.try_write(b"from the child", Route())),
                    _error_of(lambda: writer.write_many([b"from the child"], Route())),
                    _error_of(writer.counters),
                ]
            )
            writer.close()
            reader.close()

        channel.send(_exit_code(_fork(child)))
        writer.write(message(1, 1), Route())
        channel.send([bytes(record.payload) for record in reader.read_many(timeout_s=0)])


def ring_in_the_child(channel: Connection) -> None:
    """Reports how a child ended that rang at both inherited ends, and what the parent heard."""
    with RingReader.create(SETTINGS) as reader, RingWriter.attach(reader.address) as writer:

        def child() -> None:
            reader.ring_bell(1)
            writer.ring_bell(2)

        code = _exit_code(_fork(child))
        channel.send((code, reader.take_bell()))


def drop_a_lent_payload_in_the_child(channel: Connection) -> None:
    """Reports the first bytes of a payload that the parent holds and the child dropped, after some laps."""
    with RingReader.create(SETTINGS) as reader, RingWriter.attach(reader.address) as writer:
        writer.write(b"held" * 1_500, Route())
        held = [reader.read(timeout_s=0)]
        _exit_code(_fork(held.clear))
        for _ in range(100):
            writer.try_write(b"next" * 1_500, Route())
            reader.read(timeout_s=0)
        assert held[0] is not None
        channel.send(bytes(held[0].payload) == b"held" * 1_500)
        held.clear()


def read_with_a_child_around(channel: Connection) -> None:
    """Forks a child that lives on, then reads and reports."""
    reader = RingReader.create(SETTINGS)
    channel.send(reader.address)
    channel.recv()  # a producer has attached
    _fork(lambda: _live_until_the_test_hangs_up(channel))
    channel.send("forked")
    while record := reader.read():
        channel.send(bytes(record.payload))


def write_with_a_child_around(channel: Connection, address: str) -> None:
    writer = RingWriter.attach(address)
    _fork(lambda: _live_until_the_test_hangs_up(channel))
    writer.write(message(1, 0), Route())
    _live_until_the_test_hangs_up(channel)


def wait_for_deaths_after_a_fork(channel: Connection) -> None:
    """Reports when it has seen a producer's death, which comes after a fork."""
    with RingReader.create(SETTINGS) as reader:
        channel.send(reader.address)
        channel.recv()  # a producer has attached
        _exit_code(_fork(lambda: None))
        channel.send("forked")
        while reader.live_slots():
            reader.read(timeout_s=0.01)
        channel.send("seen")


def _attach_and_write(address: str) -> None:
    with RingWriter.attach(address) as writer:
        writer.write(b"from the pool", Route())


def attach_in_a_multiprocessing_child(channel: Connection) -> None:
    with RingReader.create(SETTINGS) as reader, RingWriter.attach(reader.address) as writer:
        process = multiprocessing.get_context("fork").Process(target=_attach_and_write, args=(reader.address,))
        process.start()
        process.join()
        writer.write(b"from the parent", Route())
        channel.send((process.exitcode, [bytes(record.payload) for record in reader.read_many(timeout_s=0)]))
