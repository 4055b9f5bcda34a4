"""Garbage collection, kept off the hot path.

What exists when the tasks are open lives as long as the worker, so it is frozen. After that the collector runs when
there is nothing else to do; under load without a pause, seldom. The oldest generation holds the tasks' state and may
be huge: how often it is looked at depends on how long that took the last time, so that it never costs more than a
thousandth of the time.
"""

from __future__ import annotations

import gc
from collections.abc import Callable

__all__ = ["GarbageKeeper"]

_SECOND_NS = 1_000_000_000
_YOUNG, _ALL = 1, 2

IDLE_EVERY_NS = {_YOUNG: _SECOND_NS, _ALL: 60 * _SECOND_NS}
BUSY_EVERY_NS = {_YOUNG: 10 * _SECOND_NS, _ALL: 600 * _SECOND_NS}
MOST_SHARE = 1 / 1000

MOST_NEW_OBJECTS = 500_000
"""What user code may leave behind in cycles until the collector runs, whatever the time is."""


class GarbageKeeper:
    """Takes the collector over, and gives it back."""

    def __init__(self, now_ns: Callable[[], int]) -> None:
        gc.disable()
        self._now_ns = now_ns
        self._collected_ns = dict.fromkeys((_YOUNG, _ALL), now_ns())
        self._rest_ns = 0

    def settle(self) -> None:
        """The tasks are open, and nothing has begun: what is here now, stays."""
        gc.collect()
        self.freeze()

    def freeze(self) -> None:
        """As `settle`, for who does not stay long: garbage that is here now stays, too, until the collector is back."""
        gc.freeze()

    def idle(self, now_ns: int) -> None:
        """Nothing to do just now: the time to collect."""
        self._collect_if_due(IDLE_EVERY_NS, now_ns)

    def busy(self, now_ns: int) -> None:
        """There is work: collect only what would otherwise pile up."""
        self._collect_if_due(BUSY_EVERY_NS, now_ns)

    def _collect_if_due(self, every_ns: dict[int, int], now_ns: int) -> None:
        if now_ns - self._collected_ns[_YOUNG] < every_ns[_YOUNG] and gc.get_count()[0] < MOST_NEW_OBJECTS:
            return
        due = _ALL if now_ns - self._collected_ns[_ALL] >= max(every_ns[_ALL], self._rest_ns) else _YOUNG
        gc.collect(due)
        ended_ns = self._now_ns()
        self._collected_ns[_YOUNG] = ended_ns
        if due == _ALL:
            self._collected_ns[_ALL] = ended_ns
            self._rest_ns = int((ended_ns - now_ns) / MOST_SHARE)

    def close(self) -> None:
        """Gives the collector back."""
        gc.enable()
        gc.unfreeze()
