"""Time, as tasks and stamps see it. Injected, so that tests and simulations can make their own."""

from __future__ import annotations

import time
from typing import Protocol

__all__ = ["Clock", "SystemClock"]


class Clock(Protocol):
    """The time in nanoseconds since the epoch: stamps are compared between nodes, so it is not the monotonic clock."""

    def now_ns(self) -> int:
        """The time now."""


class SystemClock:
    """The machine's clock."""

    now_ns = staticmethod(time.time_ns)
