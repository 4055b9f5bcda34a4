"""What a spout that is started anew need not emit again. Pure.

A spout whose worker died goes on from the position of the oldest output that was not done. Much of what it had emitted
after that one may have been done: one slow tree is enough. So it is told which *stretches* between two of its positions
are done, and skips each by a `seek` from where it begins to where it ends.

A position is whatever the spout says. A stretch begins where the spout says that it is at the same position again; a
spout that never says so, because it gives more or less at a time now, skips nothing, and nothing is lost. Whole numbers
that go up are taken for what they are in every source that has them, the place in a sequence: a spout that is past the
beginning of a stretch skips the rest of it.

    >>> skips = Skips([Stretch(3, 7, 4), Stretch(9, 12, 3)])
    >>> skips.at(2), skips.at(5), skips.at(8), skips.at(13), len(skips)
    (None, Stretch(3, 7, 4), None, None, 0)
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from itertools import pairwise
from typing import Any

import msgspec

__all__ = ["MOST_STRETCHES", "Skips", "Stretch"]

MOST_STRETCHES = 256
"""How many are told of: the longest, because a report should stay small."""


class Stretch(msgspec.Struct, frozen=True, array_like=True):
    """From one position of a spout to another, all is done."""

    start: Any
    end: Any
    given: int
    """How many outputs that is."""

    def __repr__(self) -> str:
        return f"Stretch({self.start!r}, {self.end!r}, {self.given})"


class Skips:
    """The stretches that a spout has still to come to, in the order of the stream."""

    def __init__(self, stretches: Iterable[Stretch] = ()) -> None:
        self._stretches = deque(stretches)
        ends = [end for stretch in self._stretches for end in (stretch.start, stretch.end)]
        whole = all(type(end) is int for end in ends)
        self._in_order = whole and all(before <= after for before, after in pairwise(ends))

    def __len__(self) -> int:
        return len(self._stretches)

    def __iter__(self) -> Any:
        return iter(self._stretches)

    def at(self, position: Any) -> Stretch | None:
        """The stretch that a spout at this position is in, which is over then; None if it is in none."""
        stretches = self._stretches
        if self._in_order and type(position) is int:
            while stretches and stretches[0].end <= position:
                stretches.popleft()
            return stretches.popleft() if stretches and stretches[0].start <= position else None
        for index, stretch in enumerate(stretches):
            if stretch.start == position:
                for _ in range(index + 1):
                    stretches.popleft()
                return stretch
        return None

    def clear(self) -> None:
        """The spout is past all of them."""
        self._stretches.clear()
