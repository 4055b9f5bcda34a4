"""Tasks that move, as the controller decides it: who is asked, and when all switch."""

from __future__ import annotations

import re
from typing import Any

import msgspec
import pytest

from penstock.control.events import Proposed
from penstock.control.instructions import Instruction, SendTo
from penstock.control.moving import (
    Abandon,
    Decided,
    Moved,
    NotPrepared,
    Prepare,
    Switch,
)
from penstock.control.peers import PeerGone
from penstock.control.protocol import (
    AskDrain,
    Deploy,
    Drain,
    Ended,
    Left,
    NotNow,
    Ready,
)
from penstock.control.status import Phase
from tests.control.moving import asks, commits, last, preparing
from tests.control.stage import PLAN, Stage, kinds, only, sent
from tests.control.test_rewinds import stage_of

# Where the even scheduler puts the tasks of PLAN on two workers: 0 and 2 on worker 0, 1 and 3 on worker 1.
FIRST, SECOND = b"0/1/0", b"1/1/0"


def test_a_task_moves_when_all_have_prepared() -> None:
    stage = Stage()
    first, second = stage.runs()
    before = len(stage.said)
    assert asks(stage, "count[0]", 0) == Decided(decision=1)
    for connection in (first, second):
        prepare = only(stage.said[before:], connection, Prepare)
        assert prepare.assignment.number == 2
        assert prepare.assignment.worker_of[3] == 0
        assert {peer.worker for peer in prepare.peers} == {0, 1}
        assert prepare.tasks == PLAN.tasks
    assert stage.status().assignment == 1, "until all have switched nothing has happened"
    assert preparing(stage, first) == []

    said = preparing(stage, second)
    assert only(said, first, Switch) == only(said, second, Switch) == Switch(assignment=2)
    assert (stage.status().assignment, last(stage).state) == (2, "switched")
    assert 3 in stage.status().workers[0].tasks

    stage.says(second, Moved(assignment=2, task=3))
    assert last(stage).state == "switched", "that is its old place, and cannot know"
    stage.now_s += 1.0
    stage.says(first, Moved(assignment=2, task=3))
    done = last(stage)
    assert (done.state, done.by, done.took_s) == ("done", "you", 1.0)
    assert [(move.task, move.source, move.target) for move in done.moves] == [(3, 1, 0)]


@pytest.mark.parametrize(
    ("task", "worker", "reason"),
    [
        (9, 0, "there is no task 9"),
        ("count[1]", 0, r"there is no task 'count\[1\]'; there are lines\[0\], split\[0\], split\[1\], count\[0\]"),
        ("lines[0]", 1, r"lines\[0\] \(task 0\) cannot move: Spark feeds it"),
        (3, 7, r"count\[0\] cannot move to worker 7: this run has no such worker"),
    ],
)
def test_what_cannot_be_is_refused_with_the_reason(task: int | str, worker: int, reason: str) -> None:
    stage = Stage(msgspec.structs.replace(PLAN, pinned={0: "Spark feeds it"}))
    stage.runs()
    answer = asks(stage, task, worker)
    assert isinstance(answer, NotNow)
    assert re.search(reason, answer.reason)
    assert not [one for one in stage.said if isinstance(one, SendTo) and isinstance(one.message, Prepare)]


def test_a_worker_that_is_not_there_gets_nothing() -> None:
    stage = Stage(workers=3)
    first, second, _ = stage.runs()
    stage.says(first, PeerGone(worker=2, generation=1))
    assert "count[0] cannot move to worker 2: it is not there" in asks(stage, 3, 2).reason
    assert asks(stage, 1, 0) == Decided(decision=2), "others can, later"
    assert (last(stage).state, last(stage).reason) == ("waiting", "worker 2 is being restarted")
    back = stage.comes(2, attempt=1)
    said = stage.says(back, Ready(assignment=1))
    for connection in (first, second, back):
        assert kinds(said, connection)[-1] == "Prepare"


def test_where_a_task_is_already_nothing_happens() -> None:
    stage = Stage()
    stage.runs()
    before = len(stage.said)
    asks(stage, 3, 1)
    assert last(stage).state == "done"
    assert not [one for one in stage.said[before:] if isinstance(one, SendTo) and isinstance(one.message, Prepare)]


def dies(stage: Stage) -> list[Instruction]:
    return stage.says(FIRST, PeerGone(worker=1, generation=1))


def leaves(stage: Stage) -> list[Instruction]:
    return stage.says(SECOND, Left(reason="told to"))


def falls_silent(stage: Stage) -> list[Instruction]:
    return stage.passes(1.5, FIRST)


def cannot(stage: Stage) -> list[Instruction]:
    return stage.says(SECOND, NotPrepared(assignment=2, reason="no space left"))


def is_slow(stage: Stage) -> list[Instruction]:
    return stage.passes(60.5, FIRST, SECOND)


def is_replaced(stage: Stage) -> list[Instruction]:
    before = len(stage.said)
    stage.comes(1, attempt=1)
    return stage.said[before:]


