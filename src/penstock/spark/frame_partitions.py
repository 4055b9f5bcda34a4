"""In how many partitions Spark will read a DataFrame, where that can be told without running anything."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from penstock.spark.session import is_connect
from penstock.spark.session_settings import SessionSettings

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

__all__ = ["known_partitions"]

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
