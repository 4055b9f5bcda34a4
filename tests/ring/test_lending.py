"""Payloads that are lent straight from the ring: intact while held, and never in the way for ever."""

from __future__ import annotations

import threading

import pytest

from penstock.transport.ring import RingReader, RingSettings, RingWriter, Route
from tests.ring.patience import PATIENCE_S, wait_until
from tests.ring.traffic import Tally, message, opened

ROUTE = Route()


def test_small_is_copied_and_large_is_lent(reader: RingReader) -> None:
    with RingWriter.attach(reader.address) as writer:
        for size in (0, 100, 4_095, 4_096, 8_160, 8_161, 100_000):
            sender = threading.Thread(target=writer.write, args=(bytes(size), ROUTE))
            sender.start()
            record = reader.read(timeout_s=30)
            assert record is not None
            assert type(record.payload) is (bytes if size < 4_096 else memoryview)
            assert bytes(record.payload) == bytes(size)
            del record
            assert reader.read(timeout_s=0) is None  # a message in packets is settled when the reader comes back
            sender.join()


def test_lent_payload_cannot_be_written(reader: RingReader) -> None:
    with RingWriter.attach(reader.address) as writer:
        writer.write(bytes(5_000), ROUTE)
        record = reader.read(timeout_s=30)
        assert record is not None
        assert isinstance(record.payload, memoryview)
        assert record.payload.readonly
        with pytest.raises(TypeError, match="read-only"):
            record.payload[0] = 1


def test_lent_payload_stays_intact_while_the_ring_goes_round(reader: RingReader) -> None:
    """Its space is not reused: instead the ring fills up behind it."""
    with RingWriter.attach(reader.address) as writer:
        writer.write(message(1, 0, 6_000), ROUTE)
        held = reader.read(timeout_s=30)
        assert held is not None
        tally = Tally()
        sequence = 0
        for _ in range(200):
            sequence += writer.try_write(message(2, sequence, 700), ROUTE)
            tally.take(reader.read_many(timeout_s=0))
        assert sequence == tally.received[2] < 200, "the ring did not fill up behind a payload that was not dropped"
        assert opened(held.payload) == (1, 0)
        part = memoryview(held.payload)[100:200]
        expected = bytes(part)
        del held  # a view of the view holds it too
        reader.read(timeout_s=0)
        assert not writer.try_write(message(2, sequence, 700), ROUTE)
        assert bytes(part) == expected
        del part
        tally.drain(reader)
        assert writer.try_write(message(2, sequence, 700), ROUTE)


def test_lent_payload_outlives_the_reader() -> None:
    with RingReader.create(RingSettings(capacity_bytes=1 << 16)) as reader, RingWriter.attach(reader.address) as writer:
        writer.write(message(1, 0, 6_000), ROUTE)
        held = reader.read(timeout_s=30)
    assert held is not None
    assert opened(held.payload) == (1, 0)


def test_dropping_a_payload_wakes_writers_that_wait_for_its_space(reader: RingReader) -> None:
    with RingWriter.attach(reader.address) as writer:
        writer.write(message(1, 0, 6_000), ROUTE)
        held = [reader.read(timeout_s=30)]
        tally = Tally()
        sequence = 0
        while writer.try_write(message(2, sequence, 700), ROUTE):
            sequence += 1
            tally.take(reader.read_many(timeout_s=0))
        got: list[int] = []

        def read_on() -> None:  # the reader sleeps: nothing comes while the ring is full
            tally.take(reader.read_many(timeout_s=30))
            got.append(tally.received[2])

        threads = [
            threading.Thread(target=read_on),
            threading.Thread(target=writer.write, args=(message(2, sequence, 700), ROUTE)),
        ]
        for thread in threads:
            thread.start()
        wait_until(lambda: reader.counters().full_waits > 0, "the writer waits")
        held.clear()
        for thread in threads:
            thread.join()
        assert got == [sequence + 1]


@pytest.mark.parametrize("size", [5_000, 8_160])
def test_the_loop_that_everybody_writes_does_not_stop(reader: RingReader, size: int) -> None:
    """While it asks for more, its variable still holds the last records, and with them their space."""
    messages = 300
    with RingWriter.attach(reader.address) as writer:

        def write_all() -> None:
            for sequence in range(messages):
                writer.write(message(1, sequence, size), ROUTE, timeout_s=2 * PATIENCE_S)

        sender = threading.Thread(target=write_all)
        sender.start()
        wait_until(lambda: reader.counters().full_waits > 0, "the ring is full: the reader was busy for a while")
        tally = Tally()
        records = reader.read_many(timeout_s=0)
        tally.take(records)
        while records and tally.received[1] < messages:
            records = reader.read_many(timeout_s=PATIENCE_S)
            tally.take(records)
        got = tally.received[1]
        del records
        while sender.is_alive():  # lets it end, whatever has happened
            tally.take(reader.read_many(timeout_s=0.01))
        sender.join()
        assert got == messages, f"the reader and the writer waited for each other after {got} messages"
