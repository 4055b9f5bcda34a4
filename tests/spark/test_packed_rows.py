"""Rows of a batch in one row: all of them, in order, and never too many. What Spark makes of it, transforms show."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from penstock.spark.frame_partitions import known_partitions
from penstock.spark.packed_rows import MOST_BYTES, MOST_ROWS, pack


def unpacked(packed: list[pa.RecordBatch]) -> list[dict[str, Any]]:
    rows = []
    for batch in packed:
        (row,) = batch.to_pylist()
        del row["_partition"]
        rows += [dict(zip(row, values, strict=True)) for values in zip(*row.values(), strict=True)]
    return rows


def test_a_batch_becomes_one_row_that_knows_its_partition() -> None:
    batch = pa.RecordBatch.from_pydict({"word": ["a", None, "c"], "tags": [["x"], [], None]})

    (packed,) = pack(batch, 7)

    assert packed.column("_partition").to_pylist() == [7]
    assert unpacked([packed]) == batch.to_pylist()


def test_a_part_of_a_batch_is_packed_without_the_rest() -> None:
    batch = pa.RecordBatch.from_pydict({"n": list(range(10)), "t": [str(n) for n in range(10)]})

    assert unpacked([*pack(batch.slice(3, 4), 0)]) == batch.slice(3, 4).to_pylist()
    assert [*pack(batch.slice(3, 0), 0)] == []


def test_many_rows_take_several() -> None:
    batch = pa.RecordBatch.from_pydict({"n": list(range(2 * MOST_ROWS + 1))})

    packed = [*pack(batch, 0)]

    assert len(packed) == 3
    assert unpacked(packed) == batch.to_pylist()


@pytest.mark.parametrize(("size", "count"), [(MOST_BYTES // 4, 8), (2 * MOST_BYTES, 3)])
def test_large_rows_take_several(size: int, count: int) -> None:
    batch = pa.RecordBatch.from_pydict({"data": [bytes(size)] * count})

    packed = [*pack(batch, 0)]

    assert all(one.nbytes <= MOST_BYTES + 100 or len(one["data"][0]) == 1 for one in packed)
    assert unpacked(packed) == batch.to_pylist()


def test_partitions_are_known_of_what_is_read_as_it_is(spark: Any, tmp_path: Any) -> None:
    numbers = spark.range(0, 100, 1, 3)
    numbers.write.parquet(str(tmp_path / "numbers"))
    table = spark.read.parquet(str(tmp_path / "numbers"))

    assert known_partitions(numbers.where("id > 3").selectExpr("id * 2")) == 3
    assert known_partitions(table) == table.rdd.getNumPartitions()
    # These cut their partitions otherwise, or have to run for it.
    assert known_partitions(numbers.coalesce(2)) is None
    assert known_partitions(numbers.union(numbers)) is None
    assert known_partitions(numbers.repartition(3)) is None
    assert known_partitions(numbers.where("id = (SELECT max(id) FROM range(9))")) is None
