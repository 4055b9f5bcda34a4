"""Full rings and empty rings: who waits, who is woken, and what gets through meanwhile."""

from __future__ import annotations

import shutil
import signal
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from penstock.errors import RingClosedError, RingFullError
from penstock.transport.ring import RingReader, RingSettings, RingWriter, Route
from tests.ring.consumers import create_and_idle
from tests.ring.nursery import Nursery
from tests.ring.patience import wait_until
from tests.ring.traffic import Tally, message, opened
from tests.ring.victims import Strike, write_and_be_struck
from tests.ring.waiters import (
    SETTINGS,
    close_while_a_thread_reads,
    read_until_interrupted,
    write_until_interrupted,
)

ROUTE = Route()


def fill(writer: RingWriter, size: int = 1_000) -> int:
    """Writes until the ring is full; returns how many messages fitted."""
    count = 0
    while writer.try_write(message(0, count, size), ROUTE):
        count += 1
    return count


def test_try_write_says_that_the_ring_is_full(reader: RingReader) -> None:
    with RingWriter.attach(reader.address) as writer:
        count = fill(writer)
        assert count == (1 << 16) // 1_088
        assert not writer.try_write(message(0, count, 1_000), ROUTE)
        tally = Tally()
        tally.drain(reader)
        assert tally.received == {0: count}
        assert writer.try_write(message(0, count, 1_000), ROUTE)


def test_write_at_timeout_has_written_nothing(reader: RingReader) -> None:
    with RingWriter.attach(reader.address) as writer:
        count = fill(writer)
        for timeout_s in (0, 0.001):
            with pytest.raises(RingFullError, match=r"capacity_bytes=65536 messages_written=0") as caught:
                writer.write(message(0, count, 1_000), ROUTE, timeout_s=timeout_s)
            assert caught.value.written == 0
        tally = Tally()
        tally.drain(reader)
        assert tally.received == {0: count}
        assert reader.counters().full_waits == 2


def test_write_many_at_timeout_tells_how_many_went(reader: RingReader) -> None:
    with RingWriter.attach(reader.address) as writer:
        payloads = [message(0, sequence, 1_000) for sequence in range(200)]
        with pytest.raises(RingFullError) as caught:
            writer.write_many(payloads, ROUTE, timeout_s=0)
        assert 0 < caught.value.written < 200
        tally = Tally()
        tally.drain(reader)
        assert tally.received == {0: caught.value.written}
        writer.write_many(payloads[caught.value.written :][:20], ROUTE, timeout_s=30)
        tally.drain(reader)
        assert tally.received == {0: caught.value.written + 20}


def test_large_message_that_timed_out_says_that_it_may_still_arrive(reader: RingReader) -> None:
    """Its packets are in the ring and cannot be called back; the caller must know before sending it again."""
    with RingWriter.attach(reader.address) as writer:
        with pytest.raises(RingFullError, match="may still arrive"):
            writer.write(message(0, 0, 20_000), ROUTE, timeout_s=0)  # it fits, but nobody takes it
        tally = Tally()
        tally.drain(reader)
        assert tally.received == {0: 1}


def test_waiting_write_goes_on_when_there_is_room(reader: RingReader) -> None:
    with RingWriter.attach(reader.address) as writer, ThreadPoolExecutor(1) as executor:
        count = fill(writer)
        waits = reader.counters().full_waits
        writing = executor.submit(writer.write, message(0, count, 1_000), ROUTE)
        wait_until(lambda: reader.counters().full_waits == waits + 1, "the writer waits")
        assert not writing.done()
        tally = Tally()
        tally.drain(reader)
        writing.result(timeout=30)
        tally.drain(reader)
        assert tally.received == {0: count + 1}


def test_nobody_is_woken_when_nobody_sleeps(reader: RingReader) -> None:
    with RingWriter.attach(reader.address) as writer:
        for _ in range(100):
            writer.write_many([b"x"] * 100, ROUTE)
            assert len(reader.read_many(timeout_s=0)[0].payloads) == 100
        counters = reader.counters()
        assert counters.records_read == 100
        assert (counters.wakes, counters.sleeps, counters.full_waits) == (0, 0, 0)


def test_sleeping_reader_is_woken(reader: RingReader) -> None:
    """Else it would find each record only at the end of its slice, and `wakes` would stay 0."""
    with RingWriter.attach(reader.address) as writer, ThreadPoolExecutor(1) as executor:
        for sequence in range(20):
            sleeps = reader.counters().sleeps
            reading = executor.submit(reader.read)
            wait_until(lambda sleeps=sleeps: reader.counters().sleeps > sleeps, "the reader sleeps")  # type: ignore[misc]
            writer.write(message(0, sequence), ROUTE)
            record = reading.result(timeout=30)
            assert record is not None
            assert record.payload == message(0, sequence)
        assert reader.counters().wakes > 0


