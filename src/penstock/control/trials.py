"""Which spout task may have a trial: emit again what was lost, to see what kills workers. Pure.

A spout task blames what it has on trial for a worker that dies meanwhile (see penstock.flow.pending). If two had trials
at once, the death that one of them causes would be blamed on the innocent outputs of the other, too, and again and
again, because both begin the next trial when the worker is back. So they take turns.
"""

from __future__ import annotations

from collections.abc import Container

__all__ = ["Trials"]


class Trials:
    """The spout tasks that want a trial, and the one that has it."""

    def __init__(self) -> None:
        self._waiting: dict[int, int] = {}
        """The worker of each task that wants one, in the order in which they asked."""
        self._holder: tuple[int, int] | None = None
        """The task that has one, and its worker."""

    def wanted(self, task: int, worker: int) -> None:
        """A spout task on this worker has lost outputs."""
        self._waiting[task] = worker

    def over(self, task: int, worker: int) -> None:
        """A spout task knows what has become of its trial."""
        if self._holder == (task, worker):
            self._holder = None

    def forget(self, worker: int, stays: Container[int] = ()) -> None:
        """A worker is gone, or has tasks no more but those that stay: what they have lost is emitted anew elsewhere."""
        self._waiting = {task: place for task, place in self._waiting.items() if place != worker or task in stays}
        if self._holder is not None and self._holder[1] == worker and self._holder[0] not in stays:
            self._holder = None

    def begin(self) -> tuple[int, int] | None:
        """The task that may have a trial now, and its worker; None if one has it, or nobody wants it."""
        if self._holder is not None or not self._waiting:
            return None
        task = next(iter(self._waiting))
        self._holder = task, self._waiting.pop(task)
        return self._holder
