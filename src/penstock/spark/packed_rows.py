"""Many rows in one, so that an exchange passes them on at the price of one.

A packed row has the rows of a record batch as an array for each column, and beside them the partition they are from:

    partition | word             | count
    0         | [blue, red, ...] | [1, 7, ...]

To Python that is the same memory with offsets in front of it. Spark exchanges it as one block of bytes, and unpacks it
in generated code: a third of what it costs to exchange the rows themselves.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pyarrow as pa

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.types import StructType

__all__ = ["MOST_BYTES", "MOST_ROWS", "exchanged", "pack", "packed_schema"]

MOST_ROWS = 16_384
MOST_BYTES = 4 << 20
"""What a packed row holds at most, but for one row that is larger by itself: Spark has it in memory whole."""

# Of names that no column of the user's can have, because fields do not begin with an underscore.
_PARTITION = "_partition"
_ROW = "_row"


def packed_schema(schema: StructType) -> StructType:
    """The schema of packed rows, given that of the rows."""
    from pyspark.sql.types import ArrayType, IntegerType, StructField, StructType

    arrays = (
        StructField(field.name, ArrayType(field.dataType, containsNull=field.nullable), nullable=False)
        for field in schema.fields
    )
    return StructType([StructField(_PARTITION, IntegerType(), nullable=False), *arrays])


def pack(batch: pa.RecordBatch, partition: int) -> Iterator[pa.RecordBatch]:
    """The rows of a batch, packed; in several rows if they are too many or too large for one."""
    rows = min(MOST_ROWS, MOST_BYTES * batch.num_rows // max(1, batch.nbytes))
    for first in range(0, batch.num_rows, max(1, rows)):
        part = batch.slice(first, max(1, rows))
        offsets = pa.array([0, part.num_rows], pa.int32())
        arrays = [
            pa.ListArray.from_arrays(offsets, column, pa.list_(field.with_name("element")))
            for column, field in zip(part.columns, part.schema, strict=True)
        ]
        names = [_PARTITION, *part.schema.names]
        yield pa.RecordBatch.from_arrays([pa.array([partition], pa.int32()), *arrays], names=names)


def exchanged(packed: DataFrame, partitions: int) -> DataFrame:
    """The rows of packed ones, in so many partitions: those that they are from."""
    _, first, *others = packed.columns
    # Where a row goes depends on nothing but its partition, so that it goes there again when a part is computed anew,
    # in whatever order rows come then. And nothing has to be sorted for that, as it has for `repartition`.
    from penstock.spark.spark_version import repartitioned_by_id

    moved = repartitioned_by_id(packed, partitions, _PARTITION)
    rows = moved.selectExpr(f"posexplode(`{first}`) AS ({_ROW}, `{first}`)", *(f"`{other}`" for other in others))
    return rows.selectExpr(f"`{first}`", *(f"`{other}`[{_ROW}] AS `{other}`" for other in others))
