"""The topology of the broadcast benchmark, in one process, and what conducts it."""

import json
from pathlib import Path

import pytest

from bench.broadcast.conductor import Block, Conductor
from bench.broadcast.placement import GathererWithSource
from bench.broadcast.plan import ALGORITHMS
from bench.broadcast.topology import ANSWER_FILE, s_b_w_g
from penstock.plan.cluster import WorkerSlot
from penstock.plan.edges import edges_of
from penstock.plan.schedulers.base import PlanRequest
from penstock.plan.shape import shape_of
from penstock.plan.tasks import tasks_of
from penstock.testing import run_topology


def block(algorithm: str = "serial", *, window: int = 1, warm_up: int = 1, least: int = 2, most: int = 3) -> Block:
    return Block(
        algorithm=algorithm, size_bytes=10, window=window, warm_up=warm_up, least=least, most=most, seconds=60.0
    )


def test_every_algorithm_is_measured_in_one_run(tmp_path: Path) -> None:
    blocks = [*(block(algorithm) for algorithm in ALGORITHMS), block(window=4, warm_up=4, most=9)]
    topology = s_b_w_g(Conductor(blocks, tasks=5), ALGORITHMS, str(tmp_path))
    assert run_topology(topology, workers=1, delivery="at_most_once").failures == []

    results = json.loads((tmp_path / ANSWER_FILE).read_text())
    *alone, many = [(found["algorithm"], len(found["round_trip_ns"])) for found in results]
    assert alone == [(algorithm, 3) for algorithm in ALGORITHMS]
    assert many[1] >= 9
    for found in results:
        for round_trip_ns, reached_ns in zip(found["round_trip_ns"], found["reached_ns"], strict=True):
            assert 0 < reached_ns <= round_trip_ns
        assert found["gathered_ns"] == sorted(found["gathered_ns"])


def test_no_more_messages_are_under_way_than_the_window_has() -> None:
    conductor = Conductor([block(window=2)], tasks=2)
    assert conductor.next() == (0, "serial", 10)
    assert conductor.next() == (1, "serial", 10)
    assert conductor.next() is None
    conductor.answered(0, 0, 1)
    assert conductor.next() is None
    conductor.answered(0, 1, 1)
    assert conductor.next() == (2, "serial", 10)


def test_a_block_begins_when_nothing_of_the_last_is_under_way() -> None:
    conductor = Conductor([block(warm_up=0, least=1, most=1), block("ring")], tasks=1)
    assert conductor.next() == (0, "serial", 10)
    assert conductor.next() is None
    conductor.answered(0, 0, 1)
    assert conductor.next() is None  # the end of one block is not the first message of the next
    assert conductor.next() == (0, "ring", 10)


def test_a_task_that_answers_for_another_is_noticed() -> None:
    conductor = Conductor([block()], tasks=2)
    conductor.next()
    conductor.answered(0, 1, 1)
    with pytest.raises(RuntimeError, match="message 0: some tasks have answered twice"):
        conductor.answered(0, 1, 1)


def test_source_and_gatherer_share_a_worker_and_the_broadcaster_is_on_another_node() -> None:
    shape = shape_of(s_b_w_g(Conductor([], tasks=10), ALGORITHMS, ""))
    slots = tuple(WorkerSlot(worker=worker, node=f"node-{worker // 2}") for worker in range(4))
    tasks = tasks_of(shape)
    placed = GathererWithSource().plan(PlanRequest(tasks=tasks, edges=edges_of(shape), slots=slots))
    workers = {(task.component, task.index): placed.worker_of[task.id] for task in tasks}
    assert workers["s", 0] == workers["g", 0]
    assert workers["s", 0] // 2 != workers["b", 0] // 2
    assert {worker for (component, _), worker in workers.items() if component == "w"} == {0, 1, 2, 3}


def test_the_first_messages_of_a_run_are_not_measured() -> None:
    conductor = Conductor([block(warm_up=2, least=0, most=0), block(warm_up=0, most=2)], tasks=1)
    for _ in range(6):  # two messages and an end, twice
        sent = conductor.next()
        if sent is not None:
            conductor.answered(sent[0], 0, 1)
    with pytest.raises(StopIteration):
        conductor.next()
    assert [len(found["round_trip_ns"]) for found in conductor.results()] == [0, 2]


def test_what_is_still_under_way_at_the_end_does_not_count() -> None:
    conductor = Conductor([block(window=3, warm_up=1, least=1, most=1)], tasks=1)
    assert [conductor.next() is not None for _ in range(4)] == [True, True, True, False]
    conductor.answered(0, 0, 1)
    assert conductor.next() is not None  # as many under way as before
    conductor.answered(1, 0, 1)
    assert conductor.next() is None
    conductor.answered(2, 0, 1)
    conductor.answered(3, 0, 1)
    assert len(conductor.results()[0]["round_trip_ns"]) == 1
