"""Credit: how much one worker may have under way to a task of another.

The rule that keeps every queue bounded and no two workers waiting for each other:

    A worker always reads its inbox. What it may find there is bounded by the credit that it has given.

A sender counts the bytes that it has sent to each task and that the task has not processed yet. At `window_bytes` the
task counts as exhausted, and tasks that could emit to it do not run until credit comes back. A receiver gives credit
back when it has processed a quarter of a window. So a full ring is always a matter of moments, never of two workers
waiting for each other: the tasks at the end of the topology never wait, so their queues empty, so credit flows back to
the tasks before them, and so on up to the spouts.
"""

from __future__ import annotations

__all__ = ["CreditGiver", "CreditTaker"]


class CreditTaker:
    """The sender's side: what is under way to each task elsewhere."""

    def __init__(self, *, window_bytes: int) -> None:
        self._window_bytes = window_bytes
        self._under_way: dict[int, int] = {}
        self.exhausted: set[int] = set()

    def sent(self, task: int, size_bytes: int) -> None:
        """Counts a frame that is on its way to `task`."""
        under_way = self._under_way[task] = self._under_way.get(task, 0) + size_bytes
        if under_way >= self._window_bytes:
            self.exhausted.add(task)

    def returned(self, task: int, size_bytes: int) -> None:
        """Takes credit back from the worker that runs `task`."""
        under_way = self._under_way[task] = max(0, self._under_way.get(task, 0) - size_bytes)
        if under_way < self._window_bytes:
            self.exhausted.discard(task)

    def forget(self, task: int) -> int:
        """The task was lost with its worker: everything under way to it is lost too. Returns how many bytes."""
        self.exhausted.discard(task)
        return self._under_way.pop(task, 0)

    def under_way_bytes(self, task: int) -> int:
        """How much is under way to `task`."""
        return self._under_way.get(task, 0)


class CreditGiver:
    """The receiver's side: what has been processed and not been given back yet, by sender and task."""

    def __init__(self, *, window_bytes: int) -> None:
        self._give_at_bytes = max(1, window_bytes // 4)
        self._processed: dict[tuple[int, int], int] = {}

    def processed(self, sender: int, task: int, size_bytes: int) -> int:
        """Counts a frame from worker `sender` that `task` has processed; returns the credit to give back now, or 0."""
        key = (sender, task)
        processed = self._processed.get(key, 0) + size_bytes
        if processed < self._give_at_bytes:
            self._processed[key] = processed
            return 0
        self._processed[key] = 0
        return processed

    def forget(self, sender: int) -> None:
        """The sender was lost: it counts anew."""
        self._processed = {key: value for key, value in self._processed.items() if key[0] != sender}
