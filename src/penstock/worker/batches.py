"""Record batches on the wire, and between rows and columns."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Sequence
from typing import Any

import pyarrow as pa

__all__ = ["batch_from_payload", "batch_to_payload", "rows_of", "to_batch"]

_STAMPS = struct.Struct("<qq")
# Arrow's errors have no common root but for Exception: some are OSError, MemoryError or StopIteration.
_UNREADABLE = (struct.error, pa.ArrowException, ValueError, OSError, MemoryError, StopIteration)


def batch_to_payload(batch: pa.RecordBatch, origin_ns: int, sent_ns: int) -> bytes:
    """Two time stamps, then an Arrow IPC stream with one batch."""
    sink = pa.BufferOutputStream()
    sink.write(_STAMPS.pack(origin_ns, sent_ns))
    with pa.ipc.new_stream(sink, batch.schema) as writer:
        writer.write_batch(batch)
    payload: bytes = sink.getvalue().to_pybytes()
    return payload


def batch_from_payload(payload: bytes | memoryview) -> tuple[pa.RecordBatch, int, int]:
    """The batch and its two time stamps.

    The batch gets memory of its own: what is lent from a ring has to come back soon, and user code may keep a batch.

    Raises:
        ValueError: the payload is not what `batch_to_payload` makes.
    """
    try:
        origin_ns, sent_ns = _STAMPS.unpack_from(payload)
        with pa.ipc.open_stream(pa.py_buffer(bytes(payload)).slice(_STAMPS.size)) as reader:
            batch = reader.read_next_batch()
        # Arrow believes what it reads. An offset that points outside of its buffer would be a crash when it is used.
        batch.validate(full=True)
    except _UNREADABLE as error:
        message = f"{len(payload)} bytes that are no record batch: {error}"
        raise ValueError(message) from error
    return batch, origin_ns, sent_ns


def to_batch(rows: Iterable[Sequence[Any]], fields: Sequence[str]) -> pa.RecordBatch:
    """Tuples as a record batch, a column per field."""
    columns = list(zip(*rows, strict=True))
    return pa.RecordBatch.from_arrays([pa.array(column) for column in columns], names=list(fields))


def rows_of(batch: pa.RecordBatch) -> Iterable[tuple[Any, ...]]:
    """A record batch as tuples."""
    return zip(*(column.to_pylist() for column in batch.columns), strict=True)
