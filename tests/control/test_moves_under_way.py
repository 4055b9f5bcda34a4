"""Tasks that move, as the controller decides it: what follows a loss, exactly once, and what is planned."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from penstock.control.events import Proposed
from penstock.control.moving import (
    AskRebalance,
    Moved,
    Prepare,
    Switch,
    TakeOver,
)
from penstock.control.peers import PeerGone
from penstock.control.protocol import (
    Deploy,
    LinkBroken,
    Ready,
    Report,
    TaskNotSaved,
)
from penstock.worker.resume import SpoutProgress
from tests.control.moving import asks, begun, commits, last, preparing
from tests.control.stage import PLAN, Stage, kinds, only, sent
from tests.control.test_rewinds import stage_of

# ---- after all have switched


def test_at_least_once_the_new_place_takes_over_from_a_dead_one() -> None:
    stage = Stage()
    first, second = stage.runs()
    stage.says(first, Report(at_ns=1, spouts=(SpoutProgress(task=0, position=b"\x05"),)))
    asks(stage, 0, 1)
    preparing(stage, first, second)
    late = SpoutProgress(task=0, position=b"\x00")
    stage.says(second, Report(at_ns=1, spouts=(late,)))
    said = stage.says(second, PeerGone(worker=0, generation=1))
    took = only(said, second, TakeOver)
    progress = SpoutProgress(task=0, position=b"\x05")
    assert took == TakeOver(task=0, worker=0, resume=progress), "as its old place had said"
    assert "TakeOver" not in kinds(stage.passes(1.0, second), second), "once will do"
    before = len(stage.said)
    back = stage.comes(0, attempt=1)
    deployed = only(stage.said[before:], back, Deploy)
    assert (deployed.assignment.number, deployed.assignment.worker_of[0]) == (2, 1)
    stage.says(second, Moved(assignment=2, task=0))
    assert last(stage).state == "done"


def test_at_least_once_a_dead_new_place_is_restarted_with_the_new_assignment() -> None:
    stage = Stage()
    first, second = stage.runs()
    asks(stage, 3, 0)
    preparing(stage, first, second)
    said = stage.says(second, PeerGone(worker=0, generation=1))
    assert "TakeOver" not in kinds(said, second)
    before = len(stage.said)
    back = stage.comes(0, attempt=1)
    assert only(stage.said[before:], back, Deploy).assignment.tasks_on(0) == (0, 2, 3)
    assert last(stage).state == "switched"
    stage.says(back, Ready(assignment=2))
    assert last(stage).state == "done"


# ---- exactly once


def test_exactly_once_a_move_begins_right_behind_a_commit() -> None:
    stage = stage_of(epoch_s=100.0)
    first, second = stage.runs()
    asks(stage, 3, 0)
    assert last(stage).reason == "an epoch has to be committed first"
    assert begun(stage.passes(0.25, first, second), first), "which does not wait for its time"
    said = commits(stage, first, second, 1)
    assert kinds(said, first) == ["Committed", "Prepare"]
    said = preparing(stage, first, second)
    assert only(said, first, Switch) == Switch(assignment=2)
    assert not begun(stage.passes(200.0, first, second), first), "as long as tasks are on their way"


def test_exactly_once_a_move_waits_if_the_last_epoch_was_given_up() -> None:
    stage = stage_of()
    first, second = stage.runs()
    commits(stage, first, second, 1)
    stage.passes(1.5, first, second)
    stage.says(first, not_saved(2))
    asks(stage, 3, 0)
    assert last(stage).reason == "an epoch has to be committed first"
    assert kinds(commits(stage, first, second, 3), first) == ["Committed", "Prepare"]


def not_saved(epoch: int) -> Any:
    return TaskNotSaved(assignment=1, task=3, epoch=epoch, reason="no space left")


@pytest.mark.parametrize("victim", [0, 1])
def test_exactly_once_everything_is_set_back_if_somebody_dies_in_the_middle(victim: int) -> None:
    stage = stage_of()
    connections = first, second = stage.runs()
    commits(stage, first, second, 1)
    asks(stage, 3, 0)
    preparing(stage, first, second)
    other = connections[1 - victim]
    said = stage.says(other, PeerGone(worker=victim, generation=1))
    (deployed,) = (message for message in sent(said, other) if isinstance(message, Deploy))
    assert (deployed.assignment.number, deployed.epoch) == (3, 1)
    assert deployed.assignment.workers() == (1 - victim,)
    assert last(stage).state == "set back"
    stage.says(other, Ready(assignment=3))
    assert begun(stage.passes(1.5, other), other), "it goes on"


def test_exactly_once_the_loss_of_a_place_that_gave_all_away_counts_until_it_has() -> None:
    stage = stage_of()
    first, second = stage.runs()
    commits(stage, first, second, 1)
    stage.happens(Proposed(worker_of={1: 0, 3: 0}, scheduler="even", why="one will do"))
    preparing(stage, first, second)
    stage.says(first, Moved(assignment=2, task=1))
    said = stage.says(first, PeerGone(worker=1, generation=1))
    assert "Deploy" in kinds(said, first), "task 3 was still there"


def test_exactly_once_what_was_moved_stays_where_it_is_when_all_is_set_back_and_nobody_is_gone() -> None:
    stage = stage_of()
    first, second = stage.runs()
    commits(stage, first, second, 1)
    asks(stage, 3, 0)
    preparing(stage, first, second)
    stage.says(first, Moved(assignment=2, task=3))
    said = stage.says(first, LinkBroken(lost_frames=2))
    assert only(said, first, Deploy).assignment.worker_of == {0: 0, 1: 1, 2: 0, 3: 0}


# ---- planned


def test_rebalance_moves_what_the_scheduler_in_use_puts_elsewhere() -> None:
    stage = Stage()
    first, second = stage.runs()
    stage.happens(Proposed(worker_of={1: 0, 3: 0}, scheduler="t-storm", why="one will do"))
    preparing(stage, first, second)
    for task in (1, 3):
        stage.says(first, Moved(assignment=2, task=task))
    before = len(stage.said)
    stage.says(b"operator", AskRebalance())
    assert only(stage.said[before:], first, Prepare).assignment.worker_of == {0: 0, 1: 1, 2: 0, 3: 1}
    assert (last(stage).by, last(stage).why) == ("even", "asked to plan anew")


def test_what_a_scheduler_proposes_in_vain_is_remembered() -> None:
    stage = Stage(msgspec.structs.replace(PLAN, pinned={0: "Spark feeds it"}))
    stage.runs()
    stage.happens(Proposed(worker_of={0: 1, 1: 0}, scheduler="mine", why="why not"))
    decision = last(stage)
    assert (decision.by, decision.state) == ("mine", "refused")
    assert decision.reason == "lines[0] (task 0) cannot move: Spark feeds it"


def test_exactly_once_an_old_place_that_dies_before_the_next_commit_may_take_something_with_it() -> None:
    stage = stage_of()
    first, second = stage.runs()
    commits(stage, first, second, 1)
    for number, task in enumerate((1, 3), 2):
        asks(stage, task, 0)
        preparing(stage, first, second, number=number)
        stage.says(first, Moved(assignment=number, task=task))
        assert last(stage).state == "done"
    said = stage.says(first, PeerGone(worker=1, generation=1))
    assert only(said, first, Deploy).epoch == 1, "what worker 1 had sent on before may not have come"
