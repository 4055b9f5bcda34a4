"""The preflight: whether Spark will be a good host, and what to change where it will not."""

from __future__ import annotations

import importlib.metadata
import logging
from typing import TYPE_CHECKING

from penstock.errors import StartError
from penstock.spark.executor_check import examine_executors
from penstock.spark.finding import Finding
from penstock.spark.settings_check import examine_settings
from penstock.worker.settings import WorkerSettings

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["Finding", "diagnose", "refuse_or_warn"]

log = logging.getLogger(__name__)


def diagnose(spark: SparkSession, *, workers: int = 2, settings: WorkerSettings | None = None) -> list[Finding]:
    """Looks at a session's settings and, with short tasks, at its executors.

    Args:
        spark: the session, classic or Connect.
        workers: how many workers are to run there.
        settings: how they are sized.
    """
    found = examine_settings(spark, workers=workers, settings=settings or WorkerSettings())
    found += _pandas(importlib.metadata.version("pandas"))
    if not found:
        found = [Finding(level="ok", what="the session's settings are good for workers")]
    return found + examine_executors(spark, workers=workers)


def _pandas(version: str) -> list[Finding]:
    from penstock.spark.spark_version import HERE, supports_pandas

    if supports_pandas(version):
        return []
    return [
        Finding(
            level="warning",
            what=f"pandas {version} with Spark {HERE[0]}.{HERE[1]}, which does not support it",
            why="Penstock does not use pandas, but Spark's own pandas functions and its pandas API may fail",
            remedy='if you use those: pip install "pandas<3"',
        )
    ]


def refuse_or_warn(findings: list[Finding]) -> None:
    """Before a start: StartError if there is an error among the findings; warnings are logged."""
    errors = [finding for finding in findings if finding.level == "error"]
    if errors:
        raise StartError("\n".join(f"{error.what}: {error.why}. To do: {error.remedy}" for error in errors))
    for finding in findings:
        if finding.level == "warning":
            log.warning("%s: %s. To do: %s", finding.what, finding.why, finding.remedy)
