"""A worker's part in checkpoints: snapshots are taken in its loop, and written by a thread beside it."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Iterable
from typing import Protocol

import msgspec

from penstock.checkpoint.manifest import PartRef, SavedTask
from penstock.errors import CheckpointError
from penstock.worker.spout_task import SpoutTask
from penstock.worker.task_checkpoints import CheckpointRest, Snapshot, TaskCheckpoint
from penstock.worker.tasks import RunningTask

__all__ = ["Checkpoints", "NotSaved", "PartStore", "Saved"]


class PartStore(Protocol):
    """Where parts lie: a `penstock.checkpoint.store.CheckpointStore`, or a test's stand-in."""

    def write_part(self, *, epoch: int, task: int, payload: bytes) -> PartRef:
        """Saves a part of a task's state."""

    def read_part(self, ref: PartRef) -> bytes:
        """What was saved."""


class Saved(msgspec.Struct, frozen=True, kw_only=True):
    """A task is saved for an epoch."""

    task: int
    epoch: int
    saved: SavedTask


class NotSaved(msgspec.Struct, frozen=True, kw_only=True):
    """A task could not be saved for an epoch."""

    task: int
    epoch: int
    reason: str


class Checkpoints:
    """Saves the tasks of one worker.

    `begin` says that an epoch ends. A spout is saved then, or as soon as all is emitted that it has given; a bolt when
    it has the epoch's marker from all its inputs, and a task that has ended as soon as both are so.
    """

    def __init__(self, store: PartStore, *, beside: bool = True, wake: Callable[[], None] = lambda: None) -> None:
        """With `beside` parts are written by a thread, which calls `wake`; without, in the loop, as tests want it."""
        self._store = store
        self._tasks: dict[int, tuple[RunningTask, TaskCheckpoint]] = {}
        self._epoch = 0
        self._committed = 0
        self._to_write: queue.SimpleQueue[Snapshot | None] = queue.SimpleQueue()
        self._written: queue.SimpleQueue[tuple[Snapshot, tuple[PartRef, ...] | str]] = queue.SimpleQueue()
        self._wake = wake
        self._writer: threading.Thread | None = None
        if beside:
            self._writer = threading.Thread(target=self._write_all, name="penstock-checkpoints", daemon=True)
            self._writer.start()

    @property
    def store(self) -> PartStore:
        """Where parts lie."""
        return self._store

    def add(self, running: RunningTask, checkpoint: TaskCheckpoint) -> None:
        """This task is saved, too."""
        self._tasks[running.task] = (running, checkpoint)

    def of(self, task: int) -> TaskCheckpoint:
        """What saves a task."""
        return self._tasks[task][1]

    def hand_over(self, task: int) -> CheckpointRest:
        """A task moves, with none of its epochs under way. Returns what it takes along."""
        return self._tasks[task][1].hand_over(self._committed)

    def remove(self, task: int) -> None:
        """A task is gone."""
        self._tasks.pop(task, None)

    def take_over(self, task: int, rest: CheckpointRest, *, is_heir: bool) -> None:
        """A task has come, with its state."""
        self._tasks[task][1].take_over(rest, is_heir=is_heir)

    def restored(self, epoch: int) -> None:
        """All tasks go on from this epoch."""
        self._committed = epoch

    def begin(self, epoch: int, committed: int) -> None:
        """An epoch ends: spouts are saved, and send its marker. `committed` is the newest one in the checkpoint."""
        self._epoch, self._committed = epoch, committed
        for running, _ in self._tasks.values():
            if isinstance(running, SpoutTask) and not (running.ended or running.waiting or running.is_in_call):
                self.save(running.task, epoch)
        self.save_ended()

    def save(self, task: int, epoch: int) -> None:
        """A task is where the epoch ends. Its marker may come before we were told of the epoch, and counts the same."""
        if epoch >= self._epoch:
            snapshot = self._tasks[task][1].snapshot(epoch, self._committed)
            if self._writer is not None:
                self._to_write.put(snapshot)
            else:
                self._written.put((snapshot, self._parts_of(snapshot)))

    def save_ended(self) -> None:
        """Tasks that have ended get no marker any more: nothing will change in them."""
        for task, (running, checkpoint) in self._tasks.items():
            if running.ended and checkpoint.saved_epoch < self._epoch:
                self.save(task, self._epoch)

    def committed(self, epoch: int) -> None:
        """The epoch is in the checkpoint."""
        self._committed = epoch
        for _, checkpoint in self._tasks.values():
            checkpoint.committed(epoch)

    def news(self) -> Iterable[Saved | NotSaved]:
        """What was written since the last time, or could not be."""
        while True:
            try:
                snapshot, parts = self._written.get_nowait()
            except queue.Empty:
                return
            if snapshot.task not in self._tasks:
                continue
            if isinstance(parts, str):
                yield NotSaved(task=snapshot.task, epoch=snapshot.epoch, reason=parts)
                continue
            self._tasks[snapshot.task][1].wrote(parts)
            saved = msgspec.structs.replace(snapshot.saved, parts=parts)
            yield Saved(task=snapshot.task, epoch=snapshot.epoch, saved=saved)

    def close(self) -> None:
        """Ends the thread, when it has written what it was given."""
        if self._writer is not None:
            self._to_write.put(None)
            self._writer.join()

    def _write_all(self) -> None:
        while (snapshot := self._to_write.get()) is not None:
            self._written.put((snapshot, self._parts_of(snapshot)))
            self._wake()

    def _parts_of(self, snapshot: Snapshot) -> tuple[PartRef, ...] | str:
        piece = snapshot.piece
        if piece is None:
            return snapshot.before
        try:
            part = self._store.write_part(epoch=snapshot.epoch, task=snapshot.task, payload=piece.payload)
        except (CheckpointError, OSError) as error:
            return str(error)
        return (part,) if piece.is_full else (*snapshot.before, part)
