"""A watch over descriptors: each rings the ring's bell once, and is quiet until it is armed again."""

from __future__ import annotations

import contextlib
import gc
import os
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from penstock.errors import RingClosedError
from penstock.transport.descriptor_watch import DescriptorWatch
from penstock.transport.ring import RingReader, RingSettings, RingWriter
from tests.ring.nursery import Nursery
from tests.ring.patience import wait_until
from tests.transport import watching

SETTINGS = RingSettings(capacity_bytes=1 << 14, max_producers=2)
A, B, C = 1, 2, 4


class Pipe:
    """A pipe whose ends close with it, unless they are closed already."""

    def __init__(self) -> None:
        self.readable, self.writable = os.pipe()

    def write(self) -> None:
        os.write(self.writable, b"x")

    def read(self) -> None:
        assert os.read(self.readable, 100)

    def close(self) -> None:
        for fd in (self.readable, self.writable):
            with contextlib.suppress(OSError):
                os.close(fd)


@pytest.fixture
def ring() -> Iterator[RingReader]:
    with RingReader.create(SETTINGS) as ring:
        yield ring


@pytest.fixture
def watch(ring: RingReader) -> Iterator[DescriptorWatch]:
    with DescriptorWatch(ring) as watch:
        yield watch


@pytest.fixture
def pipes() -> Iterator[list[Pipe]]:
    pipes = [Pipe(), Pipe(), Pipe()]
    yield pipes
    for pipe in pipes:
        pipe.close()


def hear(ring: RingReader, wanted: int) -> int:
    """Waits until all `wanted` bits were rung, and returns all that were."""
    heard = 0
    while heard & wanted != wanted:
        assert ring.read_many(256, 100) == []
        bits = ring.take_bell()
        assert bits, f"waited in vain for bits={wanted:b}, heard={heard:b}"
        heard |= bits
    return heard


def all_heard(ring: RingReader, watch: DescriptorWatch) -> int:
    """Everything that fires for what has happened so far: it has rung before a pipe that is written to last."""
    last = Pipe()
    watch.add(last.readable, 1 << 31)
    last.write()
    heard = hear(ring, 1 << 31) & ~(1 << 31)
    watch.remove(last.readable)
    last.close()
    return heard


def watch_threads() -> list[Path]:
    tasks = []
    for task in Path("/proc/self/task").iterdir():
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):
            if (task / "comm").read_text() == "penstock-watch\n":
                tasks.append(task)
    return tasks


def await_watch_threads(count: int) -> None:
    """A thread that was joined may be listed a moment longer, and one that was started names itself when it runs."""
    wait_until(lambda: len(watch_threads()) == count, f"{count} threads watch")


def test_descriptor_rings_once_until_it_is_armed_again(
    ring: RingReader, watch: DescriptorWatch, pipes: list[Pipe]
) -> None:
    pipe = pipes[0]
    watch.add(pipe.readable, A)
    assert all_heard(ring, watch) == 0
    for _ in range(3):
        pipe.write()
        assert hear(ring, A) == A
        pipe.write()
        assert all_heard(ring, watch) == 0
        assert watch.rearm(pipe.readable)  # there is still something to read
        assert hear(ring, A) == A
        pipe.read()
        assert watch.rearm(pipe.readable)
        assert all_heard(ring, watch) == 0


def test_each_descriptor_has_bits_of_its_own(ring: RingReader, watch: DescriptorWatch, pipes: list[Pipe]) -> None:
    for pipe, bits in zip(pipes, (A, B | C, C), strict=True):
        watch.add(pipe.readable, bits)
    pipes[2].write()
    assert all_heard(ring, watch) == C
    pipes[1].write()
    pipes[0].write()
    assert hear(ring, A | B) == A | B | C


def test_readable_descriptor_rings_when_it_is_added(
    ring: RingReader, watch: DescriptorWatch, pipes: list[Pipe]
) -> None:
    pipes[0].write()
    watch.add(pipes[0].readable, A)
    assert hear(ring, A) == A


def test_end_of_the_other_side_rings(ring: RingReader, watch: DescriptorWatch, pipes: list[Pipe]) -> None:
    ours, theirs = socket.socketpair()
    with ours:
        watch.add(ours.fileno(), A)
        watch.add(pipes[0].readable, B)
        theirs.shutdown(socket.SHUT_WR)
        assert hear(ring, A) == A
        assert all_heard(ring, watch) == 0
        theirs.close()
        assert watch.rearm(ours.fileno())
        assert hear(ring, A) == A
        os.close(pipes[0].writable)
        assert hear(ring, B) == B
        watch.remove(ours.fileno())


def test_removed_descriptor_is_quiet(ring: RingReader, watch: DescriptorWatch, pipes: list[Pipe]) -> None:
    watch.add(pipes[0].readable, A)
    watch.remove(pipes[0].readable)
    watch.remove(pipes[0].readable)
    pipes[0].write()
    assert not watch.rearm(pipes[0].readable)
    assert all_heard(ring, watch) == 0
    watch.add(pipes[0].readable, B)
    assert hear(ring, B) == B


def test_descriptor_that_was_closed_without_a_word_is_forgotten(
    ring: RingReader, watch: DescriptorWatch, pipes: list[Pipe]
) -> None:
    number = pipes[0].readable
    watch.add(number, A)
    os.close(number)
    assert not watch.rearm(number)
    watch.remove(number)
    with Path(os.devnull).open() as taken:  # a descriptor of the same number is another one
        assert taken.fileno() == number
        assert not watch.rearm(number)
    pipes[0].readable = os.dup(pipes[1].readable)
    assert pipes[0].readable == number
    watch.add(number, B)
    pipes[1].write()
    assert hear(ring, B) == B


