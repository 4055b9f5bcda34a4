"""Time that passes when the test says so.

>>> clock = VirtualClock()
>>> before_ns = clock.now_ns()
>>> clock.advance(1.5)
>>> clock.now_ns() - before_ns
1500000000
"""

from __future__ import annotations

from typing import Protocol

__all__ = ["VirtualClock", "Watcher"]

START_NS = 10**18
"""When a virtual clock begins: a billion seconds after the epoch, on 9 September 2001 at 01:46:40 UTC."""


class Watcher(Protocol):
    """What lives by a clock."""

    def settle(self) -> None:
        """Does all that there is to do at this instant."""

    def due_ns(self) -> int | None:
        """When there will be something to do again, if nothing comes from outside; None if never."""


class VirtualClock:
    """A clock for tests: it stands still until `advance`.

    Clusters that were made with it live by it. It stops on its way at every instant at which something is due in one of
    them, so that what happens does not depend on how far one call advances it.
    """

    def __init__(self) -> None:
        self._now_ns = START_NS
        self._watchers: list[Watcher] = []

    def now_ns(self) -> int:
        """The time in nanoseconds since the epoch."""
        return self._now_ns

    def advance(self, seconds: float) -> None:
        """Lets time pass, and everything happen that is due in it: ticks, and what spouts emit by the clock."""
        if seconds < 0:
            message = f"a clock cannot be turned back: wanted seconds >= 0, got {seconds!r}"
            raise ValueError(message)
        end_ns = self._now_ns + round(seconds * 1e9)
        self._settle()
        while (due_ns := self.next_due_ns()) is not None and due_ns <= end_ns:
            self._now_ns = max(self._now_ns, due_ns)
            self._settle()
        self._now_ns = end_ns
        self._settle()

    def let_pass(self, seconds: float) -> None:
        """Lets time pass in which nobody comes to do anything: what was due in it is late."""
        self._now_ns += round(seconds * 1e9)

    def next_due_ns(self) -> int | None:
        """When something is due next in what lives by this clock; None if nothing ever is."""
        return min((due_ns for watcher in self._watchers if (due_ns := watcher.due_ns()) is not None), default=None)

    def attach(self, watcher: Watcher) -> None:
        """From now on it lives by this clock."""
        self._watchers.append(watcher)

    def detach(self, watcher: Watcher) -> None:
        """It does so no more, if it did."""
        self._watchers = [other for other in self._watchers if other is not watcher]

    def _settle(self) -> None:
        for watcher in self._watchers:
            watcher.settle()
