"""Counting slots, and what is made of the count."""

from __future__ import annotations

import logging
from typing import Any

import pytest

from penstock.errors import SlotsError
from penstock.spark.slots import Slots, count_slots, held_slots, workers_to_ask_for
from tests.spark.settled import settled


@pytest.mark.parametrize(
    ("session", "now", "most"),
    [
        (settled("local"), 1, 1),
        (settled("local[3]"), 3, 3),
        (settled("local[3, 4]"), 3, 3),
        (settled("local[*]", cores=5), 5, 5),
        (settled("local[*,4]", cores=5), 5, 5),
        (settled("local[4]", task_cpus="2"), 2, 2),
        (settled("local[4]", task_cpus="0.5"), 8, 8),
        (settled("local[4]", default_parallelism="100"), 4, 4),
        (settled("local-cluster[2,3,512]", cores=6), 6, 6),
        (settled("spark://host:7077", cores=6), 6, None),
        (settled("spark://host:7077", cores=6, cores_max="10"), 6, 10),
        (settled("yarn", cores=2), 2, 2),
        (settled("yarn", cores=4, executor_instances="3", executor_cores="4"), 4, 12),
        (settled("k8s://https://host", cores=4, executor_instances="3", executor_cores="4"), 4, 12),
        (settled("yarn", cores=2, dynamicAllocation_enabled="true"), 2, None),
        (settled("yarn", cores=2, dynamicAllocation_enabled="true", dynamicAllocation_maxExecutors="5"), 2, 5),
        (settled("yarn", cores=2, default_parallelism="100"), None, 2),
    ],
    ids=lambda value: value.conf.get("spark.master") if hasattr(value, "conf") else str(value),
)
def test_slots_are_counted(session: Any, now: int | None, most: int | None) -> None:
    slots = count_slots(session)

    assert (slots.now, slots.most) == (now, most)


def test_a_real_session_has_the_slots_it_was_made_with(spark: Any) -> None:
    assert count_slots(spark) == Slots(now=6, most=6, because="master local[6,4]")


def test_slots_that_other_runs_hold_are_not_free() -> None:
    session = settled("local[6]")
    with held_slots(session, run="first", count=4):
        slots = count_slots(session)
        assert slots.free_at_most == 2
        assert "run first holds 4" in str(slots)
        assert count_slots(settled("local[7]")).free_at_most == 7  # another application
    assert count_slots(session).free_at_most == 6


def test_enough_slots_are_no_news() -> None:
    assert workers_to_ask_for(Slots(now=4, most=4, because=""), workers=4, min_workers=None) == 4
    assert workers_to_ask_for(Slots(now=1, most=None, because=""), workers=40, min_workers=None) == 40


def test_too_few_slots_are_refused_with_the_arithmetic() -> None:
    slots = Slots(now=3, most=3, because="master local[3]", held={"first": 2})

    with pytest.raises(SlotsError, match=r"workers=3 need 3 free slots, and there are 1: .*local\[3\].*first holds 2"):
        workers_to_ask_for(slots, workers=3, min_workers=None)
    with pytest.raises(SlotsError, match=r"\(min_workers=2\) need 2 free slots, and there are 1"):
        workers_to_ask_for(slots, workers=3, min_workers=2)


def test_fewer_workers_start_where_that_will_do(caplog: pytest.LogCaptureFixture) -> None:
    slots = Slots(now=3, most=3, because="master local[3]")

    with caplog.at_level(logging.WARNING):
        assert workers_to_ask_for(slots, workers=5, min_workers=2) == 3
    assert "workers=5, and there is room for 3" in caplog.text


def test_what_a_session_was_told_later_changes_no_slots(spark: Any) -> None:
    from pyspark.sql import SparkSession

    before = count_slots(spark)
    told = spark.conf.get("spark.master")
    try:
        assert SparkSession.builder.master("local[3]").getOrCreate() is spark
        assert count_slots(spark) == before
    finally:
        spark.conf.set("spark.master", told)
