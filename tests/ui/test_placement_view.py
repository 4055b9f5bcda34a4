"""Where tasks are, how far tuples go and what was decided, as people see it."""

from __future__ import annotations

from typing import Any

import msgspec

from penstock.control.decisions import Decision
from penstock.control.metrics import TaskMetrics, TrafficMetrics
from penstock.control.scheduling import SchedulingStatus
from penstock.control.status import Phase, WorkerStatus
from penstock.plan.assignment import Move
from tests.ui.test_run_view import component, metrics, shown, status, worker


def task(number: int, name: str, index: int, *, busy_share: float = 0.0) -> TaskMetrics:
    return TaskMetrics(
        task=number,
        component=name,
        index=index,
        worker=0,
        processed=0,
        emitted=0,
        failed=0,
        busy_ns=0,
        backlog=0,
        processed_per_s=0.0,
        emitted_per_s=0.0,
        busy_share=busy_share,
    )


TASKS = (
    *(task(number, "split", number, busy_share=0.25) for number in range(4)),
    task(4, "count[b]", 0),
    task(5, "count[b]", 1),
)
COUNTS = metrics(component("split"), tasks=TASKS)


def at(number: int, host: str, node: str, *tasks: int, **changed: Any) -> WorkerStatus:
    return msgspec.structs.replace(worker(number), host=host, node=node, tasks=tasks, **changed)


def lines_of(*workers: WorkerStatus, **changed: Any) -> str:
    return "\n".join(shown(status(*workers, **changed), COUNTS))


def test_tasks_are_told_by_name_on_their_worker_and_node() -> None:
    text = lines_of(at(2, "beta", "n2", 3, 4), at(0, "alpha", "n1", 0, 1, 2, 5), at(1, "alpha", "n1", state="silent"))
    rows = [line.split() for line in text.splitlines()]
    assert ["alpha", "0", "███░", "75%", "split[0-2]", "count[b][1]"] in rows
    assert ["1", "░░░░", "0%", "none"] in rows
    assert ["beta", "2", "█░░░", "25%", "split[3]", "count[b][0]"] in rows
    assert "tasks (assignment 1)" in text


def test_a_worker_that_is_not_at_work_says_so() -> None:
    assert "split[0]  silent" in lines_of(at(0, "alpha", "n1", 0, state="silent"))


def test_two_nodes_of_one_host_are_told_apart() -> None:
    text = lines_of(at(0, "alpha", "n1", 0), at(1, "alpha", "n2", 1))
    assert text.count("alpha") == 2


def test_how_far_tuples_go() -> None:
    traffic = TrafficMetrics(
        within_workers_tuples_per_s=600.0,
        between_workers_tuples_per_s=300.0,
        between_nodes_tuples_per_s=100.0,
        between_workers_bytes_per_s=3_000.0,
        between_nodes_bytes_per_s=2e6,
    )
    text = " ".join(" ".join(shown(status(), metrics(tasks=TASKS, traffic=traffic))).split())
    assert "within workers 600 tuples/s (60%)" in text
    assert "within nodes 300 tuples/s (30%), 3.0kB/s" in text
    assert "between nodes 100 tuples/s (10%), 2.0MB/s" in text


def decision(number: int, **changed: Any) -> Decision:
    about: dict[str, Any] = {"number": number, "at_s": 10.0 * number, "by": "t-storm", "why": "a gain of 30%"}
    return Decision(**(about | changed))


def test_the_last_decisions_with_what_became_of_them() -> None:
    moves = tuple(Move(task=number, source=0, target=1) for number in range(5))
    decisions = (
        *(decision(number, why="old") for number in range(1, 7)),
        decision(7, state="done", took_s=0.123, moves=moves),
        decision(8, state="refused", reason="it is\npinned", by="you", moves=moves[4:]),
    )
    text = lines_of(at(0, "alpha", "n1", 0), decisions=decisions)
    assert "70 s  done in 0.12 s  split[0] 0→1, split[1] 0→1, split[2] 0→1, and 2 more" in text
    assert "count[b][0] 0→1  you: it is" in " ".join(text.split("\n"))
    assert text.count("old") == 2


def test_who_plans_and_why_nothing_is_done() -> None:
    scheduling = SchedulingStatus(
        planner="external", parameters={"gamma": 1.7}, verdict="t-storm: a gain of 3%, not more", verdict_at_s=61.0
    )
    text = lines_of(at(0, "alpha", "n1", 0), scheduler="t-storm", scheduling=scheduling)
    assert "scheduler t-storm gamma=1.7, by `penstock scheduler`" in text
    assert "61 s  stays: t-storm: a gain of 3%, not more" in text
    quiet = SchedulingStatus(planner="off")
    assert "scheduler even" not in lines_of(at(0, "alpha", "n1", 0), scheduling=quiet)


def test_of_many_workers_the_first_are_shown() -> None:
    text = lines_of(*(at(number, "alpha", "n1") for number in range(40)))
    assert "and 24 more" in text


def test_before_and_after_there_is_no_placement() -> None:
    assert "alpha" not in lines_of(at(0, "alpha", "n1", 0), assignment=None)
    assert "alpha" not in lines_of(at(0, "alpha", "n1", 0), phase=Phase.ENDED)
