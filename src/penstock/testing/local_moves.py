"""Moves in a cluster in one process: what the controller does about them, in short.

Workers hear everything some turns later, and not at the same time, so that old and new are under way together.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from penstock.plan.assignment import Assignment
from penstock.plan.tasks import Task
from penstock.testing.late_words import Abandonment, LateWords, Switching, TakingOver, Word
from penstock.worker.resume import SpoutProgress
from penstock.worker.worker import Worker

__all__ = ["LocalMoves"]


class _Move:
    """One that is under way."""

    def __init__(self, assignment: Assignment, tasks: tuple[Task, ...], before: Mapping[int, int]) -> None:
        self.assignment = assignment
        self.tasks = tasks
        self.before = before
        self.prepared: set[int] = set()
        self.switched = False
        self.awaited = {task for task, worker in assignment.worker_of.items() if before.get(task) != worker}

    def origins(self, task: int) -> set[int]:
        """Where a task's state comes from: its old place, or those of all tasks that are no more."""
        gone = self.before.keys() - self.assignment.worker_of.keys()
        return {self.before[task]} if task in self.before else {self.before[one] for one in gone}


class LocalMoves:
    """Decides about moves, one at a time.

    Args:
        words: how workers are told.
        prepare: what a worker is told first.
    """

    def __init__(self, words: LateWords, prepare: Callable[[int, Assignment, tuple[Task, ...]], Word]) -> None:
        self._words = words
        self._prepare = prepare
        self._move: _Move | None = None

    @property
    def under_way(self) -> bool:
        """Whether a move was begun and is not over."""
        return self._move is not None

    def begin(
        self, workers: Iterable[int], assignment: Assignment, tasks: tuple[Task, ...], before: Mapping[int, int]
    ) -> None:
        """Begins a move."""
        self._move = _Move(assignment, tasks, before)
        for worker in workers:
            self._words.tell([worker], self._prepare(worker, assignment, tasks))

    def look(self, number: int, worker: Worker, workers: Iterable[int]) -> tuple[Assignment, tuple[Task, ...]] | None:
        """A worker has had a turn. Returns the assignment and its tasks, when it has come to hold."""
        move, everybody = self._move, set(workers)
        if move is None:
            return None
        move.awaited.difference_update(worker.moving.arrived_tasks())
        if not move.switched:
            if worker.moving.trouble is not None:
                self.abandon(everybody)
            elif worker.moving.newest == move.assignment.number and worker.moving.is_prepared:
                move.prepared.add(number)
            if move.prepared == everybody:
                move.switched = True
                self._words.tell(everybody, Switching(move.assignment.number))
                return move.assignment, move.tasks
        elif not move.awaited:
            self._move = None
        return None

    def abandon(self, workers: Iterable[int]) -> None:
        """Something went wrong before the switch: nothing has happened."""
        assert self._move is not None
        self._words.tell(workers, Abandonment(self._move.assignment.number))
        self._move = None

    def died(self, worker: int, workers: Iterable[int], progress: Mapping[int, SpoutProgress]) -> None:
        """A worker is gone."""
        move = self._move
        if move is None:
            return
        if not move.switched:
            self.abandon(workers)
            return
        for task in sorted(move.awaited):
            if worker in move.origins(task):
                place = move.assignment.worker_of[task]
                self._words.tell([place], TakingOver(task, worker, progress.get(task)))

    def restarted(self, worker: int) -> None:
        """Another process is this worker: its tasks have begun anew there, by the new assignment."""
        if self._move is not None:
            self._move.awaited -= {
                task for task in self._move.awaited if self._move.assignment.worker_of[task] == worker
            }

    @property
    def former(self) -> Mapping[int, int]:
        """Where tasks were before the move that is under way, if all have switched."""
        move = self._move
        if move is None or not move.switched:
            return {}
        return {task: place for task, place in move.before.items() if move.assignment.worker_of.get(task) != place}

    def forget(self) -> None:
        """Everything was set back."""
        self._move = None
