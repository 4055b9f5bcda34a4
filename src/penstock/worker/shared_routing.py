"""Routing where a share of what a task emits stays in its worker, for a helper of the bolt that it feeds."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from penstock._native import all_tuples
from penstock.worker.lanes import Lane
from penstock.worker.routing import Outlet, Routing, Values, one_by_one

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
    """A share goes down this lane, and the rest as always. Lists of tuples are split, and not looked at one by one."""
    take, plain_put, plain_put_all, append = taker.take, plain.put, plain.put_all, lane.append

    def put_one(values: Values) -> None:
        (append if take(1) else plain_put)(values)

    put, put_each = one_by_one(put_one)

    def put_all(outputs: Iterable[Any], outlet: Outlet) -> None:
        if outputs.__class__ is not list or not all_tuples(outputs):
            put_each(outputs, outlet)
            return
        taken = take(len(outputs))
        lane.tuples.extend(outputs[:taken])
        outlet.emitted += taken
        if taken < len(outputs):
            plain_put_all(outputs[taken:], outlet)

    return Routing(put, put_all)
