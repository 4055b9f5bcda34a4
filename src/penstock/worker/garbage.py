"""Garbage collection, kept off the hot path.

What exists when the tasks are open lives as long as the worker, so it is frozen. After that the collector runs when
there is nothing else to do; under load without a pause, seldom, and the youngest generations only.
"""

from __future__ import annotations

import gc

__all__ = ["GarbageKeeper"]

IDLE_EVERY_NS = 1_000_000_000
BUSY_EVERY_NS = 10_000_000_000


class GarbageKeeper:
    """Takes the collector over, and gives it back."""

    def __init__(self, now_ns: int) -> None:
        gc.collect()
        gc.freeze()
        gc.disable()
        self._collected_ns = now_ns

    def idle(self, now_ns: int) -> None:
        """Nothing to do just now: the time to collect."""
        if now_ns - self._collected_ns >= IDLE_EVERY_NS:
            gc.collect(1)
            self._collected_ns = now_ns

    def busy(self, now_ns: int) -> None:
        """There is work: collect only what would otherwise pile up."""
        if now_ns - self._collected_ns >= BUSY_EVERY_NS:
            gc.collect(1)
            self._collected_ns = now_ns

    def close(self) -> None:
        """Gives the collector back."""
        gc.enable()
        gc.unfreeze()
