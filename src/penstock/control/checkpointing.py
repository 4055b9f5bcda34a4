"""Which epochs are saved and committed, and what tasks go on from. Pure.

An epoch is *begun* (spouts send its marker), *saved* task by task, *committed* when all tasks are, and only then is the
next one begun. If anything of it goes wrong it is given up, and the next one is tried; numbers are never used twice.
"""

from __future__ import annotations

import math
from collections import Counter
from datetime import UTC, datetime

import msgspec

from penstock.checkpoint.manifest import FeedMark, Manifest, SavedTask
from penstock.checkpoint.shape import SavedShape
from penstock.plan.tasks import Task
from penstock.worker.task_checkpoints import TaskRestore

__all__ = ["Checkpointing"]


class Checkpointing:
    """The checkpoint of one run.

    Args:
        run: its id.
        tasks: all its tasks.
        shape: the topology, as the checkpoint remembers it.
        every_s: how long after one epoch was begun the next one is.
        start: what the run goes on from; None is its very beginning.
    """

    def __init__(
        self, *, run: str, tasks: tuple[Task, ...], shape: SavedShape, every_s: float, start: Manifest | None
    ) -> None:
        self._run = run
        self._tasks = tasks
        self._shape = shape
        self._every_s = every_s
        self._latest = start
        self.newest = 0 if start is None else start.epoch
        """The epoch that was begun last; 0 if none was."""
        self._next_at_s: float | None = None
        self._saved: dict[int, SavedTask] = {}
        self._pending: int | None = None
        self._committing: Manifest | None = None
        self._final = False
        self._troubled = False
        self.feeds: dict[str, FeedMark] = {}
        """What the epoch that was begun last has of each spout that Spark feeds."""

    def has_tasks(self, tasks: tuple[Task, ...]) -> None:
        """These are all tasks from now on. No epoch is under way."""
        counts = Counter(task.component for task in tasks)
        self._tasks = tasks
        components = (msgspec.structs.replace(one, tasks=counts[one.name]) for one in self._shape.components)
        self._shape = msgspec.structs.replace(self._shape, components=tuple(components))

    @property
    def committed(self) -> int:
        """The newest committed epoch; 0 if there is none."""
        return 0 if self._latest is None else self._latest.epoch

    @property
    def is_clean(self) -> bool:
        """Whether the epoch that was begun last is committed: nothing of one that was given up is under way."""
        return self.committed == self.newest > 0

    @property
    def is_finished(self) -> bool:
        """Whether the end of the run is committed."""
        return self._latest is not None and self._latest.finished

    def due(self, now_s: float) -> int | None:
        """The number of the epoch that is begun now, if one is."""
        if self._next_at_s is None:
            self._next_at_s = now_s + self._every_s
        if now_s < self._next_at_s or self.is_under_way:
            return None
        return self._begin(now_s)

    def final_epoch(self, now_s: float) -> int | None:
        """All tasks have ended: the number of the epoch that says so, if it is begun now.

        It takes two where a sink has still to commit: the first commits what it prepared, and if it dies before it has,
        there is an epoch to go back to; the run is over only with the second, which finds nothing owed.
        """
        if self.is_under_way or self.is_finished:
            return None
        if self._troubled and self._next_at_s is not None and now_s < self._next_at_s:
            return None  # what has just gone wrong will hardly go better at once
        self._final = True
        return self._begin(now_s)

    def hurry(self) -> None:
        """The next epoch is due as soon as none is under way."""
        self._next_at_s = -math.inf

    @property
    def is_under_way(self) -> bool:
        """Whether an epoch was begun and is neither committed nor given up."""
        return self._pending is not None or self._committing is not None

    def _begin(self, now_s: float) -> int:
        self._next_at_s = now_s + self._every_s
        self.newest += 1
        self._pending = self.newest
        self._saved = {}
        self._troubled = False
        return self.newest

    def saved(self, task: int, epoch: int, saved: SavedTask) -> Manifest | None:
        """A task is saved. Returns what is to be committed, if all are now."""
        if epoch != self._pending:
            return None
        self._saved[task] = saved
        if self._saved.keys() != {one.id for one in self._tasks}:
            return None
        self._pending = None
        self._committing = Manifest(
            epoch=epoch,
            run=self._run,
            created_at=datetime.now(UTC),
            shape=self._shape,
            tasks=tuple(self._saved[one.id] for one in self._tasks),
            feeds=self.feeds,
            finished=self._final and all(one.ended and not one.owes for one in self._saved.values()),
        )
        return self._committing

    def give_up(self) -> None:
        """The epoch that is under way will not be committed, unless that is being done already."""
        self._pending = None
        self._final = False
        self._troubled = True

    def was_committed(self, epoch: int) -> bool:
        """An epoch is in its place. False if it is not one that was asked for."""
        if self._committing is None or self._committing.epoch != epoch:
            return False
        self._latest, self._committing = self._committing, None
        return True

    def was_not_committed(self, epoch: int) -> None:
        """An epoch could not be put in its place."""
        if self._committing is not None and self._committing.epoch == epoch:
            self._committing = None
            self._final = False
            self._troubled = True

    @property
    def is_committing(self) -> bool:
        """Whether it is not known yet which epoch is the newest that is committed."""
        return self._committing is not None

    def restores(self) -> tuple[TaskRestore, ...]:
        """What every task goes on from; nothing, from the very beginning."""
        latest = self._latest
        if latest is None:
            return ()
        count_of: dict[str, int] = {}
        for task in self._tasks:
            count_of[task.component] = count_of.get(task.component, 0) + 1
        return tuple(_restore(latest.tasks_of(task.component), task, count_of[task.component]) for task in self._tasks)


def _restore(old: tuple[SavedTask, ...], task: Task, count: int) -> TaskRestore:
    mine = old[task.index : task.index + 1]
    if len(old) == count:
        return TaskRestore(
            task=task.id,
            ended=all(one.ended for one in mine) if mine else False,
            position=mine[0].position if mine else None,
            parts=tuple(one.parts for one in mine),
            prepared=tuple(one.prepared for one in mine if one.prepared is not None),
        )
    # Another number of tasks: keys are shared out anew, and so is what sinks had prepared or collected. Nothing else
    # can be, which was checked before the start.
    return TaskRestore(
        task=task.id,
        ended=bool(old) and all(one.ended for one in old),
        parts=tuple(one.parts for one in old),
        share=(task.index, count) if any(one.parts for one in old) else None,
        prepared=tuple(one.prepared for one in old[task.index :: count] if one.prepared is not None),
    )
