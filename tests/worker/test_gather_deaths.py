"""Gather, whatever dies: at least once every question is answered, exactly once with the effect of once."""

from __future__ import annotations

from collections import Counter
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from penstock.connectors.collect import Collect
from penstock.testing import CapturedSink, LocalCluster
from penstock.worker.settings import WorkerSettings
from tests.trickle import Trickle
from tests.tries import tried
from tests.worker.deaths import endure, endure_after_epochs
from tests.worker.scatter_gather import COUNT, BatchShard, ByKey, Shard, every_question, gathered, scattered, told

sizes = st.builds(
    WorkerSettings,
    credit_window_bytes=st.integers(1, 300),
    inbox_bytes=st.integers(1, 300),
    turn_tuples=st.integers(1, 8),
    spout_turn_tuples=st.integers(1, 8),
    max_pending=st.integers(1, 50),
    singly_tuples=st.sampled_from([0, 5, 1000]),
)
deaths = st.lists(st.tuples(st.integers(0, 80), st.integers(0, 2), st.integers(0, 40)), max_size=4)


@tried(12)
@given(st.booleans(), st.booleans(), st.integers(1, 4), deaths, st.integers(0, 2**32), sizes)
def test_at_least_once_every_question_is_answered_whatever_dies(
    batches: bool, by_batches: bool, shards: int, deaths: list[Any], seed: int, sized: WorkerSettings
) -> None:
    topo, answers = scattered(BatchShard() if by_batches else Shard(), shards=shards, batches=batches)
    sink = CapturedSink()
    topo.bolt("sink", sink, topo.bolt("told", told, answers, tasks=2, fields=("question", "by")).shuffle())
    with LocalCluster(topo, workers=3, seed=seed, settings=sized) as cluster:
        endure(cluster, deaths)
        cluster.run_to_end()
        failures = cluster.result().failures
    seen = Counter((question, tuple(by)) for question, by in sink.values)
    assert {*seen} == {*every_question(shards)}
    assert not any(failure.kind == "AnsweredTwiceError" for failure in failures)
    if not deaths:
        assert seen == every_question(shards)
        assert not failures


@tried(10)
@given(st.booleans(), st.integers(1, 3), st.integers(0, 2**32), sizes)
def test_nothing_is_given_up_because_it_is_slow(batches: bool, workers: int, seed: int, sized: WorkerSettings) -> None:
    topo, answers = scattered(BatchShard() if batches else Shard(), batches=batches)
    sink = CapturedSink()
    topo.bolt("sink", sink, answers, tasks=2)
    with LocalCluster(topo, workers=workers, seed=seed, settings=sized) as cluster:
        for _ in range(200):
            cluster.step()
            cluster.begin_epoch()  # markers all the time, and queues that are always full
        cluster.run_to_end()
        assert not cluster.result().failures
    assert sorted(tup.question for tup in sink.tuples) == [*range(COUNT)]


@tried(12)
@given(
    st.booleans(),
    st.lists(st.tuples(st.integers(0, 80), st.integers(0, 2), st.booleans(), st.integers(0, 150)), max_size=5),
    st.integers(0, 2**32),
    sizes,
)
def test_exactly_once_the_results_are_those_of_a_run_in_which_nothing_died(
    batches: bool, deaths: list[Any], seed: int, sized: WorkerSettings
) -> None:
    topo, answers = scattered(BatchShard() if batches else Shard(), questions=Trickle(range(COUNT), field="n"))
    topo.bolt("all", Collect(), topo.bolt("by_key", ByKey(), answers, tasks=2).shuffle())
    with LocalCluster(topo, workers=3, seed=seed, settings=sized, delivery="exactly_once") as cluster:
        endure_after_epochs(cluster, deaths)
        cluster.run_to_end()
        result = cluster.result()
    assert gathered(result) == every_question()
    assert not result.failures


@tried(10)
@given(deaths, st.integers(0, 2**32), sizes)
def test_at_most_once_what_is_gathered_is_whole_whatever_dies(
    deaths: list[Any], seed: int, sized: WorkerSettings
) -> None:
    topo, answers = scattered()
    sink = CapturedSink()
    topo.bolt("sink", sink, topo.bolt("told", told, answers, tasks=2, fields=("question", "by")).shuffle())
    with LocalCluster(topo, workers=3, seed=seed, settings=sized, delivery="at_most_once") as cluster:
        endure(cluster, deaths)
        cluster.run_to_end()
    assert {(question, tuple(by)) for question, by in sink.values} <= {*every_question()}
