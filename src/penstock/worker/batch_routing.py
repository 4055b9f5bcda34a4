"""Groupings over record batches: which rows go to which task, decided per distinct key instead of per row."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from penstock.topology.groupings import Broadcast, By, Gather, Grouping, ToOne
from penstock.transport.stable_hash import stable_hash
from penstock.worker.batches import values_of
from penstock.worker.lanes import Lane

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["split_batch"]


def split_batch(
    grouping: Grouping, lanes: Sequence[Lane], batch: pa.RecordBatch
) -> Iterator[tuple[Lane, pa.RecordBatch]]:
    """The parts of a batch and the lanes that they belong to."""
    match grouping:
        case Broadcast():
            yield from ((lane, batch) for lane in lanes)
        case ToOne():
            yield lanes[0], batch
        case By(fields=fields) | Gather(fields=fields) if len(lanes) > 1:
            yield from _by_key(lanes, batch, fields)
        case By() | Gather():
            yield lanes[0], batch
        case _:
            message = f"a record batch cannot be split by {grouping!r}"
            raise ValueError(message)


def _by_key(
    lanes: Sequence[Lane], batch: pa.RecordBatch, fields: Sequence[str]
) -> Iterator[tuple[Lane, pa.RecordBatch]]:
    import pyarrow as pa
    import pyarrow.compute as pc

    if len(fields) == 1 and not pa.types.is_nested(batch.column(fields[0]).type):
        encoded = pc.dictionary_encode(batch.column(fields[0]), null_encoding="encode")
        targets = [stable_hash(key) % len(lanes) for key in encoded.dictionary.to_pylist()]
        target_of_row = pc.take(pa.array(targets, pa.int32()), encoded.indices)
    else:
        keys = zip(*(values_of(batch.column(field)) for field in fields), strict=True)
        targets = [stable_hash(key if len(fields) > 1 else key[0]) % len(lanes) for key in keys]
        target_of_row = pa.array(targets, pa.int32())
    for index, lane in enumerate(lanes):
        part = batch.filter(pc.equal(target_of_row, index))
        if part.num_rows:
            yield lane, part