def test_sleeping_reader_is_woken_before_a_large_record_is_copied(nursery: Nursery) -> None:
    """Its core wakes up during the copy. The writer stops in the middle of that: only an early wake can have come."""
    with RingReader.create(RingSettings(capacity_bytes=1 << 20)) as reader, ThreadPoolExecutor(1) as executor:
        reading = executor.submit(reader.read)
        for _ in range(100):  # between two slices of its sleep the reader is awake, and need not be woken
            sleeps, wakes = reader.counters().sleeps, reader.counters().wakes
            wait_until(lambda sleeps=sleeps: reader.counters().sleeps > sleeps, "the reader sleeps")  # type: ignore[misc]
            writer = nursery.fork(
                write_and_be_struck, reader.address, 1, [100_000], Strike("mid_copy", signal=signal.SIGSTOP)
            )
            wait_until(writer.is_stopped, "the writer has stopped in the middle of its copy")
            if reader.counters().wakes > wakes:
                break
            assert writer.kill() == -signal.SIGKILL
        else:
            pytest.fail("the reader was never woken early")
        assert not reading.done()
        writer.send_signal(signal.SIGCONT)
        record = reading.result(timeout=100)
        assert record is not None
        assert opened(record.payload) == (1, 0)
        del record
        assert writer.wait() == 0


def test_record_that_is_not_large_wakes_the_reader_when_it_is_whole(nursery: Nursery) -> None:
    with RingReader.create(RingSettings(capacity_bytes=1 << 20)) as reader, ThreadPoolExecutor(1) as executor:
        reading = executor.submit(reader.read)
        wait_until(lambda: reader.counters().sleeps > 0, "the reader sleeps")
        strike = Strike("mid_copy", signal=signal.SIGSTOP)
        writer = nursery.fork(write_and_be_struck, reader.address, 1, [65_536], strike)
        wait_until(writer.is_stopped, "the writer has stopped in the middle of its copy")
        assert reader.counters().wakes == 0
        writer.send_signal(signal.SIGCONT)
        record = reading.result(timeout=100)
        assert record is not None
        assert opened(record.payload) == (1, 0)
        del record
        assert writer.wait() == 0


STRACED = """
import os
from penstock.transport.ring import RingReader, RingSettings, RingWriter, Route
with RingReader.create(RingSettings(capacity_bytes=1 << 16)) as reader, RingWriter.attach(reader.address) as writer:
    route = Route()
    def turn():
        for _ in range(500):
            writer.try_write(b"x" * 100, route)
            writer.write(b"x" * 1000, route)
            writer.write_many([b"x" * 10] * 20, route)
            reader.read_many(256, 0)
    turn()
    os.umask(0o22)
    turn()
    os.umask(0o22)
"""
# To look at the clock is a system call on few machines, and then the interpreter makes it, too.
OTHER_CALLS = ("mmap(", "munmap(", "mremap(", "brk(", "madvise(", "clock_gettime", "restart_syscall")


STRACED_WAIT = """
import os
from penstock.transport.ring import RingReader, RingSettings
with RingReader.create(RingSettings(capacity_bytes=1 << 16, max_spin_us=SPIN_US)) as reader:
    os.umask(0o22)
    for _ in range(20):
        reader.read_many(256, 0.001)
        for _ in range(20):
            reader.read_many(256, 0)
    os.umask(0o22)
"""


def calls_between_umasks(script: str, tmp_path: Path) -> list[str]:
    """The system calls of a script, without those of memory, of the clock and of the interpreter's own lock."""
    log = tmp_path / "calls"
    command = ["strace", "-o", str(log), sys.executable, "-c", script]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    if "ptrace" in result.stderr:
        pytest.skip(f"strace may not trace here: {result.stderr.strip()}")
    assert result.returncode == 0, result.stderr
    _, between, _ = log.read_text().split("umask(")
    # The ring's futex is shared between processes. A private one is the interpreter's own lock, on a busy machine.
    calls = between.splitlines()[1:]
    return [call for call in calls if not call.startswith(OTHER_CALLS) and "_PRIVATE" not in call]


@pytest.mark.skipif(shutil.which("strace") is None, reason="strace is not installed")
def test_no_system_call_on_the_way(tmp_path: Path) -> None:
    assert calls_between_umasks(STRACED, tmp_path) == []


@pytest.mark.skipif(shutil.which("strace") is None, reason="strace is not installed")
@pytest.mark.parametrize("spin_us", [0, 20])
def test_reader_that_waits_makes_no_call_but_to_sleep(tmp_path: Path, spin_us: int) -> None:
    """It does not yield its core in a loop, and a look that does not wait does not sleep either."""
    calls = calls_between_umasks(STRACED_WAIT.replace("SPIN_US", str(spin_us)), tmp_path)
    sleeps = [call for call in calls if call.startswith("futex(") and "FUTEX_WAIT" in call]
    assert [call for call in calls if call not in sleeps] == []
    assert 0 < len(sleeps) <= 40  # a wait of 1 ms may end a little early, and is then slept again


