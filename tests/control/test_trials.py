"""Trials: spout tasks take turns at emitting again what was lost, and epochs begin for them at once."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.control.peers import PeerGone
from penstock.control.protocol import BeginEpoch, BeginTrial, Ready, Trial
from penstock.control.trials import Trials
from penstock.plan.tasks import Task
from tests.control.stage import PLAN, Stage, kinds, only, sent

SPOUTS = 3


@given(st.lists(st.tuples(st.sampled_from("wof"), st.integers(0, SPOUTS - 1)), max_size=60))
def test_one_at_a_time_has_a_trial_and_everybody_who_wants_one_gets_it(steps: list[tuple[str, int]]) -> None:
    trials = Trials()
    wants: list[int] = []
    holder: int | None = None
    for step, task in steps:
        worker = 10 + task
        if step == "w":
            trials.wanted(task, worker)
            wants += [task] if task not in wants else []
        elif step == "o":
            trials.over(task, worker)
            holder = None if holder == task else holder
        else:
            trials.forget(worker)
            wants = [one for one in wants if one != task]
            holder = None if holder == task else holder
        begun = trials.begin()
        if holder is None and wants:
            holder = wants.pop(0)
            assert begun == (holder, 10 + holder)
        else:
            assert begun is None


def two_spouts() -> tuple[Stage, list[bytes]]:
    tasks = (
        Task(id=0, component="a", index=0, kind="spout"),
        Task(id=1, component="b", index=0, kind="spout"),
        Task(id=2, component="c", index=0, kind="bolt"),
        Task(id=3, component="d", index=0, kind="bolt"),
    )
    stage = Stage(msgspec.structs.replace(PLAN, tasks=tasks, edges=()))
    return stage, stage.runs()


def test_two_spout_tasks_take_turns() -> None:
    stage, (first, second) = two_spouts()
    assert sent(stage.says(first, Trial(task=0, stage="wanted")), first) == [BeginTrial(task=0)]
    assert sent(stage.says(second, Trial(task=1, stage="wanted")), second) == []
    assert sent(stage.says(first, Trial(task=0, stage="wanted")), first) == [], "it wants another one after this"
    said = stage.says(first, Trial(task=0, stage="over"))
    assert sent(said, second) == [BeginTrial(task=1)]
    stage.says(second, Trial(task=1, stage="over"))
    assert sent(stage.said, first)[-2:] == [BeginTrial(task=0)] * 2


@pytest.mark.parametrize("waits", [True, False])
def test_a_spout_task_whose_worker_dies_has_no_trial_any_more(waits: bool) -> None:
    stage, (first, second) = two_spouts()
    holder, other = ((second, 1), (first, 0)) if waits else ((first, 0), (second, 1))
    stage.says(holder[0], Trial(task=holder[1], stage="wanted"))
    stage.says(other[0], Trial(task=other[1], stage="wanted"))
    said = stage.says(second, PeerGone(worker=0, generation=1))
    if waits:
        assert sent(stage.says(second, Trial(task=1, stage="over")), second) == []
        assert sent(stage.says(second, Trial(task=1, stage="wanted")), second) == [BeginTrial(task=1)]
    else:
        assert sent(said, second)[-1] == BeginTrial(task=1)


def test_what_a_worker_says_of_a_task_that_it_does_not_have_is_ignored() -> None:
    stage, (first, second) = two_spouts()
    assert sent(stage.says(first, Trial(task=1, stage="wanted")), first) == []
    assert sent(stage.says(second, Trial(task=1, stage="wanted")), second) == [BeginTrial(task=1)]


def test_an_epoch_begins_as_soon_as_a_trial_is_emitted() -> None:
    stage, (first, second) = two_spouts()
    stage.passes(1.25, first, second)
    stage.says(first, Trial(task=0, stage="wanted"))
    for epoch in (2, 3):
        said = stage.says(first, Trial(task=0, stage="emitted"))
        assert [only(said, connection, BeginEpoch).epoch for connection in (first, second)] == [epoch, epoch]


def test_an_epoch_begins_when_a_worker_is_back() -> None:
    stage, (_, second) = two_spouts()
    newer = stage.comes(0, attempt=1)
    stage.says(newer, Ready(assignment=1))
    said = stage.passes(0.25, newer, second)
    assert "BeginEpoch" in kinds(said, newer)
    assert "BeginEpoch" in kinds(said, second)
