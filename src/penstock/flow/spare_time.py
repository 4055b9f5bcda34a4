"""Spare time: which share of its time a worker had nothing to do lately."""

from __future__ import annotations

__all__ = ["SpareTime"]

WINDOW_NS = 250_000_000


class SpareTime:
    """Of one worker, by any clock that does not go back.

    >>> spare = SpareTime()
    >>> spare.idled(0, 150_000_000)
    >>> spare.share(300_000_000), spare.share(900_000_000)
    (0.5, 0.0)
    """

    def __init__(self) -> None:
        self._since_ns: int | None = None
        self._idle_ns = 0
        self._share = 0.0

    def idled(self, began_ns: int, ended_ns: int) -> None:
        """It has waited for something to do."""
        self._look(began_ns)
        self._idle_ns += ended_ns - began_ns
        self._look(ended_ns)

    def share(self, now_ns: int) -> float:
        """In the last stretch of time that is over; 0 before there was one."""
        self._look(now_ns)
        return self._share

    def _look(self, now_ns: int) -> None:
        if self._since_ns is None:
            self._since_ns = now_ns
        elapsed_ns = now_ns - self._since_ns
        if elapsed_ns >= WINDOW_NS:
            self._share = min(1.0, self._idle_ns / elapsed_ns)
            self._since_ns, self._idle_ns = now_ns, 0
