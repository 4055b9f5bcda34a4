"""Another number of tasks, as the controller decides it."""

from __future__ import annotations

import msgspec
import pytest

from penstock.control.events import EpochCommitted, Proposed
from penstock.control.instructions import CommitEpoch, SendTo
from penstock.control.metrics import TaskCounts
from penstock.control.moving import AskScale, Moved, Prepare, TakeOver
from penstock.control.peers import PeerGone
from penstock.control.protocol import Deploy, NotNow, Ready, Report, TaskSaved
from penstock.plan.tasks import Task
from tests.control.moving import commits, last, preparing
from tests.control.stage import PLAN, TASKS, Stage, only
from tests.control.test_rewinds import saved_task, stage_of

NEW = tuple(Task(id=4 + index, component="count", index=index, kind="bolt") for index in range(3))


def scales(stage: Stage, component: str = "count", tasks: int = 3) -> None:
    stage.says(b"operator", AskScale(component=component, tasks=tasks))


def test_all_tasks_of_the_bolt_are_new_and_all_others_stay() -> None:
    stage = Stage()
    first, second = stage.runs()
    stage.says(second, Report(at_ns=1, tasks=(TaskCounts(task=3, processed=10, redirected=7),)))
    before = len(stage.said)
    scales(stage)
    prepare = only(stage.said[before:], first, Prepare)
    assert prepare.tasks == (*TASKS[:3], *NEW)
    places = prepare.assignment.worker_of
    assert {task: places[task] for task in (0, 1, 2)} == {0: 0, 1: 1, 2: 0}
    assert places.keys() == {0, 1, 2, 4, 5, 6}

    preparing(stage, first, second)
    connections = (first, second)
    for task in NEW:
        assert last(stage).state == "switched"
        stage.says(connections[places[task.id]], Moved(assignment=2, task=task.id))
    done = last(stage)
    assert (done.state, done.why) == ("done", "asked for 3 tasks of 'count'")
    assert [(move.task, move.source) for move in done.moves] == [(3, 1), (4, None), (5, None), (6, None)]

    stage.says(first, Report(at_ns=2, tasks=(TaskCounts(task=4, processed=5, redirected=2),)))
    (count,) = (one for one in stage.controller.metrics(stage.now_s).components if one.name == "count")
    assert (count.tasks, count.processed, count.helped) == (3, 15, 9), "what former tasks did is not forgotten"
    stage.happens(Proposed(worker_of={3: 0}, scheduler="late", why="it was planned before"))
    assert last(stage).reason == "there is no task 3"


@pytest.mark.parametrize(
    ("component", "tasks", "reason"),
    [
        ("counts", 3, "there is no component 'counts'; there are lines, split, count"),
        ("lines", 3, "'lines' keeps its 1 tasks: it is a spout"),
        ("count", 0, "'count' must have at least 1 task, got 0"),
    ],
)
def test_what_cannot_be_is_refused_with_the_reason(component: str, tasks: int, reason: str) -> None:
    stage = Stage(msgspec.structs.replace(PLAN, unscalable={"lines": "it is a spout"}))
    stage.runs()
    (answer,) = stage.says(b"operator", AskScale(component=component, tasks=tasks))
    assert isinstance(answer, SendTo)
    assert answer.message == NotNow(reason=reason)


def test_as_many_as_there_are_is_no_change() -> None:
    stage = Stage()
    stage.runs()
    scales(stage, tasks=1)
    assert (last(stage).state, last(stage).moves) == ("done", ())


def test_what_was_abandoned_leaves_the_tasks_as_they_were() -> None:
    stage = Stage()
    first, _ = stage.runs()
    scales(stage)
    stage.says(first, PeerGone(worker=1, generation=1))
    assert last(stage).state == "abandoned"
    before = len(stage.said)
    back = stage.comes(1, attempt=1)
    assert only(stage.said[before:], back, Deploy).tasks == TASKS


def test_at_least_once_new_tasks_begin_anew_if_a_former_one_is_dead() -> None:
    stage = Stage()
    first, second = stage.runs()
    scales(stage)
    preparing(stage, first, second)
    here = stage.status().workers[0].tasks
    said = stage.says(first, PeerGone(worker=1, generation=1))
    took = [one.message.task for one in said if isinstance(one, SendTo) and isinstance(one.message, TakeOver)]
    assert took == [task for task in here if task >= 4]
    before = len(stage.said)
    back = stage.comes(1, attempt=1)
    deployed = only(stage.said[before:], back, Deploy)
    assert deployed.tasks == (*TASKS[:3], *NEW)


def test_exactly_once_epochs_have_the_new_tasks_and_keys_are_shared_out_if_all_is_set_back_before() -> None:
    stage = stage_of()
    first, second = stage.runs()
    commits(stage, first, second, 1)
    scales(stage)
    preparing(stage, first, second)
    said = stage.says(first, PeerGone(worker=1, generation=1))
    deployed = only(said, first, Deploy)
    assert deployed.tasks == (*TASKS[:3], *NEW)
    shares = [restore.share for restore in deployed.restore if restore.task >= 4]
    assert shares == [(0, 3), (1, 3), (2, 3)]

    stage.says(first, Ready(assignment=3))
    stage.passes(1.5, first)
    before = len(stage.said)
    for task in (*TASKS[:3], *NEW):
        saved = saved_task(task.id) if task.id < 3 else msgspec.structs.replace(saved_task(3), index=task.index)
        stage.says(first, TaskSaved(assignment=3, task=task.id, epoch=2, saved=saved))
    (commit,) = (one for one in stage.said[before:] if isinstance(one, CommitEpoch))
    assert {one.name: one.tasks for one in commit.manifest.shape.components} == {"lines": 1, "split": 2, "count": 3}
    stage.happens(EpochCommitted(epoch=2))
    assert stage.controller.status(stage.now_s).assignment == 3
