"""Exactly once, as the controller decides it: epochs, what follows a loss, and the end."""

from __future__ import annotations

import datetime
from typing import Any

import msgspec
import pytest

from penstock.checkpoint.manifest import Manifest, PartRef, SavedTask
from penstock.checkpoint.shape import SavedComponent, SavedShape
from penstock.control.checkpointing import Checkpointing
from penstock.control.events import EpochCommitted, EpochNotCommitted
from penstock.control.instructions import CommitEpoch, Fail, Instruction
from penstock.control.peers import PeerGone
from penstock.control.protocol import AskDrain, BeginEpoch, Deploy, Ended, Left, Ready, Report, TaskNotSaved, TaskSaved
from penstock.control.status import Phase
from penstock.plan.tasks import Task
from penstock.worker.resume import SpoutProgress
from tests.control.stage import PLAN, TASKS, Stage, kinds, sent, stops

SHAPE = SavedShape(
    topology="wordcount",
    components=(
        SavedComponent(name="lines", kind="spout"),
        SavedComponent(name="split", kind="bolt", tasks=2),
        SavedComponent(name="count", kind="keyed"),
    ),
)


def stage_of(workers: int = 2, *, epoch_s: float = 1.0, **settings: Any) -> Stage:
    plan = msgspec.structs.replace(PLAN, checkpoint_url="file:///there", shape=SHAPE)
    return Stage(plan, workers=workers, delivery="exactly_once", epoch_every_s=epoch_s, **settings)


def epochs(said: list[Instruction], connection: bytes) -> list[int]:
    return [message.epoch for message in sent(said, connection) if isinstance(message, BeginEpoch)]


def deploys(said: list[Instruction], connection: bytes) -> list[Deploy]:
    return [message for message in sent(said, connection) if isinstance(message, Deploy)]


def saved_task(task: int, *, ended: bool = False) -> SavedTask:
    part = PartRef(path=f"part-{task}", size_bytes=1, checksum="")
    one = TASKS[task]
    return SavedTask(
        component=one.component,
        index=one.index,
        ended=ended,
        position=b"\x07" if one.kind == "spout" and not ended else None,
        parts=(part,) if one.component == "count" else (),
    )


def save_all(stage: Stage, connection: bytes, epoch: int, *, assignment: int = 1, ended: bool = False) -> Manifest:
    before = len(stage.said)
    for task in TASKS:
        stage.says(
            connection,
            TaskSaved(assignment=assignment, task=task.id, epoch=epoch, saved=saved_task(task.id, ended=ended)),
        )
    (commit,) = (said for said in stage.said[before:] if isinstance(said, CommitEpoch))
    return commit.manifest


def test_what_was_found_out_before_the_start_is_among_the_notices() -> None:
    plan = msgspec.structs.replace(PLAN, notices=("epoch 4 was never committed",))
    assert Stage(plan, workers=1).status().notices == ("epoch 4 was never committed",)


def test_epochs_follow_each_other_and_never_overlap() -> None:
    stage = stage_of()
    first, second = stage.runs()
    said = stage.passes(3.0, first, second)
    assert epochs(said, first) == epochs(said, second) == [1], "the next one waits for the commit"

    manifest = save_all(stage, first, 1)
    assert (manifest.epoch, manifest.finished, len(manifest.tasks)) == (1, False, len(TASKS))
    assert epochs(stage.passes(2.0, first, second), first) == []
    said = stage.happens(EpochCommitted(epoch=1))
    assert kinds(said, first) == kinds(said, second) == ["Committed"]
    said = stage.passes(1.5, first, second)
    assert epochs(said, first) == [2]
    (begun,) = (message for message in sent(said, first) if isinstance(message, BeginEpoch))
    assert begun.committed == 1


def test_after_a_loss_everything_goes_on_from_the_last_epoch_on_who_is_left() -> None:
    stage = stage_of(workers=3)
    first, second, third = stage.runs()
    stage.passes(1.5, first, second, third)
    save_all(stage, first, 1)
    stage.happens(EpochCommitted(epoch=1))

    said = stage.says(first, PeerGone(worker=1, generation=1))
    for connection in (first, third):
        (again,) = deploys(said, connection)
        assert again.assignment.number == 2
        assert again.assignment.workers() == (0, 2)
        assert again.epoch == 1
        mine = again.assignment.tasks_on(0 if connection == first else 2)
        assert {restore.task for restore in again.restore} == set(mine)
        assert [restore.position for restore in again.restore if restore.task == 0] in ([], [b"\x07"])
    assert kinds(stage.says(first, Ready(assignment=2)), first) == []
    said = stage.says(third, Ready(assignment=2))
    assert kinds(said, first) == kinds(said, third) == ["Begin"]
    assert stage.phase() is Phase.RUNNING


