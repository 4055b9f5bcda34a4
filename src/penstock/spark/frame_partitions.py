"""A DataFrame in as many partitions as a transform has workers.

Where it has so many already, it goes as it is. Else its rows are exchanged, and each says which partition it is from.
Spark makes an exchange of no rows a table without partitions, and then there would be no worker: so a *placeholder*
goes to each partition with the rows, and is dropped where they arrive.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from penstock.spark.session import is_connect
from penstock.spark.session_settings import SessionSettings

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

__all__ = ["in_partitions", "known_partitions", "without_placeholders"]

_PARTITION = "_penstock_partition"
_PLACEHOLDERS_FROM = 1 << 30
"""Partitions from there on are those of placeholders: no DataFrame has so many."""

# Scans, and what passes their partitions on as they are. Others may cut them otherwise, which Spark refuses in a
# barrier stage (a coalesce, a union), or know their own only when something has run (an exchange, what is cached).
_PLAIN = frozenset(
    {
        "BatchScanExec",
        "ColumnarToRowExec",
        "FileSourceScanExec",
        "FilterExec",
        "InputAdapter",
        "LocalTableScanExec",
        "ProjectExec",
        "RangeExec",
        "WholeStageCodegenExec",
    }
)


def known_partitions(frame: DataFrame) -> int | None:
    """How many there will be, or None: it depends on what runs before, or is not for us to see."""
    session = frame.sparkSession
    # Where plans adapt, those with exchanges and subqueries do, and what is left runs nothing when it is looked at.
    if is_connect(session) or not SessionSettings(session).flag("spark.sql.adaptive.enabled", default=True):
        return None
    plan = frame._jdf.queryExecution().executedPlan()
    return plan.execute().getNumPartitions() if _is_plain(plan) else None


def _is_plain(plan: Any) -> bool:
    children = plan.children()
    return plan.getClass().getSimpleName() in _PLAIN and all(
        _is_plain(children.apply(number)) for number in range(children.size())
    )


def in_partitions(frame: DataFrame, count: int) -> DataFrame:
    """The same rows in `count` partitions, each of them one or several of those before, whole.

    Where a row goes depends on nothing but its partition, as in `packed_rows`.
    """
    if known_partitions(frame) == count:
        return frame
    from penstock.spark.spark_version import repartitioned_by_id

    first = -(-_PLACEHOLDERS_FROM // count) * count  # that goes to partition 0
    placeholders = frame.sparkSession.range(first, first + count).selectExpr(f"cast(id AS int) AS {_PARTITION}")
    marked = frame.selectExpr("*", f"spark_partition_id() AS {_PARTITION}")
    return repartitioned_by_id(marked.unionByName(placeholders, allowMissingColumns=True), count, _PARTITION)


def without_placeholders(batch: pa.RecordBatch) -> pa.RecordBatch:
    """What a worker gets of that, as it was in the DataFrame."""
    if _PARTITION not in batch.schema.names:
        return batch
    partitions = batch.column(_PARTITION)
    rows = batch.select([name for name in batch.schema.names if name != _PARTITION])
    if batch.num_rows and pc.max(partitions).as_py() >= _PLACEHOLDERS_FROM:
        rows = rows.filter(pc.less(partitions, _PLACEHOLDERS_FROM))
    return rows
