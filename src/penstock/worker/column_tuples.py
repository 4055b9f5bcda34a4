"""Tuples made of the columns of record batches."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from itertools import starmap
from typing import TYPE_CHECKING, Any

from penstock._native import ColumnReader
from penstock.topology.tuples import Tuple
from penstock.worker.batches import rows_of, values_of

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["ColumnTuples"]


class ColumnTuples:
    """Makes the tuples of one class."""

    def __init__(self, make: type[Any], fields: tuple[str, ...]) -> None:
        self._make = make
        # What was gathered is of another class, which has no slots to fill.
        self._reader = ColumnReader(make, fields) if issubclass(make, Tuple) else None

    def of(self, batch: pa.RecordBatch, most: int) -> Iterable[list[Any]]:
        """A tuple for each row, in order, in lists of so many at most, each made when it is asked for."""
        if self._reader is None:
            return [[*starmap(self._make, rows_of(batch))]]
        others = [None if column.type.id in _read_natively() else values_of(column) for column in batch.columns]
        return self._reader.read(batch.__arrow_c_array__(), others, most)


@cache
def _read_natively() -> frozenset[int]:
    """The ids of the types of Arrow that the reader knows."""
    import pyarrow as pa

    signed = (pa.int8(), pa.int16(), pa.int32(), pa.int64())
    unsigned = (pa.uint8(), pa.uint16(), pa.uint32(), pa.uint64())
    others = (pa.null(), pa.bool_(), pa.float32(), pa.float64())
    texts = (pa.string(), pa.large_string(), pa.binary(), pa.large_binary())
    return frozenset(kind.id for kind in (*signed, *unsigned, *others, *texts))