def drains(stage: Stage) -> list[Instruction]:
    return stage.says(b"operator", AskDrain())


@pytest.mark.parametrize(
    ("trouble", "reason"),
    [
        (dies, "worker 1 was lost"),
        (leaves, "worker 1 was lost"),
        (falls_silent, r"worker 1 on host-1 \(pid 1001, generation 1\) is silent"),
        (cannot, "worker 1 on host-1 .* cannot prepare: no space left"),
        (is_slow, "not prepared within 60 s: worker 1"),
        (is_replaced, "worker 1 was lost"),
        (drains, "tasks move while a run is running, and this one is draining"),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
@pytest.mark.parametrize("exactly_once", [False, True])
def test_before_all_have_prepared_nothing_has_happened(trouble: Any, reason: str, exactly_once: bool) -> None:
    stage = stage_of(restart_after_s=60.0) if exactly_once else Stage(restart_after_s=60.0)
    first, second = stage.runs()
    if exactly_once:
        commits(stage, first, second, 1)
    asks(stage, 3, 0)
    preparing(stage, first)
    said = trouble(stage)
    assert only(said, first, Abandon) == Abandon(assignment=2)
    decision = last(stage)
    assert decision.state == "abandoned"
    assert decision.reason is not None
    assert re.search(reason, decision.reason)
    if exactly_once:
        assert all(deployed.assignment.number > 2 for deployed in sent(said, first) if isinstance(deployed, Deploy))
    else:
        assert stage.status().assignment == 1
    said = preparing(stage, second)
    assert not [message for message in sent(said, first) if isinstance(message, Switch)], "too late"


def test_a_number_is_never_used_again() -> None:
    stage = Stage()
    first, second = stage.runs()
    asks(stage, 3, 0)
    stage.says(first, NotPrepared(assignment=2, reason="no"))
    before = len(stage.said)
    asks(stage, 3, 0)
    assert only(stage.said[before:], first, Prepare).assignment.number == 3
    preparing(stage, first, second, number=2)
    assert stage.status().assignment == 1, "what was prepared is another assignment"
    preparing(stage, first, second, number=3)
    assert stage.status().assignment == 3


def test_one_moves_at_a_time_and_what_schedulers_want_replaces_what_they_wanted() -> None:
    stage = Stage()
    first, second = stage.runs()
    asks(stage, 3, 0)
    said = stage.happens(Proposed(worker_of={1: 0}, scheduler="even", why="less traffic"))
    said += stage.happens(Proposed(worker_of={2: 1}, scheduler="even", why="even less traffic"))
    assert asks(stage, 0, 1) == Decided(decision=4)
    assert "Prepare" not in kinds(said, first)
    states = [(one.state, one.why) for one in stage.status().decisions[1:3]]
    assert states == [("replaced", "less traffic"), ("waiting", "even less traffic")]
    preparing(stage, first, second)
    said = stage.says(first, Moved(assignment=2, task=3))
    assert only(said, first, Prepare).assignment == msgspec.structs.replace(
        only(said, second, Prepare).assignment, worker_of={0: 0, 1: 1, 2: 1, 3: 0}
    )
    preparing(stage, first, second, number=3)
    said = stage.says(second, Moved(assignment=3, task=2))
    assert only(said, first, Prepare).assignment.worker_of == {0: 1, 1: 1, 2: 1, 3: 0}


def test_at_least_once_epochs_begin_whatever_moves() -> None:
    stage = Stage(epoch_every_s=1.0)
    first, second = stage.runs()
    stage.passes(1.5, first, second)
    asks(stage, 3, 0)
    assert "BeginEpoch" in kinds(stage.passes(1.5, first, second), first)
    preparing(stage, first, second)
    assert last(stage).state == "switched"
    assert "BeginEpoch" in kinds(stage.passes(1.5, first, second), first)


def test_who_drains_in_the_middle_of_a_move_ends_behind_it() -> None:
    stage = Stage()
    first, second = stage.runs()
    asks(stage, 3, 0)
    preparing(stage, first, second)
    assert "Drain" not in kinds(stage.says(b"operator", AskDrain()), first)
    said = stage.says(first, Moved(assignment=2, task=3))
    assert only(said, first, Drain) == only(said, second, Drain)
    assert "this one is draining" in asks(stage, 3, 1).reason


def test_all_say_again_that_they_have_ended_under_the_new_assignment() -> None:
    stage = Stage()
    first, second = stage.runs()
    stage.says(second, Ended(assignment=1))
    asks(stage, 3, 0)
    preparing(stage, first, second)
    stage.says(first, Ended(assignment=1))
    assert [worker.state for worker in stage.status().workers] == ["begun", "begun"]
    stage.says(first, Moved(assignment=2, task=3))
    stage.says(first, Ended(assignment=2))
    assert stage.phase() is Phase.RUNNING
    said = stage.says(second, Ended(assignment=2))
    assert kinds(said, first) == kinds(said, second) == ["Stop"]
