"""The bell: what wakes a reader without a record, and is never lost."""

from __future__ import annotations

import signal
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.errors import RingClosedError
from penstock.transport.ring import RingReader, RingSettings, RingWriter, Route
from tests.ring import fork_scenes
from tests.ring.consumers import create_and_idle
from tests.ring.nursery import Nursery
from tests.ring.patience import wait_until
from tests.ring.ringers import attach_and_ring
from tests.ring.victims import Strike

ROUTE = Route()
SETTINGS = RingSettings(capacity_bytes=1 << 14, max_producers=2)


def test_bell_ends_the_wait_of_a_sleeping_reader(reader: RingReader) -> None:
    with ThreadPoolExecutor(1) as executor:
        for bits in (1, 1 << 31, 6):
            sleeps = reader.counters().sleeps
            reading = executor.submit(reader.read_many, 256, None)
            wait_until(lambda sleeps=sleeps: reader.counters().sleeps > sleeps, "the reader sleeps")  # type: ignore[misc]
            assert not reading.done()
            reader.ring_bell(bits)
            assert reading.result(timeout=100) == []
            assert reader.take_bell() == bits
            assert reader.take_bell() == 0


@pytest.mark.parametrize("timeout_s", [None, 1e6, 0], ids=str)
def test_nobody_waits_while_the_bell_is_rung(reader: RingReader, timeout_s: float | None) -> None:
    """It stays rung until it is taken, however often the reader asks for records."""
    reader.ring_bell(3)
    for _ in range(5):
        assert reader.read_many(256, timeout_s) == []
        assert reader.read(timeout_s) is None
    assert reader.counters().sleeps == 0
    assert reader.take_bell() == 3
    assert reader.read_many(256, 0.1) == []  # so long that a busy machine gets to the sleep before it is over
    assert reader.counters().sleeps > 0


def test_records_come_while_the_bell_is_rung(reader: RingReader) -> None:
    with RingWriter.attach(reader.address) as writer:
        reader.ring_bell(4)
        writer.write(b"one", ROUTE)
        assert [record.payload for record in reader.read_many()] == [b"one"]
        writer.write(b"two", ROUTE)
        assert [record.payload for record in reader.read_many(256, 0)] == [b"two"]
        assert reader.take_bell() == 4
        assert not reader.drained  # what was handed out is not done with: taking the bell asks for no more
        assert reader.read_many(256, 0) == []
        assert reader.drained


OPERATIONS = st.one_of(
    st.tuples(st.sampled_from(["reader rings", "writer rings"]), st.integers(1, 2**32 - 1)),
    st.tuples(st.sampled_from(["take", "write", "read"]), st.just(0)),
)


@given(st.lists(OPERATIONS, max_size=60))
def test_bell_and_records_do_not_touch_each_other(operations: list[tuple[str, int]]) -> None:
    rung, waiting = 0, 0
    with RingReader.create(SETTINGS) as reader, RingWriter.attach(reader.address) as writer:
        for what, bits in operations:
            if what == "reader rings":
                reader.ring_bell(bits)
            elif what == "writer rings":
                writer.ring_bell(bits)
            elif what == "write" and waiting < 50:
                writer.write(b"x", ROUTE)
                waiting += 1
            elif what == "read" and (waiting or rung):
                assert len(reader.read_many(256, None)) == waiting
                waiting = 0
            elif what == "take":
                assert reader.take_bell() == rung
                rung = 0
            rung |= bits
        assert reader.take_bell() == rung


def test_every_ring_of_many_threads_is_heard(reader: RingReader) -> None:
    rounds = 200
    heard = [threading.Semaphore(0) for _ in range(4)]

    def ring(number: int) -> None:
        for _ in range(rounds):
            reader.ring_bell(1 << number)
            heard[number].acquire()

    threads = [threading.Thread(target=ring, args=(number,)) for number in range(len(heard))]
    for thread in threads:
        thread.start()
    total = 0
    while total < rounds * len(heard):
        assert reader.read_many(256, 100) == []
        bits = reader.take_bell()
        assert bits, "nobody rang for very long"
        for number, semaphore in enumerate(heard):
            if bits >> number & 1:
                total += 1
                semaphore.release()
    for thread in threads:
        thread.join()
    assert reader.take_bell() == 0


def test_bell_of_another_process(reader: RingReader, nursery: Nursery) -> None:
    ringer = nursery.fork(attach_and_ring, reader.address, [1, 2])
    heard = 0
    while heard != 3:
        assert reader.read_many(256, 100) == []
        heard |= reader.take_bell()
    assert (ringer.receive(), ringer.receive(), ringer.wait()) == (1, 2, 0)


def test_ringer_that_dies_before_it_wakes_the_reader_is_heard(reader: RingReader, nursery: Nursery) -> None:
    with ThreadPoolExecutor(1) as executor:
        reading = executor.submit(reader.read_many, 256, 100)
        wait_until(lambda: reader.counters().sleeps > 0, "the reader sleeps")
        ringer = nursery.fork(attach_and_ring, reader.address, [8], Strike("after_bell"))
        assert ringer.wait() == -signal.SIGKILL
        assert reading.result(timeout=100) == []
        assert reader.take_bell() == 8


def test_successor_hears_what_was_rung_for_the_dead(nursery: Nursery) -> None:
    consumer = nursery.fork(create_and_idle, SETTINGS)
    with RingWriter.attach(consumer.receive()) as writer:
        writer.ring_bell(5)
        assert consumer.kill() == -signal.SIGKILL
        writer.ring_bell(2)
        with RingReader.resume(writer.memory_fd) as successor:
            assert successor.read_many() == []
            assert successor.take_bell() == 7


def test_bell_of_the_closed_rings_for_nobody() -> None:
    reader = RingReader.create(SETTINGS)
    writer = RingWriter.attach(reader.address)
    reader.close()
    reader.ring_bell(1)
    with pytest.raises(RingClosedError):
        reader.take_bell()
    writer.ring_bell(1)
    writer.close()
    writer.ring_bell(1)


def test_reader_is_closed_while_a_thread_rings() -> None:
    for _ in range(20):
        reader = RingReader.create(SETTINGS)
        begun, closed = threading.Event(), threading.Event()

        def ring(reader: RingReader = reader, begun: threading.Event = begun, closed: threading.Event = closed) -> None:
            while not closed.is_set():
                reader.ring_bell(1)
                begun.set()

        thread = threading.Thread(target=ring)
        thread.start()
        begun.wait()
        reader.close()
        closed.set()
        thread.join()


def test_bell_in_a_forked_child_is_silent(nursery: Nursery) -> None:
    scene = nursery.fork(fork_scenes.ring_in_the_child)
    assert scene.receive() == (0, 0)
    assert scene.wait() == 0


@pytest.mark.parametrize(("bits", "error"), [(0, ValueError), (-1, TypeError), (1 << 32, TypeError)])
def test_bits_that_are_none(reader: RingReader, bits: int, error: type[Exception]) -> None:
    with RingWriter.attach(reader.address) as writer:
        for end in (reader, writer):
            with pytest.raises(error):
                end.ring_bell(bits)
    assert reader.take_bell() == 0
