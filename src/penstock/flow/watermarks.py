"""Water marks: when a task has too much waiting for it, and when no more. Pure.

A task is *pressed* from the moment its queue reaches the high mark until it has fallen to the low one. The two are
apart so that a queue that stands near a mark does not have its sources stopped and let go with every tuple.

Heron's marks are bytes of a buffer. Ours are tuples and time: what waits is too much when it takes too long, and how
long it takes is measured (`Gauge.worked`). A thousand tuples are nothing for a bolt that needs a microsecond for each,
and a quarter of an hour for one that asks a slow service. So there is one mark, in tuples, which follows the task:

    high = as many as are done in `high_ns`, but at least 16, and at most `high_tuples` or half of what credit lets come
    low  = `low_share` of that

At least 16: what comes in one frame is no pressure. Whoever has no time yet has the mark of `high_tuples`. Half of what
credit lets come: where tuples are large, those that feed a task run out of credit before more are waiting. Then nobody
would hear that it is too slow, and nobody would help.

>>> gauge = Gauge(Marks(high_tuples=1000, high_ns=100_000_000, low_share=0.5))
>>> gauge.high_tuples
1000
>>> gauge.worked(tuples=10, busy_ns=10_000_000)  # a millisecond each
>>> gauge.high_tuples
100
>>> [gauge.read(queued) for queued in (99, 100, 51, 50, 99)]
[False, True, True, False, False]
"""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["LEAST_TUPLES", "OVERFULL", "Gauge", "Marks"]

LEAST_TUPLES = 16
"""Time presses nobody who has fewer waiting."""

OVERFULL = 2
"""How many times the high mark is too much although somebody helps."""

KEPT = 0.9
"""Of what was measured before, with each turn: the last ten turns or so count."""

MOST_WEIGHT = 64
"""In tuples: a turn with more of them counts no more than that. Else one who did a million quickly, and is slow now,
would have to do many slowly until it is noticed."""


class Marks(NamedTuple):
    """Where the marks are, for all tasks of a run."""

    high_tuples: int = 16_384
    high_ns: int = 100_000_000
    low_share: float = 0.5
    """Of the high mark. Below 1."""


class Gauge:
    """Of one task: how long it takes for a tuple, and whether it is pressed."""

    def __init__(self, marks: Marks) -> None:
        self._marks = marks
        self._weight = self._weighed_ns = 0.0
        self._most_tuples = self.high_tuples = marks.high_tuples
        """The high mark."""
        self.is_pressed = False

    def worked(self, tuples: int, busy_ns: int) -> None:
        """The task has done so many tuples in so much time."""
        if tuples <= 0:
            return
        weight = min(tuples, MOST_WEIGHT)
        self._weight = KEPT * self._weight + weight
        self._weighed_ns = KEPT * self._weighed_ns + weight * busy_ns / tuples
        self.high_tuples = min(self._most_tuples, self.timely_tuples)

    def bound(self, credited_tuples: int) -> None:
        """Credit lets so many come before the task has done any of them."""
        self._most_tuples = min(self._marks.high_tuples, max(LEAST_TUPLES, credited_tuples // 2))
        self.high_tuples = min(self._most_tuples, self.timely_tuples)

    @property
    def service_ns(self) -> float:
        """The time for a tuple, lately; 0 if it is not known."""
        return self._weighed_ns / self._weight if self._weight else 0.0

    @property
    def timely_tuples(self) -> int:
        """How many may wait if only time counts: what is done in `high_ns`. Huge if the time is not known."""
        service_ns = self.service_ns
        return max(LEAST_TUPLES, int(self._marks.high_ns / service_ns)) if service_ns else 1 << 62

    def read(self, queued_tuples: int) -> bool:
        """Whether the task is pressed, with so many tuples waiting. Those held for a marker are not among them."""
        if self.is_pressed:
            self.is_pressed = queued_tuples > self._marks.low_share * self.high_tuples
        else:
            self.is_pressed = queued_tuples >= self.high_tuples
        return self.is_pressed

    def is_overfull(self, queued_tuples: int) -> bool:
        """Whether it is too much even for one that is being helped."""
        return queued_tuples >= OVERFULL * self.high_tuples
