"""What the bolts of a worker do by the clock, and when it is due."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable
from itertools import count

from penstock.worker.bolt_task import BoltTask
from penstock.worker.rhythm import Rhythm

__all__ = ["Ticks"]


class Ticks:
    """The rhythms of all bolts. `steady_ns` is a clock that never goes back."""

    def __init__(self, steady_ns: Callable[[], int]) -> None:
        self._steady_ns = steady_ns
        self._due: list[tuple[int, int, Rhythm, BoltTask]] = []
        self._numbers = count()

    def add(self, bolts: Iterable[BoltTask]) -> None:
        """Their first ticks are due when their time has passed from now on."""
        now_ns = self._steady_ns()
        for bolt in bolts:
            for rhythm in bolt.rhythms:
                heapq.heappush(self._due, (now_ns + rhythm.every_ns, next(self._numbers), rhythm, bolt))

    def remove(self, bolt: BoltTask) -> None:
        """It is gone."""
        self._due = [entry for entry in self._due if entry[3] is not bolt]
        heapq.heapify(self._due)

    @property
    def next_ns(self) -> int | None:
        """When the next one is due; None if there is none."""
        return self._due[0][0] if self._due else None

    def note_due(self) -> None:
        """A tick waits for its bolt's turn, like everything else that may emit. What was missed is not made up for."""
        if not self._due or self._due[0][0] > (now_ns := self._steady_ns()):
            return
        while self._due and self._due[0][0] <= now_ns:
            due_ns, number, rhythm, bolt = heapq.heappop(self._due)
            if not bolt.ended:
                rhythm.is_due = True
                heapq.heappush(self._due, (max(due_ns, now_ns) + rhythm.every_ns, number, rhythm, bolt))
