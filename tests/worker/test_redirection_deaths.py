"""Pieces of a queue that are worked on elsewhere, by workers that die: every tuple counts once."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.connectors.collect import Collect
from penstock.flow.delivery import Delivery
from penstock.worker.settings import WorkerSettings
from tests.trickle import Trickle
from tests.tries import tried
from tests.worker.lending_stage import DELIVERIES, NUMBERS, Stage, doubles, give_everybody_time


@pytest.fixture(autouse=True)
def _everybody_has_time(monkeypatch: pytest.MonkeyPatch) -> None:
    give_everybody_time(monkeypatch)


def exact(stage: Stage) -> bool:
    return Counter(double for (double,) in stage.cluster.result().collected("sink")) == doubles(range(NUMBERS))


def endure(stage: Stage, deaths: list[tuple[int, int, int]]) -> None:
    """So many turns, then somebody dies, and is away for so many turns. Help is called for again and again."""
    cluster = stage.cluster
    stage.call()
    for before, victim, away in deaths:
        for _ in range(before):
            cluster.step()
        if victim in cluster.workers and not cluster.ended:
            cluster.kill(victim)
            for _ in range(away):
                cluster.step()
            cluster.restart(victim)
        stage.call()
    cluster.run_to_end()


def deaths_of(workers: list[int]) -> Any:
    return st.lists(st.tuples(st.integers(0, 150), st.sampled_from(workers), st.integers(0, 30)), max_size=4)


sizes = st.builds(
    WorkerSettings,
    credit_window_bytes=st.sampled_from([60, 500, 1 << 20]),
    spout_turn_tuples=st.just(20),
    turn_tuples=st.integers(1, 8),
)


@pytest.mark.parametrize("delivery", DELIVERIES)
@given(seed=st.integers(0, 2**32), deaths=deaths_of([2, 3]), sized=sizes)
@tried(8)
def test_whoever_borrows_and_dies_every_tuple_counts_once(
    delivery: Delivery, seed: int, deaths: list[tuple[int, int, int]], sized: WorkerSettings
) -> None:
    spout = Trickle(range(NUMBERS), field="n")
    with Stage(delivery=delivery, seed=seed, settings=sized, spout=spout, sink=Collect()) as stage:
        endure(stage, deaths)
    assert exact(stage)


@pytest.mark.parametrize("delivery", ["at_least_once", "exactly_once"])
@given(seed=st.integers(0, 2**32), deaths=deaths_of([0, 1, 2, 3]), sized=sizes)
@tried(8)
def test_whoever_dies_every_tuple_counts_as_is_promised(
    delivery: Delivery, seed: int, deaths: list[tuple[int, int, int]], sized: WorkerSettings
) -> None:
    spout = Trickle(range(NUMBERS), field="n")
    with Stage(delivery=delivery, seed=seed, settings=sized, spout=spout, sink=Collect()) as stage:
        endure(stage, deaths)
    if delivery == "exactly_once":
        assert exact(stage)
    collected = {double for (double,) in stage.cluster.result().collected("sink")}
    assert collected == doubles(range(NUMBERS)).keys()
