"""Slots: how many workers Spark has room for, as far as that can be known, and the arithmetic when it has not.

A task that finds no slot waits without a word, for ever. So what can be counted is counted before anything starts, and
what only may be too little is told when workers did not come.
"""

from __future__ import annotations

import contextlib
import logging
import re
import threading
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import msgspec

from penstock.errors import SlotsError
from penstock.spark.session import is_connect
from penstock.spark.session_settings import SessionSettings

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = [
    "Slots",
    "count_slots",
    "held_slots",
    "require_room_for",
    "workers_by_default",
    "workers_to_ask_for",
    "writers_of_each",
]

log = logging.getLogger(__name__)

# Spark's default parallelism on a cluster is never less than this, though there be one core, or none.
_LEAST_PARALLELISM = 2


class Slots(msgspec.Struct, frozen=True, kw_only=True):
    """How many tasks can run at a time."""

    now: int | None
    """On the executors that are there now; None if nobody knows."""
    most: int | None
    """With all executors that may still come; None if there is no such limit, or nobody knows."""
    because: str
    """Where the numbers come from, for people."""
    held: dict[str, int] = msgspec.field(default_factory=dict)
    """How many of them runs of this process hold, by run, with those that they leave to their queries."""
    grows: bool = False
    """Whether Spark asks for more executors when there is more to do."""

    @property
    def free_at_most(self) -> int | None:
        """How many workers can ever start beside those runs; None if there is no such limit, or nobody knows."""
        return None if self.most is None else max(0, self.most - sum(self.held.values()))

    def __str__(self) -> str:
        known = "an unknown number of" if self.now is None else str(self.now)
        later = f", and at most {self.most} later" if self.most is not None and self.most != self.now else ""
        held = "".join(f"; run {run} holds {count}" for run, count in self.held.items())
        return f"Spark has {known} slots{later} ({self.because}){held}"


def count_slots(spark: SparkSession) -> Slots:
    """Counts the slots of a session."""
    setting = SessionSettings(spark)
    master = setting.text("spark.master")
    task_cpus = setting.number("spark.task.cpus", 1.0)
    cores = None if setting.is_set("spark.default.parallelism") else _default_parallelism(spark)
    held = _Held.by_run(_application(spark))
    per_task = "" if task_cpus == 1 else f" at spark.task.cpus={task_cpus:g}"
    if local := re.fullmatch(r"local(?:\[\s*(\d+|\*)\s*(?:,\s*\d+\s*)?\])?", master):
        threads = 1 if local[1] is None else cores if local[1] == "*" else int(local[1])
        count = None if threads is None else int(threads / task_cpus)
        return Slots(now=count, most=count, because=f"master {master}{per_task}", held=held)
    most_cores, origin = _most_cores(setting, master)
    return Slots(
        now=_slots_now(spark, cores, task_cpus),
        most=None if most_cores is None else int(most_cores / task_cpus),
        because=f"master {master}{origin}{per_task}",
        held=held,
        grows=setting.flag("spark.dynamicAllocation.enabled"),
    )


def workers_by_default(slots: Slots, *, tasks: int, spare: int, unknown: int) -> int:
    """How many workers to ask for if nobody says: one for each slot that is free, and that the topology has a task for.

    Args:
        slots: what Spark has.
        tasks: how many tasks the topology has; more workers would have nothing to do.
        spare: how many slots are not meant for workers.
        unknown: what to take if nobody knows what Spark has, or if none of its executors has come yet.
    """
    room = slots.now if slots.most is None else slots.most
    if not room:
        return unknown
    return max(1, min(tasks, room - sum(slots.held.values()) - spare))


def workers_to_ask_for(slots: Slots, *, workers: int, min_workers: int | None, queries: int = 0) -> int:
    """How many workers to ask for: all, or as many as can ever start if those are enough. Else SlotsError.

    Args:
        slots: what Spark has.
        workers: how many are wanted.
        min_workers: how few will do; None: all are needed.
        queries: how many slots are left to streaming queries, which the run would wait for in vain without them.
    """
    room = None if slots.free_at_most is None else max(0, slots.free_at_most - queries)
    if room is None or room >= workers:
        return workers
    fewest = workers if min_workers is None else min_workers
    if room < fewest:
        fewer = "" if min_workers is None else f" (min_workers={min_workers})"
        beside = f" and {_counted(queries)} beside them" if queries else ""
        message = (
            f"workers={workers}{fewer}{beside} need {fewest + queries} free slots, and there are {slots.free_at_most}: "
            f"{slots}. Ask for fewer workers, or for a session with more slots"
        )
        raise SlotsError(message)
    log.warning("workers=%d, and there is room for %d: %s. The run starts with those", workers, room, slots)
    return room


