"""Starting: who is waited for, and for how long."""

from typing import Any, ClassVar

import msgspec
import pytest

from penstock.control.events import HostFailed, Launch
from penstock.control.protocol import AskDrain, AskStop, Fatal, Left, Ready
from penstock.control.settings import ControlSettings
from penstock.control.status import Phase
from penstock.errors import RunError, StartError
from penstock.plan.assignment import Assignment
from penstock.plan.schedulers.base import PlanRequest
from tests.control.stage import EDGES, PLAN, TASKS, Stage, deploy, kinds, starts, stops


def failure(stage: Stage, kind: type[RunError] = StartError) -> str:
    assert type(stage.failed().error) is kind
    return str(stage.failed().error)


def test_the_host_is_asked_for_every_worker() -> None:
    assert starts(Stage(workers=3).happens(Launch())) == [(0, 1), (1, 1), (2, 1)]


def test_all_are_deployed_when_the_last_one_came() -> None:
    stage = Stage(workers=2)
    stage.happens(Launch())
    first = stage.comes(0)
    assert kinds(stage.said, first) == ["Admit"]

    second = stage.comes(1)

    for connection in (first, second):
        assert kinds(stage.said, connection) == ["Admit", "Deploy"]
    told = deploy(stage.said, first)
    assert told == deploy(stage.said, second)
    assert (told.topology, told.tasks, told.edges, told.ended_tasks) == (b"blob", TASKS, EDGES, ())
    assert told.assignment == Assignment(number=1, worker_of={0: 0, 1: 1, 2: 0, 3: 1})
    assert [(peer.worker, peer.generation, peer.ring_address) for peer in told.peers] == [
        (0, 1, "ring-0-1-0"),
        (1, 1, "ring-1-1-0"),
    ]


def test_nobody_begins_before_all_are_ready() -> None:
    stage = Stage(workers=2)
    first, second = stage.starts()

    stage.says(first, Ready(assignment=1))
    assert "Begin" not in kinds(stage.said, first)
    assert stage.phase() is Phase.DEPLOYING

    said = stage.says(second, Ready(assignment=1))
    assert kinds(said, first) == kinds(said, second) == ["Begin"]
    assert stage.phase() is Phase.RUNNING


def test_ready_for_another_assignment_does_not_count() -> None:
    stage = Stage(workers=1)
    (only_one,) = stage.starts()

    stage.says(only_one, Ready(assignment=7))

    assert "Begin" not in kinds(stage.said, only_one)


def test_waiting_goes_on_as_long_as_workers_keep_coming() -> None:
    stage = Stage(workers=3, start_timeout_s=10)
    stage.happens(Launch())

    stage.passes(9)
    first = stage.comes(0)
    stage.passes(9, first)
    second = stage.comes(1)
    stage.passes(9, first, second)
    assert stage.phase() is Phase.STARTING

    stage.passes(1.5, first, second)
    stage.all_leave([first, second])

    text = failure(stage)
    assert "2 of 3 workers came (wanted 3), and no other within 10 s" in text
    assert "slots" in text


def test_with_min_workers_it_goes_on_with_fewer() -> None:
    stage = Stage(workers=4, min_workers=2, start_timeout_s=10)
    stage.happens(Launch())
    first, third = stage.comes(0), stage.comes(2)

    said = stage.passes(10, first, third)

    assert stops(said) == [(1, 1), (3, 1)]
    assert deploy(said, first).assignment.worker_of == {0: 0, 1: 2, 2: 0, 3: 2}
    assert "goes on with 2 of 4 workers" in stage.status().notices[-1]
    late = stage.comes(1)
    assert kinds(stage.said, late) == ["Refuse"]


def test_fewer_than_min_workers_is_a_failure_that_says_so() -> None:
    stage = Stage(workers=4, min_workers=2, start_timeout_s=10)
    stage.happens(Launch())
    first = stage.comes(0)

    said = stage.passes(10, first)
    assert kinds(said, first) == ["Stop"]
    assert stops(said) == [(1, 1), (2, 1), (3, 1)]
    stage.says(first, Left())

    assert "1 of 4 workers came (wanted 4, at least 2)" in failure(stage)


def test_a_worker_that_fell_silent_is_not_counted_on() -> None:
    stage = Stage(workers=2, min_workers=1, start_timeout_s=10, detection_s=3)
    stage.happens(Launch())
    silent = stage.comes(0)
    stage.passes(5)
    other = stage.comes(1)
    assert stage.phase() is Phase.STARTING

    said = stage.passes(10, other)

    assert kinds(said, silent) == ["Refuse"]
    assert stops(said) == [(0, 1)]
    assert set(deploy(said, other).assignment.worker_of.values()) == {1}


def test_a_worker_that_hangs_while_others_are_waited_for_is_started_anew() -> None:
    stage = Stage(workers=2, start_timeout_s=100, detection_s=3, restart_after_s=10)
    stage.happens(Launch())
    stage.comes(0)

    assert stops(stage.passes(14)) == [(0, 1)]
    assert starts(stage.host_ends(0)) == [(0, 2)]
    again, other = stage.comes(0, launch=2), stage.comes(1)

    assert kinds(stage.said, again) == kinds(stage.said, other) == ["Admit", "Deploy"]


