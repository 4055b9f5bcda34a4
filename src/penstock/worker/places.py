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

    def __init__(
        self, worker_of: Mapping[int, int], *, assignment: int, former: Mapping[int, int] | None = None
    ) -> None:
        """`former` has where tasks were before this assignment, of those that may still be on their way."""
        self.now = dict(worker_of)
        """The worker of each task. Always the same object, so that it can be kept."""
        self.assignment = assignment
        self._before = {task: [(assignment, worker)] for task, worker in (former or {}).items()}
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
        self.now.clear()
        self.now.update(self._next)
        self.assignment = self._next_assignment
        self.abandon()

    def at(self, task: int, assignment: int) -> int | None:
        """The worker of a task under an assignment; None if there was no such task."""
        if self._next_assignment and assignment >= self._next_assignment:
            return self._next.get(task)
        place = self.now.get(task)
        for until, worker in reversed(self._before.get(task, ())):  # most frames are of now, however often it moved
            if assignment >= until:
                break
            place = worker
        return place

    def on(self, worker: int) -> set[int]:
        """The tasks of a worker."""
        return {task for task, place in self.now.items() if place == worker}

    def owed_by(self, worker: int) -> dict[int, int]:
        """By task: the newest assignment for which a worker may have had to send a switch marker.

        For those that it had, that which took them away, however long ago: what it sent last may still be on its way
        when others have moved. For those that it has, the newest that is known.
        """
        owed = {
            task: until
            for task, places in self._before.items()
            for until, place in places  # the last one counts
            if place == worker
        }
        return owed | dict.fromkeys(self.on(worker), max(self.assignment, self._next_assignment))
