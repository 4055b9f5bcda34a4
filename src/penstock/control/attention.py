"""A clock for judging the silence of others: it stands still while we do not listen ourselves.

A process that was stopped, swapped out or busy for a minute wakes up to find that it has heard nothing for a minute.
That says nothing about the others. So time counts only as far as we came to look in it.
"""

from __future__ import annotations

import time
from collections.abc import Callable

__all__ = ["AttentiveClock"]


class AttentiveClock:
    """Advances when looked at, and by `most_s` at most between two looks."""

    def __init__(self, *, most_s: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._most_s = most_s
        self._clock = clock
        self._looked_at_s = clock()
        self._attended_s = 0.0

    def now_s(self) -> float:
        """Seconds that we paid attention for."""
        now_s = self._clock()
        self._attended_s += min(now_s - self._looked_at_s, self._most_s)
        self._looked_at_s = now_s
        return self._attended_s
