"""Several DataFrames as one, so that one stage reads all of them, and the batches of each again.

A single frame goes as it is. Several are tagged: a row of the union says which frame it is of, and holds that one's
columns as a struct; the other structs are null.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

__all__ = ["batches_by_frame", "quoted", "union_of"]

_TAG = "frame"


def union_of(frames: Sequence[DataFrame]) -> DataFrame:
    """One DataFrame with all rows of all. A partition of it is a partition of one of them."""
    if len(frames) == 1:
        return frames[0]
    whole, *others = (_tagged(number, frame) for number, frame in enumerate(frames))
    for more in others:
        whole = whole.unionByName(more, allowMissingColumns=True)
    return whole


def _tagged(number: int, frame: DataFrame) -> DataFrame:
    columns = ", ".join(map(quoted, frame.columns))
    return frame.selectExpr(f"{number} AS {_TAG}", f"struct({columns}) AS of_{number}")


def quoted(column: str) -> str:
    """A column's name as SQL takes it, whatever is in it."""
    return f"`{column.replace('`', '``')}`"


def batches_by_frame(batch: pa.RecordBatch, frames: Sequence[str]) -> Iterator[tuple[str, pa.RecordBatch]]:
    """The rows of each frame in a batch of the union, as a batch of that frame's columns. None is empty."""
    if not batch.num_rows:
        return
    if len(frames) == 1:
        yield frames[0], batch
        return
    tags = batch.column(_TAG)
    for number in pc.unique(tags).to_pylist():
        rows = pc.filter(batch.column(f"of_{number}"), pc.equal(tags, number))
        yield frames[number], pa.RecordBatch.from_struct_array(rows)
