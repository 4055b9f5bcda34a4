"""Time, as tasks and stamps see it. Injected, so that tests and simulations can make their own."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Protocol

__all__ = ["Clock", "SystemClock", "steady_ns_of"]


class Clock(Protocol):
    """The time in nanoseconds since the epoch: stamps are compared between nodes, so it is not the monotonic clock."""

    def now_ns(self) -> int:
        """The time now."""


class SystemClock:
    """The machine's clock. It may be set at any time, forward or back."""

    now_ns = staticmethod(time.time_ns)
    steady_ns = staticmethod(time.monotonic_ns)


def steady_ns_of(clock: Clock) -> Callable[[], int]:
    """What to wait by: a time that nobody sets. Only its differences mean something, and only in this process.

    A clock that somebody made has one time for everything, and it never goes back.
    """
    return clock.steady_ns if isinstance(clock, SystemClock) else clock.now_ns