def test_number_of_a_closed_descriptor_is_another_one(
    ring: RingReader, watch: DescriptorWatch, pipes: list[Pipe]
) -> None:
    number = pipes[0].readable
    watch.add(number, A)
    os.dup2(pipes[1].readable, number)  # closes it, without remove
    assert not watch.rearm(number)
    watch.add(number, B)
    pipes[1].write()
    assert hear(ring, B) == B


def test_what_cannot_be_watched_is_refused(ring: RingReader, watch: DescriptorWatch, pipes: list[Pipe]) -> None:
    watch.add(pipes[0].readable, A)
    with pytest.raises(FileExistsError, match=f"cannot watch descriptor {pipes[0].readable}"):
        watch.add(pipes[0].readable, B)
    with tempfile.TemporaryFile() as file, pytest.raises(PermissionError):
        watch.add(file.fileno(), A)
    with pytest.raises(OSError, match="cannot watch descriptor 10000: Bad file descriptor"):
        watch.add(10_000, A)
    with pytest.raises(ValueError, match="bits must be"):
        watch.add(pipes[1].readable, 0)
    pipes[0].write()
    assert hear(ring, A) == A


def test_closed_watch(ring: RingReader, pipes: list[Pipe]) -> None:
    watch = DescriptorWatch(ring)
    watch.add(pipes[0].readable, A)
    closed = [watch.closed]
    await_watch_threads(1)
    for _ in range(2):
        watch.close()
        closed.append(watch.closed)
        await_watch_threads(0)
    assert closed == [False, True, True]
    with pytest.raises(RingClosedError, match="this watch is closed"):
        watch.add(pipes[0].readable, A)
    assert not watch.rearm(pipes[0].readable)
    watch.remove(pipes[0].readable)
    pipes[0].write()
    assert ring.take_bell() == 0
    ring.close()
    with pytest.raises(RingClosedError):
        DescriptorWatch(ring)
    await_watch_threads(0)


def test_forgotten_watch_ends_its_thread(ring: RingReader, pipes: list[Pipe]) -> None:
    cycle: list[object] = [DescriptorWatch(ring)]
    cycle.append(cycle)
    watch = DescriptorWatch(ring)
    watch.add(pipes[0].readable, A)
    await_watch_threads(2)
    del watch
    await_watch_threads(1)
    del cycle
    gc.collect()
    await_watch_threads(0)


def test_watch_is_closed_while_it_rings(ring: RingReader, pipes: list[Pipe]) -> None:
    for pipe in pipes:
        pipe.write()
    for _ in range(50):
        with DescriptorWatch(ring) as watch:
            for pipe in pipes:
                watch.add(pipe.readable, A)


def test_memory_stays_mapped_as_long_as_the_watch_may_ring(pipes: list[Pipe]) -> None:
    ring = RingReader.create(SETTINGS)
    with DescriptorWatch(ring) as watch, RingWriter.attach(ring.address) as writer:
        watch.add(pipes[0].readable, A)
        ring.close()
        pipes[0].write()
        with RingReader.resume(writer.memory_fd) as successor:
            assert hear(successor, A) == A


def test_thread_leaves_all_signals_to_others(watch: DescriptorWatch) -> None:
    assert not watch.closed
    (task,) = watch_threads()
    status = dict(line.split(":\t", 1) for line in (task / "status").read_text().splitlines())
    blocked = int(status["SigBlk"], 16)
    wanted = {signal.SIGINT, signal.SIGTERM, signal.SIGCHLD, signal.SIGUSR1, signal.SIGALRM}
    assert {number for number in wanted if blocked >> (number - 1) & 1} == wanted
    assert signal.SIGINT not in signal.pthread_sigmask(signal.SIG_BLOCK, ())


def test_words_and_death_of_another_process(ring: RingReader, watch: DescriptorWatch, nursery: Nursery) -> None:
    child = nursery.fork(watching.speak_when_spoken_to)
    watch.add(child.channel.fileno(), A)
    child.channel.send("go")
    assert hear(ring, A) == A
    assert child.receive() == "go"
    assert watch.rearm(child.channel.fileno())
    assert all_heard(ring, watch) == 0
    child.send_signal(signal.SIGKILL)
    assert hear(ring, A) == A
    wait_until(child.is_dead, "the child is dead")
    watch.remove(child.channel.fileno())
    assert child.wait() == -signal.SIGKILL


def test_forked_child_has_no_watch_and_the_parent_keeps_its_own(nursery: Nursery) -> None:
    scene = nursery.fork(watching.watch_around_a_fork)
    assert scene.receive() == {"closed": True, "rearm": False, "add": "RingClosedError", "descriptors": 0, "threads": 1}
    assert scene.receive() == (0, A)
    assert scene.wait() == 0


def test_process_that_forgets_its_watch_ends() -> None:
    script = (
        "import os\n"
        "from penstock.transport.descriptor_watch import DescriptorWatch\n"
        "from penstock.transport.ring import RingReader, RingSettings\n"
        "ring = RingReader.create(RingSettings(capacity_bytes=1 << 14))\n"
        "watch = DescriptorWatch(ring)\n"
        "readable, writable = os.pipe()\n"
        "watch.add(readable, 1)\n"
        "os.write(writable, b'x')\n"
    )
    ended = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stderr) == (0, "")
