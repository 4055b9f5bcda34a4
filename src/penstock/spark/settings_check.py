"""The part of a preflight that costs nothing: which settings of a Spark session are bad for workers that never end."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from penstock.spark.finding import Finding
from penstock.spark.session import is_connect
from penstock.spark.session_settings import SessionSettings
from penstock.worker.settings import WorkerSettings

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["examine_settings"]

# What a Python process takes with PySpark, Arrow and a topology in it, roughly.
_PYTHON_MIB = 200
_LEAST_OVERHEAD_MIB = 384

# Masters whose executors are started in an empty folder. On Kubernetes it is one of the image, which may have a Python.
_FRESH_FOLDERS = ("spark://", "yarn")
_ARCHIVES = ("spark.archives", "spark.yarn.dist.archives")


def examine_settings(spark: SparkSession, *, workers: int, settings: WorkerSettings) -> list[Finding]:
    """Everything that is not as it should be. Nothing is started for it."""
    setting = SessionSettings(spark)
    return [
        *_executor_python(spark, setting),
        *_idle_kill(setting),
        *_threads(),
        *_distutils(),
        *_speculation(setting),
        *_retries(setting),
        *_comings_and_goings(setting),
        *_exclusion(setting),
        *_profiler(setting),
        *_memory(setting, workers, settings),
    ]


def _executor_python(spark: SparkSession, setting: SessionSettings) -> Iterator[Finding]:
    """A path that begins where an executor was started leads somewhere only if Spark has unpacked an archive there."""
    if is_connect(spark) or not setting.text("spark.master").startswith(_FRESH_FOLDERS):
        return
    python: str = spark.sparkContext.pythonExec
    folder, *within = Path(python).parts
    archives = [one for key in _ARCHIVES for one in setting.text(key).split(",") if one]
    if not within or folder == "/" or folder in map(_unpacked_as, archives):
        return
    yield Finding(
        level="error",
        what=f"executors have no {python}",
        why=f"Spark unpacks no archive as {folder!r} for them; archives: {', '.join(archives) or 'none'}",
        remedy=f"ship one with --archives env.tar.gz#{folder}, or set PYSPARK_PYTHON to a path that all nodes have",
    )


def _unpacked_as(archive: str) -> str:
    place, _, name = archive.strip().partition("#")
    return name or PurePosixPath(place).name


def _idle_kill(setting: SessionSettings) -> Iterator[Finding]:
    # Each of the two can be set for the session, or else for all of Spark.
    seconds = setting.number(
        "spark.sql.execution.pyspark.udf.idleTimeoutSeconds",
        setting.number("spark.python.worker.idleTimeoutSeconds", 0),
    )
    kills = setting.flag(
        "spark.sql.execution.pyspark.udf.killOnIdleTimeout",
        default=setting.flag("spark.python.worker.killOnIdleTimeout"),
    )
    if seconds and kills:
        yield Finding(
            level="error",
            what=f"Spark kills a Python worker that returns nothing for {seconds:g} s",
            why="a worker returns nothing until its run is over, however busy it is",
            remedy='spark.conf.set("spark.sql.execution.pyspark.udf.killOnIdleTimeout", "false")',
        )


def _threads() -> Iterator[Finding]:
    if os.environ.get("PYSPARK_PIN_THREAD", "true").lower() == "false":
        yield Finding(
            level="error",
            what="PYSPARK_PIN_THREAD is false",
            why="each worker is a job that is submitted, and cancelled, by a thread of its own",
            remedy="unset PYSPARK_PIN_THREAD before the session starts",
        )


def _distutils() -> Iterator[Finding]:
    from penstock.spark.spark_version import lacks_distutils

    if lacks_distutils():
        yield Finding(
            level="error",
            what=f"Spark 3.5 imports distutils, which Python {sys.version_info[0]}.{sys.version_info[1]} does not have",
            why="each worker is a job in Python, and all of them fail",
            remedy="pip install setuptools on driver and executors, or use Python 3.11",
        )


def _speculation(setting: SessionSettings) -> Iterator[Finding]:
    if setting.flag("spark.speculation") and setting.is_set("spark.speculation.task.duration.threshold"):
        yield Finding(
            level="error",
            what="spark.speculation with spark.speculation.task.duration.threshold starts long tasks a second time",
            why="a worker is a task that is always too long; its copy takes its place, and what was inside is lost",
            remedy="set spark.speculation=false, or leave the threshold unset",
        )


def _retries(setting: SessionSettings) -> Iterator[Finding]:
    master = setting.text("spark.master")
    failures = int(setting.number("spark.task.maxFailures", 4))
    if local := re.fullmatch(r"local(?:\[[^,\]]*(?:,\s*(\d+)\s*)?\])?", master):
        failures = int(local[1] or 1)
        remedy = f"use local[N,F] instead of {master}, where F is how often a task may fail, such as local[4,4]"
    else:
        remedy = "set spark.task.maxFailures to 4 or more"
    if failures == 1:
        yield Finding(
            level="warning",
            what=f"Spark does not restart a task that failed ({master})",
            why="the job of a worker that dies ends, and another has to be submitted, which takes longer",
            remedy=remedy,
        )


def _comings_and_goings(setting: SessionSettings) -> Iterator[Finding]:
    if setting.flag("spark.dynamicAllocation.enabled"):
        yield Finding(
            level="warning",
            what="executors are allocated dynamically",
            why="workers wait for executors that are only asked for when they start; a busy one is never taken away",
            remedy="give the start more time with start_timeout_s, or set spark.dynamicAllocation.minExecutors",
        )
    if setting.flag("spark.decommission.enabled"):
        yield Finding(
            level="warning",
            what="executors may be decommissioned",
            why="a worker cannot move to another executor: it is lost with its own, and started elsewhere",
            remedy="keep the executors of a long run, or count on restarts",
        )


def _exclusion(setting: SessionSettings) -> Iterator[Finding]:
    if setting.flag("spark.excludeOnFailure.enabled"):
        yield Finding(
            level="warning",
            what="executors and nodes are excluded after failures (spark.excludeOnFailure.enabled)",
            why="workers that were killed a few times leave fewer and fewer slots to restart them in",
            remedy="set spark.excludeOnFailure.enabled=false for this application",
        )


def _profiler(setting: SessionSettings) -> Iterator[Finding]:
    for key in ("spark.sql.pyspark.udf.profiler", "spark.python.profile", "spark.python.profile.memory"):
        if setting.text(key, "false").lower() != "false":
            yield Finding(
                level="warning",
                what=f"Python code is profiled ({key}={setting.text(key)})",
                why="the profiler looks at every call of every tuple",
                remedy=f"unset {key}",
            )


def _memory(setting: SessionSettings, workers: int, settings: WorkerSettings) -> Iterator[Finding]:
    if not setting.text("spark.master").startswith(("yarn", "k8s://")):
        return  # nobody else takes count
    heap = setting.mebibytes("spark.executor.memory", 1024)
    factor = setting.number("spark.executor.memoryOverheadFactor", 0.1)
    overhead = setting.mebibytes("spark.executor.memoryOverhead", max(_LEAST_OVERHEAD_MIB, factor * heap))
    overhead += setting.mebibytes("spark.executor.pyspark.memory", 0)
    slots = setting.number("spark.executor.cores", 1) / setting.number("spark.task.cpus", 1)
    here = min(workers, int(slots))
    ring = settings.inbox_bytes / (1 << 20)
    needed = here * (_PYTHON_MIB + ring)
    if overhead < needed:
        yield Finding(
            level="warning",
            what=f"an executor has {overhead:.0f} MiB beside the JVM, and {here} workers want about {needed:.0f} MiB",
            why=(
                f"{here} × ({_PYTHON_MIB} MiB of Python + a ring of {ring:.0f} MiB), and what the topology keeps; a "
                f"container that takes more is killed"
            ),
            remedy=f"set spark.executor.memoryOverhead={needed:.0f}m or more, or a smaller inbox_bytes",
        )
