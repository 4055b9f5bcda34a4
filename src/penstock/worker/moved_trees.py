"""What goes with a task that keeps trees when it moves: its trees, and what a spout would emit again.

So a spout does not wait for its trees before it moves, and emits nothing again because it has moved.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from penstock.flow.ledger import FailedTree, LedgerState
from penstock.flow.pending import PendingState
from penstock.flow.replay import Stretch
from penstock.topology.emit import Emit, is_record_batch
from penstock.transport.values import decode_value, encode_value

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["BoltTrees", "SpoutTrees", "pack_output", "unpack_output"]


class SpoutTrees(msgspec.Struct, frozen=True, kw_only=True):
    """Of a spout."""

    ledger: LedgerState
    pending: PendingState
    failed: list[FailedTree]
    """Trees that have failed since the spout emits nothing more at its old place."""
    position: bytes | None
    """Where the spout itself goes on."""
    owed: int
    skips: list[Stretch]
    """What it need not emit again, between encoded positions."""
    draining: bool
    singly: int


class BoltTrees(msgspec.Struct, frozen=True, kw_only=True):
    """Of a bolt that keeps trees of its own."""

    ledger: LedgerState
    given: dict[int, list[tuple[list[tuple[int, int]], bytes]]]
    """As `penstock.worker.own_trees` has it. The number of a frame is encoded: it may have more than 64 bits."""


def pack_output(output: Any) -> bytes:
    """An output of a spout as bytes. Raises one of `UNENCODABLE` if it has to stay."""
    if not isinstance(output, Emit):
        return encode_value([_packed_values(output)])
    if output.id is not None:
        message = f"only the object that gave the id {output.id!r} knows what an ack of it means"
        raise TypeError(message)
    return encode_value([_packed_values(output.values), output.stream, output.task])


def unpack_output(packed: bytes) -> Any:
    """What `pack_output` was given, but for a subclass of a tuple, which is a tuple."""
    values, *about = decode_value(packed)
    values = _batch_of(values) if isinstance(values, bytes) else tuple(values)
    return Emit(values, stream=about[0], task=about[1]) if about else values


def _packed_values(values: Any) -> Any:
    return _bytes_of(values) if is_record_batch(values) else [*values]


def _bytes_of(batch: pa.RecordBatch) -> bytes:
    import pyarrow as pa

    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, batch.schema) as writer:
        writer.write_batch(batch)
    return sink.getvalue().to_pybytes()  # type: ignore[no-any-return]


def _batch_of(packed: bytes) -> pa.RecordBatch:
    import pyarrow as pa

    with pa.ipc.open_stream(packed) as reader:
        return reader.read_next_batch()
