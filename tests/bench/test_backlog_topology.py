"""Split and count, in one process, and what is made of what they note."""

import json
from pathlib import Path

import pytest

from bench.backlog.contest import contestants, sample_of
from bench.backlog.goals import latency_goals
from bench.backlog.measured import Measured, Sample
from bench.backlog.plan import FULL, QUICK
from bench.backlog.tables import latency_tables
from bench.backlog.topology import COUNTS, GROUPINGS, SPLITS, SplitHereCountThere, split_count
from penstock.plan.cluster import WorkerSlot
from penstock.plan.edges import edges_of
from penstock.plan.schedulers.base import PlanRequest
from penstock.plan.shape import shape_of
from penstock.plan.tasks import tasks_of
from penstock.testing import run_topology


@pytest.mark.parametrize("grouping", GROUPINGS)
def test_every_word_is_noted_by_who_counts_it(tmp_path: Path, grouping: str) -> None:
    topology = split_count(grouping, per_s=500, seconds=0.2, folder=str(tmp_path))
    assert run_topology(topology, workers=1, delivery="at_most_once").failures == []

    noted = [word for index in range(COUNTS) for word in json.loads((tmp_path / f"{index}.json").read_text())]
    assert {task for task, _, _ in noted} == set(range(SPLITS))
    assert all(born_ns <= counted_ns for _, born_ns, counted_ns in noted)
    assert sample_of(noted, warm_up_s=0.0).words == len(noted)


def test_splits_are_on_one_node_and_counts_on_the_other(tmp_path: Path) -> None:
    shape = shape_of(split_count("shuffle", 1, 1, str(tmp_path)))
    tasks = tuple(tasks_of(shape))
    slots = tuple(WorkerSlot(worker=worker, node="ab"[worker % 2]) for worker in range(4))
    placed = SplitHereCountThere().plan(PlanRequest(tasks=tasks, edges=tuple(edges_of(shape)), slots=slots))
    workers = {
        name: {placed.worker_of[task.id] for task in tasks if task.component == name} for name in ("split", "count")
    }
    assert workers == {"split": {0, 2}, "count": {1, 3}}


def test_what_is_noted_in_the_warm_up_does_not_count() -> None:
    s, ms = 10**9, 10**6
    noted = [(0, 0, 5 * s), (0, 2 * s, 2 * s + ms), (1, 2 * s, 2 * s + 9 * ms)]
    found = sample_of(noted, warm_up_s=1.0)
    assert (found.words, found.mean_ms, found.slowest_task_ms) == (2, 5.0, 9.0)


def sample(mean_ms: float) -> Sample:
    return Sample(words=1, mean_ms=mean_ms, p50_ms=mean_ms, p99_ms=mean_ms, slowest_task_ms=mean_ms)


def test_the_goal_is_the_mean_over_intervals_of_what_was_saved_in_the_same_round() -> None:
    names = [contestant.name for contestant in contestants(QUICK)]
    assert names == ["fifo", "round_robin 10 ms", "lbf 10 ms"]
    assert len(contestants(FULL)) == 2 + len(FULL.intervals_ms)
    measured = [
        Measured(
            experiment=experiment,
            intervals_ms=QUICK.intervals_ms,
            rounds=dict(zip(names, ([sample(100)], [sample(50)], [sample(lbf_ms)]), strict=True)),
        )
        for experiment, lbf_ms in zip(FULL.experiments[2:], (10, 30), strict=True)
    ]
    goals = {goal.name: goal.value for goal in latency_goals(measured)}
    assert goals == pytest.approx(
        {"latency_reduction": 0.8, "latency_reduction_partial_key": 0.7, "latency_reduction_shuffle": 0.9}
    )
    for table in latency_tables(measured, rounds=1):
        assert {len(row) for row in table.rows} == {len(table.columns)}
    assert latency_goals([]) == ()
