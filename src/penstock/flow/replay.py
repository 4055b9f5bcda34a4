"""What a spout that is started anew need not emit again. Pure.

A spout whose worker died goes on from the position of the oldest output that was not done. Much of what it had emitted
after that one may have been done: one slow tree is enough. So it is told which *stretches* between two of its positions
are done, and skips each by a `seek` from where it begins to where it ends.

A position is whatever the spout says. A stretch begins where the spout says that it is at the same position again; a
spout that never says so, because it gives more or less at a time now, skips nothing, and nothing is lost. Whole numbers
that go up are taken for what they are in every source that has them, the place in a sequence: a spout that is past the
beginning of a stretch skips the rest of it.

So the positions at which turns began have to tell these turns apart: whole numbers go up, and no other position comes
twice. A spout whose position stays the same while it gives a block tuple by tuple, or that goes round and comes to a
position again, is told of no stretch: it could skip what is not done, which began at the same position.

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

__all__ = ["MOST_STRETCHES", "Places", "Skips", "Stretch"]

MOST_STRETCHES = 256
"""How many are told of: the longest, because a report should stay small."""


MOST_PLACES = 100_000
"""How many positions are remembered that are no whole numbers. Beyond that nothing is skipped, which costs no tuple."""


class Places:
    """The positions at which turns have begun since the oldest that is not done.

    >>> places = Places()
    >>> for position in (3, 7, 9):
    ...     places.add(position)
    >>> places.tell_turns_apart
    True
    >>> places.add(8)
    >>> places.tell_turns_apart
    False
    """

    def __init__(self) -> None:
        self._seen: set[Any] = set()
        self._highest: int | None = None
        self.tell_turns_apart = True

    def add(self, position: Any) -> None:
        """A turn begins there."""
        if type(position) is int:
            if self._seen or (self._highest is not None and position <= self._highest):
                self.tell_turns_apart = False
            self._highest = position
        elif self._highest is not None or position in self._seen or len(self._seen) >= MOST_PLACES:
            self.tell_turns_apart = False
        else:
            self._seen.add(position)

    def clear(self) -> None:
        """All turns are done."""
        self._seen.clear()
        self._highest = None
        self.tell_turns_apart = True


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