def test_a_job_that_ends_before_its_worker_came_fails_the_start_with_the_remote_traceback() -> None:
    stage = Stage(workers=2)
    stage.happens(Launch())
    there = stage.comes(0)

    said = stage.host_ends(1, error="ModuleNotFoundError: No module named 'penstock'")
    stage.says(there, Left())

    assert kinds(said, there) == ["Stop"]
    assert "worker 1 ended before it had registered: ModuleNotFoundError" in failure(stage)


def test_a_worker_that_cannot_open_its_tasks_fails_the_start_with_its_traceback() -> None:
    stage = Stage(workers=2)
    first, second = stage.starts()

    stage.says(first, Fatal(traceback="Traceback: no such model"))
    stage.all_leave([first, second])

    text = failure(stage)
    assert "worker 0 on host-0" in text
    assert "Traceback: no such model" in text


def test_opening_tasks_may_take_its_time_and_need_not_speak() -> None:
    stage = Stage(workers=2, ready_timeout_s=100, detection_s=1)
    first, second = stage.starts()
    stage.says(first, Ready(assignment=1))

    stage.passes(99, first, busy=[second])
    assert stage.phase() is Phase.DEPLOYING

    stage.passes(1, first, busy=[second])
    stage.all_leave([first, second])
    assert "worker 1 on host-1 (pid 1001, generation 1) did not get its tasks open within 100 s" in failure(stage)


@pytest.mark.parametrize(
    ("about", "complaint"),
    [
        ({"penstock_version": "9.9"}, "worker 0 on host-0 has Penstock 9.9, and the driver"),
        ({"python_version": "3.99.1"}, "worker 0 on host-0 has Python 3.99.1, and the driver"),
    ],
)
def test_a_worker_of_another_version_fails_the_start(about: dict[str, Any], complaint: str) -> None:
    stage = Stage(workers=2)
    stage.happens(Launch())

    wrong = stage.comes(0, **about)

    assert kinds(stage.said, wrong) == ["Refuse"]
    assert complaint in failure(stage)


def test_another_patch_release_of_python_will_do() -> None:
    stage = Stage(workers=1)
    stage.happens(Launch())

    (there,) = [stage.comes(0, python_version=".".join([*PLAN.python_version.split(".")[:2], "99"]))]

    assert kinds(stage.said, there) == ["Admit", "Deploy"]


def test_a_worker_of_another_run_is_sent_away_and_nothing_else_happens() -> None:
    stage = Stage(workers=1)
    stage.happens(Launch())

    stranger = stage.comes(0, connection=b"stranger", run="run-2")

    assert kinds(stage.said, stranger) == ["Refuse"]
    assert stage.phase() is Phase.STARTING


@pytest.mark.parametrize("question", [AskStop(), AskDrain()])
def test_before_anything_flows_drain_and_stop_both_just_end(question: AskStop | AskDrain) -> None:
    stage = Stage(workers=2)
    stage.happens(Launch())
    there = stage.comes(0)

    said = stage.says(b"visitor", question)
    assert kinds(said, there) == ["Stop"]
    assert stops(said) == [(1, 1)]

    stage.says(there, Left())
    assert stage.finished().summary.status.phase is Phase.ENDED


def test_a_host_that_is_gone_fails_the_run() -> None:
    stage = Stage(workers=1)
    stage.happens(Launch())

    stage.happens(HostFailed(error="the SparkSession was stopped"))

    assert "no worker can be started any more: the SparkSession was stopped" in failure(stage, RunError)


class Broken:
    name: ClassVar[str] = "broken"

    def plan(self, request: PlanRequest) -> Assignment:  # noqa: ARG002
        message = "division by zero"
        raise ZeroDivisionError(message)


class Forgetful:
    name: ClassVar[str] = "forgetful"

    def plan(self, request: PlanRequest) -> Assignment:
        return Assignment(number=request.next_number, worker_of={0: 0})


@pytest.mark.parametrize(
    ("scheduler", "complaint"),
    [(Broken(), "scheduler 'broken' raised while it planned:\nTraceback"), (Forgetful(), "leaves out tasks: 1, 2, 3")],
)
def test_a_scheduler_that_fails_fails_the_start(scheduler: Broken | Forgetful, complaint: str) -> None:
    stage = Stage(msgspec.structs.replace(PLAN, scheduler=scheduler), workers=1)

    connections = stage.starts()
    stage.all_leave(connections)

    assert complaint in failure(stage)


@pytest.mark.parametrize(("workers", "fewest"), [(0, None), (2, 0), (2, 3)])
def test_impossible_numbers_of_workers_are_refused(workers: int, fewest: int | None) -> None:
    with pytest.raises(ValueError, match="workers must be"):
        ControlSettings(workers=workers, min_workers=fewest)


def test_a_second_word_of_introduction_changes_nothing() -> None:
    stage = Stage(workers=2)
    stage.happens(Launch())
    there = stage.comes(0)

    stage.comes(0)

    assert kinds(stage.said, there) == ["Admit"]
