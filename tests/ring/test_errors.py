"""Wrong use: the error names what was wanted and what came."""

from __future__ import annotations

import array
import threading

import pytest

from penstock.errors import (
    MessageTooLargeError,
    PenstockError,
    RingClosedError,
    RingError,
    RingFullError,
)
from penstock.transport.ring import RingReader, RingSettings, RingWriter, Route
from tests.ring.patience import wait_until

ROUTE = Route()


@pytest.mark.parametrize("payload", ["text", 5, None, [b"x"], object()], ids=repr)
def test_payload_that_is_not_bytes(reader: RingReader, payload: object) -> None:
    kind = type(payload).__name__
    with RingWriter.attach(reader.address) as writer:
        for write in (writer.try_write, writer.write):
            with pytest.raises(TypeError, match=kind):
                write(payload, ROUTE)  # type: ignore[arg-type]
        with pytest.raises(TypeError, match=f"bytes-like object, got {kind}"):
            writer.write_many([b"fine", payload], ROUTE)  # type: ignore[list-item]
    assert reader.read(timeout_s=0) is None, "half of a call that failed was written"


def test_payload_that_is_not_contiguous(reader: RingReader) -> None:
    with RingWriter.attach(reader.address) as writer:
        with pytest.raises(TypeError, match="contiguous bytes-like object, got memoryview"):
            writer.write(memoryview(b"abcdef")[::2], ROUTE)
        writer.write(memoryview(b"abcdef")[2:4], ROUTE)
        writer.write(array.array("H", [1, 2]), ROUTE)
        payloads = [bytes(record.payload) for record in reader.read_many(timeout_s=0)]
    assert payloads == [b"cd", array.array("H", [1, 2]).tobytes()]


def test_payloads_that_are_not_a_sequence(reader: RingReader) -> None:
    with RingWriter.attach(reader.address) as writer:
        with pytest.raises(TypeError, match="payloads must be a sequence of bytes-like objects"):
            writer.write_many(5, ROUTE)  # type: ignore[arg-type]
        writer.write_many([], ROUTE)
    assert reader.read(timeout_s=0) is None


@pytest.mark.parametrize("timeout_s", [-1, -0.001, float("nan"), float("-inf")])
def test_bad_timeout(reader: RingReader, timeout_s: float) -> None:
    wanted = f"timeout_s must be None or at least 0, got {timeout_s:f}"
    with RingWriter.attach(reader.address) as writer:
        for use in (
            lambda: writer.write(b"", ROUTE, timeout_s),
            lambda: writer.write_many([b""], ROUTE, timeout_s),
            lambda: reader.read(timeout_s),
            lambda: reader.read_many(1, timeout_s),
        ):
            with pytest.raises(ValueError, match=wanted):
                use()


@pytest.mark.parametrize("timeout_s", [1e9, 1e300, float("inf")])
def test_endless_timeout_is_no_error(reader: RingReader, timeout_s: float) -> None:
    with RingWriter.attach(reader.address) as writer:
        writer.write(b"x", ROUTE, timeout_s)
        assert reader.read(timeout_s) is not None


def test_bad_number_of_records(reader: RingReader) -> None:
    with pytest.raises(ValueError, match="max_records must be at least 1, got 0"):
        reader.read_many(0)
    with pytest.raises(TypeError):
        reader.read_many(-1)


@pytest.mark.parametrize("field", ["target", "source", "stream", "assignment", "flags"])
def test_route_fields_are_32_bits(field: str) -> None:
    assert getattr(Route(**{field: 2**32 - 1}), field) == 2**32 - 1
    for value in (-1, 2**32):
        with pytest.raises(TypeError):
            Route(**{field: value})


def test_message_too_large_for_one_record(reader: RingReader) -> None:
    with RingWriter.attach(reader.address) as writer:
        assert writer.try_write(bytes(8_160), ROUTE)
        with pytest.raises(MessageTooLargeError, match=r"payload_bytes=8161 limit=8160 .*write\(\) sends larger"):
            writer.try_write(bytes(8_161), ROUTE)


def test_message_beyond_the_limit() -> None:
    settings = RingSettings(capacity_bytes=1 << 14, max_message_bytes=50_000)
    with RingReader.create(settings) as reader, RingWriter.attach(reader.address) as writer:
        with pytest.raises(MessageTooLargeError, match=r"payload_bytes=50001 limit=50000 .*max_message_bytes"):
            writer.write(bytes(50_001), ROUTE)
        with pytest.raises(MessageTooLargeError, match="payload_bytes=50001 limit=50000"):
            writer.write_many([bytes(50_001)], ROUTE)
        sender = threading.Thread(target=writer.write, args=(bytes(50_000), ROUTE))
        sender.start()
        record = reader.read(timeout_s=30)
        assert record is not None
        assert len(record.payload) == 50_000
        reader.read(timeout_s=0)
        sender.join()


def test_only_payload_of_a_record_with_many(reader: RingReader) -> None:
    with RingWriter.attach(reader.address) as writer:
        writer.write_many([b"a", b"", b"c"], ROUTE)
        record = reader.read(timeout_s=0)
    assert record is not None
    assert record.payloads == [b"a", b"", b"c"]
    with pytest.raises(ValueError, match="this record holds 3 payloads, not one: use payloads"):
        _ = record.payload


def test_two_threads_cannot_read_at_once(reader: RingReader) -> None:
    with RingWriter.attach(reader.address) as writer:
        first = threading.Thread(target=reader.read)
        first.start()
        wait_until(lambda: reader.counters().sleeps > 0, "the first thread waits")
        with pytest.raises(RingError, match="in use by another thread: one thread reads a ring"):
            reader.read(timeout_s=0)
        writer.write(b"end", ROUTE)
        first.join()
        assert reader.read(timeout_s=0) is None


def test_closed_ends_say_so() -> None:
    reader = RingReader.create(RingSettings(capacity_bytes=1 << 14))
    writer = RingWriter.attach(reader.address)
    writer.close()
    writer.close()
    assert writer.closed
    for use in (lambda: writer.write(b"", ROUTE), lambda: writer.try_write(b"", ROUTE), writer.counters):
        with pytest.raises(RingClosedError, match="this writer is closed"):
            use()
    reader.close()
    reader.close()
    for look in (reader.read, reader.counters, reader.stalls):
        with pytest.raises(RingClosedError, match="this reader is closed"):
            look()


def test_ring_closed_by_its_reader() -> None:
    with RingReader.create(RingSettings(capacity_bytes=1 << 14)) as reader:
        writer = RingWriter.attach(reader.address)
    for use in (
        lambda: writer.write(b"", ROUTE),
        lambda: writer.try_write(b"", ROUTE),
        lambda: writer.write_many([b"", b""], ROUTE),
        lambda: writer.write(bytes(10_000), ROUTE),
    ):
        with pytest.raises(RingClosedError, match="the ring was closed by its consumer"):
            use()
    writer.close()


def test_close_to_writers_leaves_what_was_written(reader: RingReader) -> None:
    with RingWriter.attach(reader.address) as writer:
        writer.write(b"before", ROUTE)
        reader.close_to_writers()
        with pytest.raises(RingClosedError):
            writer.write(b"after", ROUTE)
        assert [record.payload for record in reader.read_many(timeout_s=0)] == [b"before"]


def test_all_are_penstock_errors() -> None:
    assert issubclass(RingFullError, RingError)
    assert issubclass(RingError, PenstockError)
    assert RingFullError("full").written == 0
