"""Which worker runs each task."""

from __future__ import annotations

import msgspec

__all__ = ["Assignment", "Move"]


class Move(msgspec.Struct, frozen=True, kw_only=True):
    """A task that another assignment puts elsewhere. None: one of the two does not have the task."""

    task: int
    source: int | None
    target: int | None


class Assignment(msgspec.Struct, frozen=True, kw_only=True):
    """Which worker runs each task. Immutable: a change is another assignment, with a higher number."""

    number: int
    """Counts from 1. Every frame carries the number that it was routed by."""
    worker_of: dict[int, int]
    """Task id to worker number."""

    def tasks_on(self, worker: int) -> tuple[int, ...]:
        """The ids of the tasks that a worker runs, ascending."""
        return tuple(sorted(task for task, place in self.worker_of.items() if place == worker))

    def workers(self) -> tuple[int, ...]:
        """The workers that run at least one task, ascending."""
        return tuple(sorted(set(self.worker_of.values())))

    def moved(self, other: Assignment) -> tuple[Move, ...]:
        """What has to move to get from this assignment to the other, by task id."""
        tasks = sorted(self.worker_of.keys() | other.worker_of.keys())
        moves = (Move(task=task, source=self.worker_of.get(task), target=other.worker_of.get(task)) for task in tasks)
        return tuple(move for move in moves if move.source != move.target)
