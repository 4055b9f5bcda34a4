"""What the controller makes of load, schedules and changes of mind."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from penstock.control.events import Proposed
from penstock.control.instructions import Instruction, SendTo, StartWorker
from penstock.control.load_records import Choice
from penstock.control.metrics import PairCounts, TaskCounts
from penstock.control.moving import AskRebalance, Moved, Prepare, Prepared
from penstock.control.protocol import Done, NotNow, Report
from penstock.control.scheduling import (
    AskScheduling,
    Declined,
    KeepChoice,
    KeepLoad,
    ScheduleOutcome,
    StoreTrouble,
)
from penstock.control.scheduling_settings import SchedulingSettings
from tests.control.planners import TOGETHER
from tests.control.stage import PLAN, Stage, only

CHOICE = Choice(scheduler=TOGETHER, settings=SchedulingSettings(load_every_s=5.0))
PROPOSED = Proposed(worker_of={3: 0}, scheduler="together", why="less traffic", assignment=1, schedule=4)


def stage_with(choice: Choice | None = CHOICE, **changed: Any) -> Stage:
    return Stage(msgspec.structs.replace(PLAN, choice=choice, **changed))


def kept(said: list[Instruction]) -> list[KeepLoad]:
    return [one for one in said if isinstance(one, KeepLoad)]


def outcomes(said: list[Instruction]) -> list[tuple[int, str, str]]:
    return [(one.schedule, one.status, one.reason) for one in said if isinstance(one, ScheduleOutcome)]


def answered(said: list[Instruction]) -> Any:
    assert isinstance(said[-1], SendTo) or isinstance(said[0], SendTo)
    (answer,) = (one.message for one in said if isinstance(one, SendTo))
    return answer


def works(stage: Stage, connection: bytes, *, at_s: float, task: int = 0) -> None:
    counts = TaskCounts(task=task, busy_ns=round(at_s * 5e8))
    pair = PairCounts(edge=0, source=task, target=1, tuples=round(100 * at_s), bytes=round(2000 * at_s))
    stage.says(connection, Report(at_ns=round(at_s * 1e9), cpu_ns=round(at_s * 5e8), tasks=(counts,), pairs=(pair,)))


# ---- load


def test_load_is_sampled_and_kept_with_how_the_run_stands() -> None:
    stage = stage_with()
    first, second = stage.runs()
    stage.passes(0.5, first, second)
    works(stage, first, at_s=0)
    works(stage, first, at_s=4)
    (order,) = kept(stage.passes(5.5, first, second))

    assert order.sample.tasks[0].cpu == pytest.approx(0.5)
    assert order.estimate.pairs[0, 0, 1].bytes == pytest.approx(2000)
    assert order.tasks == PLAN.tasks
    assert order.assignment.number == 1
    assert [(one.worker, one.node, one.host, one.cores) for one in order.workers] == [
        (0, "node-a", "host-0", 1),
        (1, "node-a", "host-1", 1),
    ]
    assert [one.cpu_share for one in order.workers] == pytest.approx([0.5, 0.0])


@pytest.mark.parametrize("choice", [None, Choice(settings=SchedulingSettings(load_every_s=None))])
def test_where_nobody_wants_it_nothing_is_sampled(choice: Choice | None) -> None:
    stage = stage_with(choice)
    first, second = stage.runs()
    assert kept(stage.passes(60.0, first, second)) == []


def test_what_was_measured_is_what_is_planned_by_when_somebody_asks() -> None:
    stage = stage_with(scheduler=Recording())
    first, second = stage.runs()
    works(stage, first, at_s=0)
    works(stage, first, at_s=4)
    stage.passes(5.5, first, second)
    stage.says(b"operator", AskRebalance())
    request = Recording.seen[-1]
    assert request.load.busy_share == {0: pytest.approx(0.5)}
    assert request.traffic.tuples_per_s == {(0, 1): pytest.approx(100)}


class Recording:
    """The even scheduler, and what it was asked."""

    name = "recording"
    seen: list[Any] = []  # noqa: RUF012 -- for one test

    def plan(self, request: Any) -> Any:
        from penstock.plan.schedulers.even import EvenScheduler

        self.seen.append(request)
        return EvenScheduler().plan(request)


# ---- schedules


def test_a_schedule_is_carried_out_and_that_is_told_once() -> None:
    stage = stage_with()
    first, second = stage.runs()
    said = stage.happens(PROPOSED)
    assert only(said, first, Prepare).assignment.worker_of[3] == 0
    for connection in (first, second):
        stage.says(connection, Prepared(assignment=2))
    assert outcomes(stage.said) == []
    said = stage.says(first, Moved(assignment=2, task=3))

    assert outcomes(said) == [(4, "applied", "")]
    stage.passes(5.0, first, second)
    assert len(outcomes(stage.said)) == 1
    decision = stage.status().decisions[-1]
    assert (decision.by, decision.why, decision.state) == ("together", "less traffic", "done")


def test_a_schedule_for_an_assignment_that_is_over_is_not_carried_out() -> None:
    stage = stage_with()
    stage.runs()
    said = stage.happens(msgspec.structs.replace(PROPOSED, assignment=7))
    assert outcomes(said) == [
        (4, "superseded", "it was made to replace assignment 7, and now 1 is in force"),
    ]
    assert stage.status().decisions == ()


def test_a_schedule_that_cannot_be_is_refused_with_the_reason() -> None:
    stage = stage_with(pinned={3: "it gathers"})
    stage.runs()
    said = stage.happens(PROPOSED)
    assert outcomes(said) == [(4, "refused", "count[0] (task 3) cannot move: it gathers")]


def test_one_that_waits_is_superseded_by_the_next() -> None:
    stage = stage_with()
    first, second = stage.runs()
    stage.happens(PROPOSED)  # under way
    stage.happens(msgspec.structs.replace(PROPOSED, worker_of={1: 0}, schedule=5))
    said = stage.happens(msgspec.structs.replace(PROPOSED, worker_of={2: 1}, schedule=6))
    assert outcomes(said) == [(5, "superseded", "by decision 3")]
    assert outcomes(stage.passes(61.0, first, second))[0][:2] == (4, "refused")  # nobody prepared in time


def test_why_a_plan_was_declined_is_shown_until_one_is_carried_out() -> None:
    stage = stage_with()
    first, second = stage.runs()
    stage.passes(3.0, first, second)
    stage.happens(Declined(scheduler="together", why="a gain of 3.0%"))
    told = stage.status().scheduling
    assert told is not None
    assert (told.planner, told.verdict, told.verdict_at_s) == ("driver", "together: a gain of 3.0%", 3.0)
    stage.happens(PROPOSED)
    assert stage.status().scheduling == msgspec.structs.replace(told, verdict=None, verdict_at_s=0.0)


def test_trouble_with_the_store_is_a_notice() -> None:
    stage = stage_with()
    stage.runs()
    stage.happens(StoreTrouble(error="the load store at x failed: disk is full"))
    assert "disk is full" in stage.status().notices[-1]
    assert not stage.is_over()


# ---- another mind


def test_another_scheduler_is_taken_up_and_written_down() -> None:
    stage = stage_with(Choice(settings=CHOICE.settings))
    stage.runs()
    assert stage.status().scheduling is not None
    assert stage.status().scheduler == "even"
    said = stage.says(b"operator", AskScheduling(scheduler=TOGETHER, parameters={"worker": 1}))
    assert answered(said) == Done()
    (order,) = (one for one in said if isinstance(one, KeepChoice))
    assert order.choice == Choice(scheduler=TOGETHER, parameters={"worker": 1}, settings=CHOICE.settings)
    status = stage.status()
    assert status.scheduler == "together"
    assert status.scheduling is not None
    assert (status.scheduling.planner, status.scheduling.parameters) == ("driver", {"worker": 1})


def test_settings_change_while_it_runs() -> None:
    stage = stage_with()
    first, second = stage.runs()
    said = stage.says(b"operator", AskScheduling(settings={"load_every_s": 1.0, "load_alpha": 0}))
    assert answered(said) == Done()
    (order,) = (one for one in said if isinstance(one, KeepChoice))
    assert (order.choice.scheduler, order.choice.settings.load_alpha) == (TOGETHER, 0)
    assert len(kept(stage.passes(4.0, first, second))) == 3


@pytest.mark.parametrize(
    ("question", "complaint"),
    [
        (AskScheduling(scheduler="nonsense"), "no scheduler is named 'nonsense'"),
        (AskScheduling(scheduler="even", parameters={"gamma": 2}), "does not take"),
        (AskScheduling(parameters={"gamma": 2}), "no scheduler that they are for"),
        (AskScheduling(settings={"load_alpha": 2}), "load_alpha must be at least 0 and below 1, got 2"),
        (AskScheduling(scheduler=TOGETHER, settings={"load_every_s": "often"}), "has a wrong value"),
        (AskScheduling(settings={"store": "sqlite:///x"}), "there are: capacity_fraction, fetch_every_s"),
        (AskScheduling(settings={"nonsense": 1}), "is named 'nonsense'"),
    ],
)
def test_what_makes_no_sense_is_refused_and_changes_nothing(question: AskScheduling, complaint: str) -> None:
    stage = stage_with(Choice(settings=CHOICE.settings))
    stage.runs()
    before = stage.status()
    said = stage.says(b"operator", question)
    answer = answered(said)
    assert isinstance(answer, NotNow)
    assert complaint in answer.reason
    assert not [one for one in said if isinstance(one, KeepChoice)]
    assert stage.status() == before


def test_a_run_without_online_scheduling_says_so() -> None:
    stage = stage_with(None)
    stage.runs()
    answer = answered(stage.says(b"operator", AskScheduling(scheduler="even")))
    assert isinstance(answer, NotNow)
    assert "without online scheduling" in answer.reason


# ---- overload


def overloaded(stage: Stage, *connections: bytes) -> list[Instruction]:
    """Each of these takes a whole core for a period."""
    before = len(stage.said)
    at_s = stage.now_s
    for connection in connections:
        stage.says(connection, Report(at_ns=round(at_s * 1e9), cpu_ns=round(at_s * 1e9)))
        stage.says(connection, Report(at_ns=round((at_s + 4) * 1e9), cpu_ns=round((at_s + 4) * 1e9)))
    stage.passes(5.5, *connections)
    return stage.said[before:]


def hired(said: list[Instruction]) -> list[int]:
    return [one.worker for one in said if isinstance(one, StartWorker)]


def test_workers_are_asked_for_when_all_are_full_and_not_again_at_once() -> None:
    stage = Stage(msgspec.structs.replace(PLAN, choice=CHOICE), max_workers=4, start_timeout_s=600.0)
    first, second = stage.runs()
    stage.passes(0.5, first, second)
    assert hired(overloaded(stage, first, second)) == [2]
    assert "worker 2 is asked for: worker 0 on host-0 takes 100% of a core" in stage.status().notices
    assert hired(overloaded(stage, first, second)) == []
    for _ in range(25):
        overloaded(stage, first, second)
    assert hired(stage.said)[2:] == [2, 3]


@pytest.mark.parametrize(
    "choice",
    [
        Choice(settings=CHOICE.settings),
        msgspec.structs.replace(CHOICE, settings=SchedulingSettings(load_every_s=5.0, scheduling="off")),
    ],
)
def test_where_nobody_plans_nobody_is_asked_for(choice: Choice) -> None:
    stage = Stage(msgspec.structs.replace(PLAN, choice=choice), max_workers=4)
    first, second = stage.runs()
    stage.passes(0.5, first, second)
    assert hired(overloaded(stage, first, second)) == []
