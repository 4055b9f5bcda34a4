"""Where each task is, was, and will be: frames of an assignment may come after it, or before it holds here."""

from __future__ import annotations

from collections.abc import Mapping

__all__ = ["Places"]


class Places:
    """The workers of all tasks, by the number of the assignment.

    >>> places = Places({7: 0, 8: 1}, assignment=1)
    >>> places.prepare({7: 2, 8: 1}, assignment=2)
    >>> places.now[7], places.at(7, 1), places.at(7, 2)
    (0, 0, 2)
    >>> places.switch()
    >>> places.now[7], places.at(7, 1), places.at(7, 2)
    (2, 0, 2)
    """

    def __init__(self, worker_of: Mapping[int, int], *, assignment: int) -> None:
        self.now = dict(worker_of)
        """The worker of each task. Always the same object, so that it can be kept."""
        self.assignment = assignment
        self._before: dict[int, list[tuple[int, int]]] = {}
        self._last: dict[int, int] = {}
        self._next: Mapping[int, int] = {}
        self._next_assignment = 0

    def prepare(self, worker_of: Mapping[int, int], assignment: int) -> None:
        """Another assignment may hold soon, and others may know that it does before we do."""
        self._next, self._next_assignment = worker_of, assignment

    def abandon(self) -> None:
        """It will not."""
        self._next, self._next_assignment = {}, 0

    def switch(self) -> None:
        """It holds."""
        for task, worker in self.now.items():
            if self._next.get(task) != worker:
                self._before.setdefault(task, []).append((self._next_assignment, worker))
        self._last = dict(self.now)
        self.now.clear()
        self.now.update(self._next)
        self.assignment = self._next_assignment
        self.abandon()

    def at(self, task: int, assignment: int) -> int | None:
        """The worker of a task under an assignment; None if there was no such task."""
        if self._next_assignment and assignment >= self._next_assignment:
            return self._next.get(task)
        for until, worker in self._before.get(task, ()):
            if assignment < until:
                return worker
        return self.now.get(task)

    def on(self, worker: int) -> set[int]:
        """The tasks of a worker."""
        return {task for task, place in self.now.items() if place == worker}

    def lately_on(self, worker: int) -> set[int]:
        """The tasks of a worker, and those that it had before the last switch."""
        return self.on(worker) | {task for task, place in self._last.items() if place == worker}
