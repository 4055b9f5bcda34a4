"""When all that was told to the old place of a task has come to the new one.

Whoever has not heard of a switch yet tells the old place what has become of a tree, and the old place passes it on. A
marker that has passed everywhere says what is lost (see flow/sweeps), and goes straight to the new place. It must not
come first: what is told by way of the old place would be taken for lost, and done again.

So each worker says when it has switched, behind all that it has told before. A worker that has heard that from all
others says so to the new places of the tasks that have left it, behind all that it has passed on. If a task leaves it
again before the old place has said so, its next place hears of it only then.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from penstock.transport.frames import FrameKind
from penstock.transport.ring import Route
from penstock.worker.carriers import Carrier

__all__ = ["Clearance"]


class Clearance:
    """One worker's part.

    Args:
        worker: its number.
        carriers: the ways to the others.
    """

    def __init__(self, *, worker: int, carriers: Mapping[int, Carrier]) -> None:
        self._worker = worker
        self._carriers = carriers
        self._assignment = 0
        self._switched: dict[int, int] = {}
        """The newest assignment that others have switched to."""
        self._behind: set[int] = set()
        self._left: dict[tuple[int, int], bool] = {}
        """The tasks that have left, and where they went; whether all that was told to a place before this has come."""
        self._unclear: dict[int, int] = {}
        """The tasks that have come, and where they were."""

    def switch(self, assignment: int, peers: Iterable[int], left: Mapping[int, int], came: Mapping[int, int]) -> None:
        """This worker has switched to an assignment, and has told the others so.

        Args:
            assignment: its number.
            peers: the other workers that have tasks, or had.
            left: where tasks are that were here.
            came: where tasks were that are here.
        """
        self._assignment = assignment
        for task, worker in left.items():
            self._left[task, worker] = task not in self._unclear
        self._unclear.update(came)
        self._behind = {peer for peer in peers if self._switched.get(peer, 0) < assignment}
        self._clear_if_all_have_switched()

    def heard_switched(self, peer: int, assignment: int) -> None:
        """Another worker has switched."""
        self._switched[peer] = assignment
        if assignment >= self._assignment:
            self._not_behind(peer)

    def heard_cleared(self, task: int) -> None:
        """All that was told to the old place of a task has come."""
        self._unclear.pop(task, None)
        for left in self._left:
            if left[0] == task:
                self._left[left] = True
        self._clear_if_all_have_switched()

    def lose(self, peer: int) -> None:
        """A worker is gone, with all that it may have had to tell."""
        self._not_behind(peer)
        self._left = {left: clear for left, clear in self._left.items() if left[1] != peer}
        for task in [task for task, worker in self._unclear.items() if worker == peer]:
            self.heard_cleared(task)

    def is_clear(self, task: int) -> bool:
        """Whether all that was told of a task's trees before a marker has come before it."""
        return task not in self._unclear

    def _not_behind(self, peer: int) -> None:
        if peer in self._behind:
            self._behind.discard(peer)
            self._clear_if_all_have_switched()

    def _clear_if_all_have_switched(self) -> None:
        if self._behind:
            return
        for task, worker in [left for left, clear in self._left.items() if clear]:
            del self._left[task, worker]
            route = Route(target=task, source=self._worker, assignment=self._assignment, flags=FrameKind.CLEARED)
            self._carriers[worker].send(route, b"", 0)
