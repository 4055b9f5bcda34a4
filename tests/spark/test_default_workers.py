"""How many workers a run has if nobody says: what Spark has room for, and not what the driver has cores."""

from __future__ import annotations

import os
from types import SimpleNamespace
from typing import Any

import pytest

from penstock.spark.run import run
from penstock.spark.session import SPARE_SLOTS, spare_slots
from penstock.spark.slots import Slots, count_slots, workers_by_default
from tests.spark import topologies
from tests.spark.settled import settled

TASKS = 20


def slots(now: int | None, most: int | None, **held: int) -> Slots:
    return Slots(now=now, most=most, because="", held=held)


@pytest.mark.parametrize(
    ("counted", "wanted"),
    [
        (slots(6, 6), 6),
        (slots(6, None), 6),
        (slots(2, 12), 12),  # the others are on their way
        (slots(None, 12), 12),
        (slots(30, 30), TASKS),
        (slots(6, 6, first=4), 2),
        (slots(6, 6, first=6), 1),  # which is then refused, with the arithmetic
        (slots(None, None), 3),
        (slots(0, None), 3),
    ],
    ids=str,
)
def test_a_worker_for_each_slot_that_is_free(counted: Slots, wanted: int) -> None:
    assert workers_by_default(counted, tasks=TASKS, spare=0, unknown=3) == wanted


def test_spare_slots_stay_free() -> None:
    assert workers_by_default(slots(6, 6), tasks=TASKS, spare=2, unknown=3) == 4
    assert workers_by_default(slots(2, 2), tasks=TASKS, spare=2, unknown=3) == 1


@pytest.mark.parametrize("cores", [1, 5])
def test_a_run_has_the_slots_of_its_session_whatever_the_driver_has(
    spark: Any, monkeypatch: pytest.MonkeyPatch, cores: int
) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: set(range(cores)))  # noqa: ARG005
    summary = run(topologies.word_count(1), spark=spark)

    assert spare_slots(spark) == SPARE_SLOTS
    slots = count_slots(spark).now
    assert slots is not None
    assert len(summary.status.workers) == slots - SPARE_SLOTS == 4


def test_a_session_of_somebody_else_has_no_spare_slots() -> None:
    assert spare_slots(settled("local[4]")) == 0


def with_scheduler(session: Any, tasks: int) -> Any:
    """What Spark's scheduler says can run at a time, where it can be asked."""
    profiles = SimpleNamespace(defaultResourceProfile=lambda: "default")
    context = SimpleNamespace(
        resourceProfileManager=lambda: profiles, maxNumConcurrentTasks=lambda profile: tasks if profile else None
    )
    session.sparkContext._jsc = SimpleNamespace(sc=lambda: context)
    return session


@pytest.mark.parametrize("tasks", [0, 1, 2, 7])
def test_a_cluster_may_have_one_slot_or_none(tasks: int) -> None:
    """Spark's default parallelism never says so: on a cluster it is at least 2."""
    told = max(2, tasks)
    assert count_slots(with_scheduler(settled("spark://host:7077", cores=told), tasks)).now == tasks
    assert count_slots(with_scheduler(settled("yarn", cores=told, default_parallelism="100"), tasks)).now == tasks