def test_interpreter_is_free_while_the_reader_waits(reader: RingReader) -> None:
    """With the interpreter lock held by the waiting thread, this test would stop here for ever."""
    with RingWriter.attach(reader.address) as writer, ThreadPoolExecutor(1) as executor:
        reading = executor.submit(reader.read)
        wait_until(lambda: reader.counters().sleeps >= 3, "the reader has slept, woken and slept again")
        assert not reading.done()
        writer.write(b"end", ROUTE)
        assert reading.result(timeout=30) is not None


def test_consumer_dies_while_writers_wait(nursery: Nursery) -> None:
    consumer = nursery.fork(create_and_idle, SETTINGS)
    with RingWriter.attach(consumer.receive()) as writer, ThreadPoolExecutor(1) as executor:
        fill(writer)
        waits = writer.counters().full_waits
        writing = executor.submit(writer.write, bytes(1_000), ROUTE)
        wait_until(lambda: writer.counters().full_waits == waits + 1, "the writer waits")
        assert not writer.consumer_gone
        assert consumer.kill() == -signal.SIGKILL
        with pytest.raises(RingClosedError, match="consumer is gone; this message was not written"):
            writing.result(timeout=30)
        assert writer.consumer_gone


def test_writer_closed_by_another_thread_while_it_waits(reader: RingReader) -> None:
    writer = RingWriter.attach(reader.address)
    with ThreadPoolExecutor(1) as executor:
        fill(writer)
        waits = reader.counters().full_waits
        writing = executor.submit(writer.write, bytes(1_000), ROUTE)
        wait_until(lambda: reader.counters().full_waits == waits + 1, "the writer waits")
        writer.close()
        with pytest.raises(RingClosedError, match="this writer is closed"):
            writing.result(timeout=30)


def test_reader_closed_by_another_thread_while_it_waits(nursery: Nursery) -> None:
    rounds = 10
    child = nursery.fork(close_while_a_thread_reads, rounds)
    assert [child.receive() for _ in range(rounds)] == [["closed"]] * rounds
    assert child.wait() == 0


def test_ctrl_c_gets_through_to_a_waiting_reader(nursery: Nursery) -> None:
    child = nursery.fork(read_until_interrupted)
    with RingWriter.attach(child.receive()) as writer:
        wait_until(lambda: writer.counters().sleeps > 0, "the reader sleeps")
        child.send_signal(signal.SIGINT)
        assert child.receive() is True
        writer.write(b"after", ROUTE)
        assert child.receive() == b"after"
        assert child.receive() is True, "something leaked"
    assert child.wait() == 0


@pytest.mark.parametrize("message_bytes", [1_000, 100_000], ids=["record", "packets"])
def test_ctrl_c_gets_through_to_a_waiting_writer(nursery: Nursery, message_bytes: int) -> None:
    with RingReader.create(RingSettings(capacity_bytes=1 << 14, max_producers=1)) as reader:
        child = nursery.fork(write_until_interrupted, reader.address, message_bytes)
        wait_until(lambda: reader.counters().full_waits > 0, "the writer waits")
        child.send_signal(signal.SIGINT)
        assert child.receive() is True
        payloads: list[bytes] = []

        def drained() -> bool:
            payloads.extend(bytes(record.payload) for record in reader.read_many(timeout_s=0))
            return reader.drained

        wait_until(drained, "the ring is drained")
        child.channel.send("go on")
        assert child.receive() is True, "something leaked"
        assert child.wait() == 0
        wait_until(drained, "the ring is drained")
        assert payloads == [bytes(1_000)] * (len(payloads) - 1) + [b"after"]


def test_threads_share_one_writer(reader: RingReader) -> None:
    threads, messages = 6, 300

    def write(number: int) -> None:
        for sequence in range(0, messages, 3):
            writer.write(message(number, sequence, 200), ROUTE)
            writer.write_many([message(number, sequence + 1, 50)], ROUTE)
            writer.write(message(number, sequence + 2, 20_000 if sequence % 30 == 0 else 5_000), ROUTE)

    with RingWriter.attach(reader.address) as writer:
        running = [threading.Thread(target=write, args=(number,)) for number in range(threads)]
        for thread in running:
            thread.start()
        tally = Tally()
        while sum(tally.received.values()) < threads * messages:
            records = reader.read_many(timeout_s=30)
            assert records, "the writers have stopped"
            tally.take(records)
            del records
        for thread in running:
            thread.join(timeout=30)
            tally.drain(reader)
        assert dict(tally.received) == dict.fromkeys(range(threads), messages)