def test_who_comes_back_during_a_commit_is_given_tasks_first() -> None:
    stage = stage_of(workers=2)
    first, second = stage.runs()
    stage.passes(1.5, first, second)
    save_all(stage, first, 1)
    stage.says(first, PeerGone(worker=1, generation=1))  # nobody knows yet what everything is set back to
    again = stage.comes(1, attempt=1)

    said = stage.happens(EpochCommitted(epoch=1))

    assert kinds(said, again) == ["Deploy"]
    assert kinds(said, first) == ["Committed", "Deploy"]


def test_what_was_saved_before_a_rewind_is_of_no_use_after_it() -> None:
    stage = stage_of(workers=2)
    first, second = stage.runs()
    stage.passes(1.5, first, second)
    stage.says(first, PeerGone(worker=1, generation=1))
    stage.says(first, Ready(assignment=2))
    for task in TASKS:
        late = TaskSaved(assignment=1, task=task.id, epoch=1, saved=saved_task(task.id))
        assert not [said for said in stage.says(first, late) if isinstance(said, CommitEpoch)]
    assert epochs(stage.passes(2.0, first), first) == [2]


def test_a_worker_that_comes_back_gets_tasks_at_the_next_commit() -> None:
    stage = stage_of(workers=2)
    first, _ = stage.runs()
    stage.says(first, PeerGone(worker=1, generation=1))
    stage.says(first, Ready(assignment=2))
    before = len(stage.said)
    back = stage.comes(1, attempt=1)
    assert kinds(stage.said[before:], back) == ["Admit"]
    stage.passes(1.5, first, back)
    save_all(stage, first, 1, assignment=2)
    said = stage.happens(EpochCommitted(epoch=1))
    for connection in (first, back):
        (again,) = deploys(said, connection)
        assert again.assignment.workers() == (0, 1)
        assert (again.assignment.number, again.epoch) == (3, 1)


def test_a_spout_that_had_ended_has_not_when_everything_is_set_back_to_before_its_end() -> None:
    stage = stage_of(workers=2)
    first, _ = stage.runs()
    stage.says(first, Report(at_ns=1, spouts=(SpoutProgress(task=0, ended=True),)))
    (again,) = deploys(stage.says(first, PeerGone(worker=1, generation=1)), first)
    assert again.resume == (), "it goes on from the checkpoint, and from nothing else"


def test_a_loss_while_everything_is_set_back_sets_it_back_again() -> None:
    stage = stage_of(workers=3)
    first, _, _ = stage.runs()
    stage.says(first, PeerGone(worker=1, generation=1))
    said = stage.says(first, PeerGone(worker=2, generation=1))
    (again,) = deploys(said, first)
    assert (again.assignment.number, again.assignment.workers()) == (3, (0,))
    assert kinds(stage.says(first, Ready(assignment=2)), first) == []
    assert kinds(stage.says(first, Ready(assignment=3)), first) == ["Begin"]


def test_a_rewind_waits_until_it_is_known_whether_an_epoch_counts() -> None:
    stage = stage_of(workers=2)
    first, second = stage.runs()
    stage.passes(1.5, first, second)
    save_all(stage, first, 1)
    assert deploys(stage.says(first, PeerGone(worker=1, generation=1)), first) == []
    (again,) = deploys(stage.happens(EpochCommitted(epoch=1)), first)
    assert again.epoch == 1


def test_an_epoch_that_cannot_be_saved_or_committed_is_given_up_and_the_next_tried() -> None:
    stage = stage_of()
    first, second = stage.runs()
    stage.passes(1.5, first, second)
    stage.says(first, TaskNotSaved(assignment=1, task=3, epoch=1, reason="no space left"))
    assert epochs(stage.passes(1.5, first, second), first) == [2]
    save_all(stage, first, 2)
    stage.happens(EpochNotCommitted(epoch=2, reason="no space left either"))
    assert epochs(stage.passes(1.5, first, second), first) == [3]
    notices = " ".join(stage.status().notices)
    assert "epoch 1 could not be saved, the next one is tried: no space left" in notices
    assert "epoch 2 could not be committed, the next one is tried: no space left either" in notices


