"""Workers that are released because they have nothing to do, and workers that are asked for again."""

from __future__ import annotations

import pytest

from penstock.control.events import EpochCommitted, Proposed, WorkersWanted
from penstock.control.instructions import HoldSlots, Instruction
from penstock.control.moving import Moved, Prepare
from penstock.control.peers import PeerChanged, PeerGone
from penstock.control.protocol import AskDrain, Deploy, Ended, Left, Ready, Refuse
from penstock.control.settings import ControlSettings
from penstock.control.status import Phase
from tests.control.moving import asks, begun, commits, last, preparing
from tests.control.stage import Stage, kinds, only, starts, stops
from tests.control.test_rewinds import save_all, stage_of


def held(said: list[Instruction]) -> list[int]:
    return [one.count for one in said if isinstance(one, HoldSlots)]


def consolidated(stage: Stage) -> list[bytes]:
    """All tasks are on worker 0, and worker 1 has none."""
    connections = first, second = stage.runs()
    if stage.settings.delivery == "exactly_once":
        commits(stage, first, second, 1)
    stage.happens(Proposed(worker_of={1: 0, 3: 0}, scheduler="t-storm", why="one will do"))
    preparing(stage, first, second)
    stage.says(second, Ended(assignment=2))  # it has sent what it had, and does not know that it has come
    for task in (1, 3):
        stage.says(first, Moved(assignment=2, task=task))
    if stage.settings.delivery == "exactly_once":  # which proves that all came that worker 1 has sent
        commits(stage, first, second, 2, assignment=2)
    return connections


def released(stage: Stage) -> bytes:
    """Worker 1 is released and gone; returns the connection of worker 0."""
    first, second = consolidated(stage)
    passes(stage, 31.0, first, second)
    stage.says(second, Left())
    stage.host_ends(1)
    assert stage.status().workers[1].state == "released"
    return first


def passes(stage: Stage, seconds: float, *alive: bytes) -> list[Instruction]:
    """Time passes; epochs are committed as they are begun."""
    before = len(stage.said)
    for _ in range(round(seconds)):
        for epoch in begun(stage.passes(1.0, *alive), alive[0]):
            if stage.settings.delivery == "exactly_once":
                save_all(stage, alive[0], epoch.epoch, assignment=stage.status().assignment or 0)
                stage.happens(EpochCommitted(epoch=epoch.epoch))
    return stage.said[before:]


@pytest.fixture(params=["at_least_once", "exactly_once"])
def stage(request: pytest.FixtureRequest) -> Stage:
    return stage_of() if request.param == "exactly_once" else Stage()


def test_who_has_no_tasks_is_released_after_a_while(stage: Stage) -> None:
    first, second = consolidated(stage)
    assert "Stop" not in kinds(passes(stage, 29.0, first, second), second)
    said = passes(stage, 2.0, first, second)
    assert "Stop" in kinds(said, second)
    assert stops(said) == []
    assert kinds(stage.says(second, Left()), second) == [], "a last word needs no answer"
    assert held(stage.host_ends(1)) == [1], "its slot is Spark's again"
    said = passes(stage, 200.0, first)
    assert (starts(said), stops(said)) == ([], [])
    assert stage.phase() is Phase.RUNNING, "it is not missed"


def test_who_does_not_leave_is_ended_by_force(stage: Stage) -> None:
    first, second = consolidated(stage)
    passes(stage, 31.0, first, second)
    assert stops(passes(stage, 11.0, first)) == [(1, 1)]
    said = stage.host_ends(1, error="cancelled")
    assert (starts(said), held(said)) == ([], [1])


def test_who_gets_tasks_in_time_stays(stage: Stage) -> None:
    first, second = consolidated(stage)
    passes(stage, 20.0, first, second)
    asks(stage, 3, 1)
    preparing(stage, first, second, number=3)
    stage.says(second, Moved(assignment=3, task=3))
    assert last(stage).state == "done"
    assert "Stop" not in kinds(passes(stage, 40.0, first, second), second)


