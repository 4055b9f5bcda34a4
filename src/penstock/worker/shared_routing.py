"""Routing where a share of what a task emits stays in its worker, for a helper of the bolt that it feeds."""

from __future__ import annotations

from penstock._native import ByFunction, Routing
from penstock.worker.lanes import Lane
from penstock.worker.routing import Values

__all__ = ["ShareTaker", "with_share"]


class ShareTaker:
    """Takes a share of what comes, as evenly as whole tuples allow, and the same each time.

    >>> taker = ShareTaker(0.4)
    >>> [taker.take(1) for _ in range(10)], taker.take(100)
    ([0, 0, 1, 0, 1, 0, 0, 1, 0, 1], 40)
    """

    __slots__ = ("_due", "share")

    def __init__(self, share: float) -> None:
        self.share = share
        self._due = 0.0

    def take(self, count: int) -> int:
        """How many of so many tuples are in it."""
        # Rounded, because ten times a tenth is to be one.
        due = round(self._due + count * self.share, 9)
        taken = int(due)
        self._due = due - taken
        return taken


def with_share(plain: Routing, lane: Lane, taker: ShareTaker) -> Routing:
    """A share goes down this lane, and the rest as always."""
    take, plain_put, append = taker.take, plain.put, lane.append

    def put(values: Values) -> None:
        (append if take(1) else plain_put)(values)

    return ByFunction(put)