def test_the_end_is_committed_before_anybody_leaves() -> None:
    stage = stage_of()
    first, second = stage.runs()
    before = len(stage.said)
    stage.says(first, Ended(assignment=1))
    stage.says(second, Ended(assignment=1))
    assert epochs(stage.said[before:], first) == [1]
    assert stage.phase() is Phase.RUNNING
    manifest = save_all(stage, first, 1, ended=True)
    assert manifest.finished
    said = stage.happens(EpochCommitted(epoch=1))
    assert kinds(said, first) == ["Committed", "Stop"]
    stage.all_leave([first, second])
    assert stage.finished().summary.status.phase is Phase.ENDED


def test_the_last_epoch_is_not_tried_again_at_once_when_it_has_failed() -> None:
    stage = stage_of()
    first, second = stage.runs()
    stage.says(first, Ended(assignment=1))
    stage.says(second, Ended(assignment=1))
    save_all(stage, first, 1, ended=True)
    assert epochs(stage.happens(EpochNotCommitted(epoch=1, reason="the disk is full")), first) == []
    assert epochs(stage.passes(1.5, first, second), first) == [2]


def test_a_run_whose_checkpoint_was_taken_by_another_fails() -> None:
    stage = stage_of()
    first, second = stage.runs()
    stage.passes(1.5, first, second)
    save_all(stage, first, 1)
    said = stage.happens(EpochNotCommitted(epoch=1, reason="got that of run 'heir'", taken=True))
    assert kinds(said, first) == ["Stop"]
    for worker, connection in enumerate((first, second)):
        stage.says(connection, Left())
        said += stage.host_ends(worker)
    (failed,) = [one for one in stage.said if isinstance(one, Fail)]
    assert "the checkpoint is another run's now: got that of run 'heir'" in str(failed.error)


def test_a_drained_run_ends_with_an_epoch_so_that_nothing_is_lost_if_somebody_dies() -> None:
    stage = stage_of()
    first, second = stage.runs()
    stage.says(b"operator", AskDrain())
    (begun,) = [one for one in sent(stage.passes(0.1, first, second), first) if isinstance(one, BeginEpoch)]
    assert begun.last
    said = stage.says(first, PeerGone(worker=1, generation=1))
    assert len(deploys(said, first)) == 1
    assert kinds(stage.says(first, Ready(assignment=2)), first) == ["Begin"], "it emits again what was taken back"
    (again,) = [one for one in sent(stage.passes(1.5, first), first) if isinstance(one, BeginEpoch)]
    assert again.last


def test_when_nobody_is_left_the_next_one_to_come_begins() -> None:
    stage = stage_of(workers=1)
    stage.runs()
    stage.host_ends(0, error="killed")
    before = len(stage.said)
    back = stage.comes(0, launch=2)
    (again,) = deploys(stage.said[before:], back)
    assert again.assignment.number == 2


def test_an_attempt_of_a_job_that_is_being_ended_gets_no_tasks_that_it_would_take_with_it() -> None:
    stage = stage_of(workers=2)
    first, _ = stage.runs()
    assert stops(stage.passes(8, first)) == [(1, 1)], "the second is silent, and its job is asked to end"
    stage.comes(1, attempt=7)  # Spark had restarted the task meanwhile; this process ends with the job
    stage.host_ends(0, error="killed")
    stage.host_ends(1)

    back = stage.comes(1, launch=2)
    assignment = deploys(stage.said, back)[-1].assignment.number
    assert kinds(stage.says(back, Ready(assignment=assignment)), back) == ["Begin"]


@pytest.mark.parametrize(("old", "new"), [(2, 3), (3, 2), (1, 4)])
def test_keys_are_shared_out_anew_over_another_number_of_tasks(old: int, new: int) -> None:
    before = tuple(
        SavedTask(
            component="count",
            index=index,
            parts=(PartRef(path=f"part-{index}", size_bytes=1, checksum=""),),
        )
        for index in range(old)
    )
    start = Manifest(epoch=5, run="r", created_at=datetime.datetime.now(datetime.UTC), shape=SHAPE, tasks=before)
    tasks = tuple(Task(id=index, component="count", index=index, kind="bolt") for index in range(new))
    checkpointing = Checkpointing(run="r", tasks=tasks, shape=SHAPE, every_s=1.0, start=start)
    for index, restore in enumerate(checkpointing.restores()):
        assert restore.share == (index, new)
        assert [part.path for (part,) in restore.parts] == [f"part-{index}" for index in range(old)]
    assert checkpointing.committed == 5