def test_a_released_worker_is_asked_for_again_and_is_a_place_for_tasks(stage: Stage) -> None:
    first = released(stage)
    assert "it was released" in asks(stage, 3, 1).reason
    late = stage.comes(1, attempt=7)
    assert "worker 1 was released" in only(stage.said, late, Refuse).reason

    said = stage.happens(WorkersWanted(count=1, why="worker 0 is overloaded"))
    assert (starts(said), held(said)) == ([(1, 2)], [2])
    before = len(stage.said)
    back = stage.comes(1, launch=2)
    said = stage.said[before:]
    assert only(said, back, Deploy).assignment.tasks_on(1) == ()
    assert only(said, first, PeerChanged).peer.generation == 2
    assert "Deploy" not in kinds(said, first), "nobody is disturbed"
    number = stage.status().assignment
    assert number is not None
    assert kinds(stage.says(back, Ready(assignment=number)), back) == ["Begin"]
    stage.says(back, Ended(assignment=number))

    before = len(stage.said)
    asks(stage, 3, 1)
    assert only(stage.said[before:], back, Prepare).assignment.worker_of[3] == 1


def test_more_than_at_the_start_come_if_they_may() -> None:
    stage = Stage(max_workers=3)
    stage.runs()
    said = stage.happens(WorkersWanted(count=5, why="all are overloaded"))
    assert (starts(said), held(said)) == ([(2, 1)], [3])
    assert starts(stage.happens(WorkersWanted(count=1, why="still"))) == []
    with pytest.raises(ValueError, match="max_workers must be at least workers=2, got 1"):
        ControlSettings(workers=2, max_workers=1)


@pytest.mark.parametrize("how", ["no room", "its job fails"])
def test_who_is_asked_for_and_does_not_come_is_given_up(stage: Stage, how: str) -> None:
    first = released(stage)
    stage.happens(WorkersWanted(count=1, why="worker 0 is overloaded"))
    if how == "no room":
        said = passes(stage, 61.0, first)
        assert stops(said) == [(1, 2)]
    said = stage.host_ends(1, launch=2, error="cancelled")
    assert (starts(said), held(said)) == ([], [1])
    assert "worker 1 was asked for, and is given up" in " ".join(stage.status().notices)
    assert stage.status().workers[1].state == "released"
    assert starts(stage.happens(WorkersWanted(count=1, why="once more"))) == [(1, 3)]


def test_a_run_ends_without_those_that_were_released() -> None:
    stage = Stage()
    first = released(stage)
    stage.says(b"operator", AskDrain())
    said = stage.says(first, Ended(assignment=2))
    assert kinds(said, first) == ["Stop"]
    stage.says(first, Left())
    assert stage.finished().summary.status.workers[1].state == "released"


def test_the_loss_of_an_idle_worker_costs_nothing(stage: Stage) -> None:
    first, _ = consolidated(stage)
    said = stage.says(first, PeerGone(worker=1, generation=1))
    assert "Deploy" not in kinds(said, first)
    before = len(stage.said)
    back = stage.comes(1, attempt=1)
    assert kinds(stage.said[before:], back) == ["Admit", "Deploy"]


def test_more_workers_than_tasks_start_and_are_released() -> None:
    stage = Stage(workers=6)
    connections = stage.runs()
    idle = [worker.worker for worker in stage.status().workers if not worker.tasks]
    assert len(idle) == 2
    for worker in idle:
        stage.says(connections[worker], Ended(assignment=1))
    assert stage.phase() is Phase.RUNNING
    stage.passes(31.0, *connections)
    assert [worker.worker for worker in stage.status().workers if worker.state == "released"] == idle
    for worker in {*range(6)} - {*idle}:
        stage.says(connections[worker], Ended(assignment=1))
    assert stage.phase() is Phase.STOPPING