def require_room_for(queries: int, slots: Slots) -> None:
    """SlotsError if the workers that have come leave no slots to the queries, and no more will come by themselves.

    Where nobody can tell beforehand how many slots there will be, this is the moment to look.
    """
    held = sum(slots.held.values())
    if queries and slots.most is None and slots.now is not None and slots.now < held and not slots.grows:
        message = (
            f"the workers leave no room for {_counted(queries)} beside them, for which they would wait for ever: "
            f"{held} slots are needed in all, and {slots}. Ask for fewer workers, or for a session with more slots"
        )
        raise SlotsError(message)


def writers_of_each(slots: Slots, *, feeds: int, queries: int) -> int:
    """How many tasks of each query that feeds a run may push at a time.

    When the topology is slow they are held back, and hold their slots: so many that others have one, too.

    Args:
        slots: what Spark has, counted when the run holds its own.
        feeds: how many queries feed the run.
        queries: how many queries the run has left slots to.
    """
    if slots.now is None:
        return 1
    room = slots.now - sum(slots.held.values()) + queries
    return max(1, (room - (queries - feeds)) // feeds)


def _counted(queries: int) -> str:
    return "1 streaming query" if queries == 1 else f"{queries} streaming queries"


@contextlib.contextmanager
def held_slots(spark: SparkSession, *, run: str, count: int) -> Iterator[Callable[[int], None]]:
    """Remembers that a run holds slots of a session, for the arithmetic of the next.

    Yields what to call when it holds another number of them.
    """
    application = _application(spark)
    _Held.take(application, run, count)
    try:
        yield lambda count: _Held.take(application, run, count)
    finally:
        _Held.give_back(application, run)


class _Held:
    """What the runs of this process hold. Spark knows too, but does not tell whose tasks never end."""

    _lock = threading.Lock()
    _runs: dict[str, dict[str, int]] = {}  # noqa: RUF012 -- the one place for the whole process

    @classmethod
    def take(cls, application: str, run: str, count: int) -> None:
        with cls._lock:
            cls._runs.setdefault(application, {})[run] = count

    @classmethod
    def give_back(cls, application: str, run: str) -> None:
        with cls._lock:
            cls._runs[application].pop(run, None)

    @classmethod
    def by_run(cls, application: str) -> dict[str, int]:
        with cls._lock:
            return dict(cls._runs.get(application, {}))


def _application(spark: SparkSession) -> str:
    return SessionSettings(spark).text("spark.app.id")


def _default_parallelism(spark: SparkSession) -> int:
    """Cores of the executors that are there: what Spark itself goes by when nobody tells it a parallelism."""
    if not is_connect(spark):
        return int(spark.sparkContext.defaultParallelism)
    # Without a SparkContext one has to look at what Spark does: a range has one partition per core.
    return int(spark.range(0, 100_000).selectExpr("spark_partition_id() AS part").distinct().count())


def _slots_now(spark: SparkSession, cores: int | None, task_cpus: float) -> int | None:
    """The slots of the executors that are there. Asked of the scheduler; where that cannot be, told by the cores."""
    if is_connect(spark):
        return None if cores is None or cores <= _LEAST_PARALLELISM else int(cores / task_cpus)
    from py4j.protocol import Py4JError  # type: ignore[import-untyped]

    try:
        # No API that Spark promises to keep tells of one core, or of none.
        context = spark.sparkContext._jsc.sc()
        return int(context.maxNumConcurrentTasks(context.resourceProfileManager().defaultResourceProfile()))
    except (AttributeError, Py4JError):
        return None if cores is None else int(cores / task_cpus)


def _most_cores(setting: SessionSettings, master: str) -> tuple[int | None, str]:
    """More cores than these a cluster will never give us, and which settings say so."""
    executor_cores = int(setting.number("spark.executor.cores", 1))
    if cluster := re.fullmatch(r"local-cluster\[\s*(\d+)\s*,\s*(\d+)\s*,\s*\d+\s*\]", master):
        return int(cluster[1]) * int(cluster[2]), ""
    if setting.flag("spark.dynamicAllocation.enabled"):
        if not setting.is_set("spark.dynamicAllocation.maxExecutors"):
            return None, ", dynamic allocation"
        executors = int(setting.number("spark.dynamicAllocation.maxExecutors", 0))
        return (
            executors * executor_cores,
            f", dynamic allocation of up to {executors} executors of {executor_cores} cores",
        )
    if master.startswith("spark://"):
        if not setting.is_set("spark.cores.max"):
            return None, ", as many cores as the cluster has free"
        return int(setting.number("spark.cores.max", 0)), ", spark.cores.max"
    if master.startswith(("yarn", "k8s://")):
        executors = int(setting.number("spark.executor.instances", 2))
        return executors * executor_cores, f", {executors} executors of {executor_cores} cores"
    return None, ""
