"""What a new reader finds and must settle: dead producers, slots that were left, large messages half-way."""

from __future__ import annotations

import contextlib
import os
import signal
import threading
from collections.abc import Iterator

import pytest

from penstock.errors import RingAttachError, RingClosedError
from penstock.transport.ring import RingReader, RingSettings, RingWriter, Route
from tests.ring.consumers import create_and_consume, create_and_idle, lose_the_leading_thread
from tests.ring.nursery import Nursery
from tests.ring.patience import wait_until
from tests.ring.proc import descriptor_target, open_descriptors, state
from tests.ring.traffic import Tally, message, opened
from tests.ring.victims import Strike, write_and_be_struck

ONE_PRODUCER = RingSettings(capacity_bytes=1 << 14, max_producers=1)
TWO_PRODUCERS = RingSettings(capacity_bytes=1 << 14, max_producers=2)


@contextlib.contextmanager
def memory_of_the_dead(writer: RingWriter) -> Iterator[int]:
    """A descriptor of the ring's memory that outlives the writer."""
    memory_fd = os.dup(writer.memory_fd)
    try:
        yield memory_fd
    finally:
        os.close(memory_fd)


@pytest.mark.parametrize("point", ["after_claim", "mid_copy", "before_commit"])
def test_producer_and_reader_both_dead(nursery: Nursery, point: str) -> None:
    consumer = nursery.fork(create_and_idle, TWO_PRODUCERS)
    address = consumer.receive()
    with RingWriter.attach(address) as writer:
        victim = nursery.fork(write_and_be_struck, address, 1, [100] * 10, Strike(point, signal.SIGSTOP, passes=6))
        wait_until(victim.is_stopped, "the producer has stopped in the middle of a write")
        assert consumer.kill() == -signal.SIGKILL
        assert victim.kill() == -signal.SIGKILL
        writer.write(message(2, 0), Route(), timeout_s=30)
        with RingReader.resume(writer.memory_fd) as reader:
            tally = Tally()
            tally.drain(reader)
            assert tally.received == {1: 3 if point == "mid_copy" else 6, 2: 1}
            assert reader.counters().recovered_records == 1
            RingWriter.attach(reader.address).close()  # in the dead producer's slot


def test_producer_dies_after_the_takeover_without_having_met_the_new_reader(nursery: Nursery) -> None:
    consumer = nursery.fork(create_and_idle, TWO_PRODUCERS)
    address = consumer.receive()
    with RingWriter.attach(address) as writer:
        victim = nursery.fork(write_and_be_struck, address, 1, [100] * 3, Strike("before_commit", signal.SIGSTOP))
        wait_until(victim.is_stopped, "the producer has stopped in the middle of a write")
        assert consumer.kill() == -signal.SIGKILL
        with RingReader.resume(writer.memory_fd) as reader:
            assert reader.read(timeout_s=0) is None
            assert [stall.pid for stall in reader.stalls()] == [victim.pid]
            assert victim.kill() == -signal.SIGKILL
            Tally().drain(reader)
            assert reader.counters().recovered_records == 1


def test_slot_that_was_left_while_nobody_read_is_free_again(nursery: Nursery) -> None:
    consumer = nursery.fork(create_and_idle, ONE_PRODUCER)
    writer = RingWriter.attach(consumer.receive())
    with memory_of_the_dead(writer) as memory_fd:
        assert consumer.kill() == -signal.SIGKILL
        writer.close()
        with RingReader.resume(memory_fd) as reader:
            reader.read(timeout_s=0)
            RingWriter.attach(reader.address).close()


