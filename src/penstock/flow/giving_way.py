"""When a worker lets another of its node go first, whose tasks of the same operator have more to send."""

from __future__ import annotations

__all__ = ["GivingWay"]


class GivingWay:
    """For one operator. Whoever has most never waits; who has less waits for an interval, then goes for one, and so on.

    So the way out is never left unused because somebody waits for one who does not send: not for more than half of the
    time, and not for longer than an interval.

    Args:
        interval_ns: Hone's τ.
    """

    def __init__(self, interval_ns: int) -> None:
        self._interval_ns = interval_ns
        self._since_ns: int | None = None

    def may_go(self, own: int, others: int, now_ns: int) -> bool:
        """Whether this worker sends now. `own` is its largest backlog, `others` the largest of the other workers."""
        if own >= others or not self._interval_ns:
            self._since_ns = None
            return True
        if self._since_ns is None:
            self._since_ns = now_ns
        return (now_ns - self._since_ns) // self._interval_ns % 2 == 1
