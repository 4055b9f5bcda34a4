"""Spells: how long and how often something was so, by what it is. Pure: whoever tells of it tells the time.

>>> spells = Spells()
>>> spells.begin("rain", 10)
>>> spells.begin("rain", 12)  # it has begun
>>> spells.total_ns("rain", 15), spells.end("rain", 20), spells.total_ns("rain", 99), spells.count["rain"]
(5, None, 10, 1)
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable
from typing import Generic, TypeVar

__all__ = ["Spells"]

What = TypeVar("What", bound=Hashable)


class Spells(Generic[What]):
    """What is so, since when, and how long it was so before."""

    def __init__(self) -> None:
        self.since_ns: dict[What, int] = {}
        """What is so now."""
        self._before_ns: Counter[What] = Counter()
        self.count: Counter[What] = Counter()
        """How often each began."""

    def begin(self, what: What, now_ns: int) -> None:
        """It is so from now on, unless it is already."""
        if what not in self.since_ns:
            self.since_ns[what] = now_ns
            self.count[what] += 1

    def end(self, what: What, now_ns: int) -> None:
        """It is so no more, if it was."""
        since_ns = self.since_ns.pop(what, None)
        if since_ns is not None:
            self._before_ns[what] += now_ns - since_ns

    def total_ns(self, what: What, now_ns: int) -> int:
        """How long it was so, in all."""
        return self._before_ns[what] + now_ns - self.since_ns.get(what, now_ns)

    def ever(self) -> set[What]:
        """What was so, at any time."""
        return {*self.count}