def test_slot_of_a_producer_that_vanishes_during_the_takeover_is_free_again(
    nursery: Nursery, monkeypatch: pytest.MonkeyPatch
) -> None:
    consumer = nursery.fork(create_and_idle, ONE_PRODUCER)
    victim = nursery.fork(write_and_be_struck, consumer.receive(), 1, [100], Strike("before_commit", signal.SIGSTOP))
    wait_until(victim.is_stopped, "the producer has stopped in the middle of a write")
    memory_fd = _ring_descriptor_of(victim.pid)
    try:
        assert consumer.kill() == -signal.SIGKILL
        really_open = os.pidfd_open

        def open_too_late(pid: int, flags: int = 0) -> int:
            if pid == victim.pid and not victim.is_dead():
                victim.kill()
            return really_open(pid, flags)

        monkeypatch.setattr(os, "pidfd_open", open_too_late)
        with RingReader.resume(memory_fd) as reader:
            Tally().drain(reader)
            RingWriter.attach(reader.address).close()
    finally:
        os.close(memory_fd)


def _ring_descriptor_of(pid: int) -> int:
    rings = [fd for fd in open_descriptors(pid) if "memfd:penstock-ring" in descriptor_target(fd, pid)]
    return os.open(f"/proc/{pid}/fd/{rings[0]}", os.O_RDWR)


def test_reader_whose_leading_thread_ended_is_not_dead(nursery: Nursery) -> None:
    """The kernel shows it as a zombie, and yet its other threads read on."""
    consumer = nursery.fork(lose_the_leading_thread, TWO_PRODUCERS)
    with RingWriter.attach(consumer.receive()) as writer:
        wait_until(lambda: state(consumer.pid) == "Z", "the leading thread has ended")
        with pytest.raises(RingAttachError, match="is not proven dead"):
            RingReader.resume(writer.memory_fd)
        writer.write(message(1, 0), Route())
        wait_until(lambda: writer.counters().records_read == 1, "the reader reads on")


def test_large_message_half_way_is_reported_and_can_be_sent_again(nursery: Nursery) -> None:
    consumer = nursery.fork(create_and_consume, TWO_PRODUCERS, Strike("after_free", passes=3), 1)
    with RingWriter.attach(consumer.receive()) as writer:
        consumer.channel.send("go")
        large = message(1, 0, 100_000)  # several times the ring
        with pytest.raises(RingClosedError, match="consumer is gone"):
            writer.write(large, Route(), timeout_s=60)
        assert consumer.wait() == -signal.SIGKILL
        with RingReader.resume(writer.memory_fd) as reader:
            writer.reattach(reader.address)
            sender = threading.Thread(target=writer.write, args=(large, Route()))
            sender.start()
            record = reader.read(timeout_s=60)
            assert record is not None
            assert opened(record.payload) == (1, 0)
            assert reader.read(timeout_s=0) is None
            sender.join()
            Tally().drain(reader)


def test_large_message_that_was_settled_is_not_sent_again(nursery: Nursery) -> None:
    """Its sender learns of that late: when another reader has taken over already."""
    consumer = nursery.fork(create_and_consume, TWO_PRODUCERS, None, 1)
    address = consumer.receive()
    with RingWriter.attach(address) as keeper:
        sender = nursery.fork(write_and_be_struck, address, 1, [9_500], Strike("after_free"))  # which it never passes
        wait_until(lambda: keeper.counters().full_waits == 1, "all packets are sent and the sender waits")
        sender.send_signal(signal.SIGSTOP)
        wait_until(sender.is_stopped, "the sender is stopped")
        consumer.channel.send("go")
        assert consumer.receive() == [(1, 0)]
        keeper.write(message(2, 0), Route())  # its arrival says that the reader has come back for more
        assert consumer.receive() == [(2, 0)]
        assert consumer.kill() == -signal.SIGKILL
        with RingReader.resume(keeper.memory_fd) as reader:
            sender.send_signal(signal.SIGCONT)
            got: list[tuple[int, int]] = []

            def all_read() -> bool:
                done = sender.is_dead()
                got.extend(opened(record.payload) for record in reader.read_many(timeout_s=0))
                return done and reader.drained

            wait_until(all_read, "the sender has ended and the ring is drained")
            assert sender.wait() == 0
            assert (1, 0) not in got, "a message that was finished came again"
