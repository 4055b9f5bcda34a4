"""Partial results on their way to one task: put together as far as they may be. Pure.

Tuples of many sources wait here until they are sent on, and meanwhile any two may become one. There is a limit to that,
the markers: a task that saves its state at a marker must have all from before it, and nothing from after it. So

    tuples are put together only when their sources have passed the same markers,

and what has become of them travels in the name of one of those sources, its speaker. Before the marker of a source
is passed on, what its tuples have gone into is sent. So on each channel that the target knows of, an edge and a source,
nothing from before a marker comes after it, and nothing from after it comes before, whoever speaks for whom.

Where trees are tracked, tuples count as sent under the number of the frame that they will travel in as soon as they
are here: so their trees stay open, however long they wait.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeAlias

import msgspec

from penstock.flow.ledger import UNTRACKED, AckBook
from penstock.flow.runs import Runs, split_runs

__all__ = ["Combining", "Fold", "Partial", "Parting"]

Fold: TypeAlias = Callable[[Any, Any], Any]
"""Puts two tuples together; None if that cannot be done."""


class Partial(msgspec.Struct, kw_only=True, gc=False, eq=False):
    """One tuple that waits, and all that it stands for."""

    tup: Any
    origin_ns: int
    """When the oldest of what it stands for entered the topology."""
    frame: int
    runs: Counter[int] = msgspec.field(default_factory=Counter)
    """How many tuples of which trees."""
    debts: Counter[Any] = msgspec.field(default_factory=Counter)
    """What is owed for it when it is sent, and how much of it: credit, to those who have sent what it stands for."""


class Parting(msgspec.Struct, frozen=True, gc=False):
    """What is to be sent now, and in whose name."""

    speaker: int
    partials: list[Partial]


class Combining:
    """What waits in one worker on one edge, by the newest marker that its sources have passed.

    Args:
        fold: puts two tuples together.
        book: where tuples are counted as sent; None where trees are not tracked.
    """

    def __init__(self, fold: Fold, book: AckBook | None) -> None:
        self._fold = fold
        self._book = book
        self._passed: dict[int, int] = {}
        """The epoch of the newest marker that each source has passed here. Sources that have ended are not in it."""
        self._waiting: dict[int, list[Partial]] = {}
        """By that epoch."""

    def __bool__(self) -> bool:
        """Whether anything waits."""
        return bool(self._waiting)

    def add(self, source: int, tuples: Iterable[Any], runs: Runs, origin_ns: int) -> None:
        """Takes tuples of a source of this worker. The runs are those of the tuples, or none."""
        waiting = self._with(source)
        partial: Partial | None = None
        count = 0
        for one in tuples:
            joined = self._join(waiting, one, origin_ns)
            if joined is not partial and partial is not None:
                runs = self._count(partial, count, runs)
                count = 0
            partial = joined
            count += 1
        if partial is not None:
            self._count(partial, count, runs)

    def absorb(
        self, source: int, one: Any, runs: Runs, frame: int, origin_ns: int, debts: Sequence[tuple[Any, int]]
    ) -> None:
        """Takes what another worker has put together and sent in the name of a source, in a frame of this number."""
        partial = self._join(self._with(source), one, origin_ns)
        for owed, amount in debts:
            partial.debts[owed] += amount
        if self._book is not None:
            self._book.processed(runs, frame)
            self._sent(partial, runs)

    def _with(self, source: int) -> list[Partial]:
        """What waits of all that have passed the same markers as a source."""
        return self._waiting.setdefault(self._passed.setdefault(source, 0), [])

    def _join(self, waiting: list[Partial], one: Any, origin_ns: int) -> Partial:
        if waiting:
            newest = waiting[-1]
            both = self._fold(newest.tup, one)
            if both is not None:
                newest.tup = both
                newest.origin_ns = min(newest.origin_ns, origin_ns)
                return newest
        frame = UNTRACKED if self._book is None else self._book.new_frame()
        waiting.append(Partial(tup=one, origin_ns=origin_ns, frame=frame))
        return waiting[-1]

    def _count(self, partial: Partial, count: int, runs: Runs) -> Runs:
        """The first so many tuples have become part of this; returns the runs of the others."""
        if self._book is None:
            return runs
        first, rest = split_runs(runs, count)
        self._sent(partial, first)
        return rest

    def _sent(self, partial: Partial, runs: Runs) -> None:
        assert self._book is not None
        self._book.sent(runs, partial.frame)
        for root, count in runs:
            partial.runs[root] += count

    def marker(self, source: int, epoch: int) -> list[Parting]:
        """A source passes a marker; returns what has to be sent before it."""
        before = self._before_marker_of(source)
        self._passed[source] = epoch
        return before

    def end(self, source: int) -> list[Parting]:
        """A source ends; returns what has to be sent before that is told."""
        before = self._before_marker_of(source)
        self._passed.pop(source, None)
        return before

    def _before_marker_of(self, source: int) -> list[Parting]:
        epoch = self._passed.get(source, 0)  # one that was never heard of may have been spoken for
        if epoch not in self._waiting:
            return []
        # In its own name or another's: all of them have yet to pass the marker.
        return [Parting(self._speaker(epoch), self._waiting.pop(epoch))]

    def take(self, may_send: Callable[[int], bool]) -> list[Parting]:
        """Takes what may be sent in the name of its speaker."""
        ready = [
            Parting(speaker, waiting)
            for epoch, waiting in self._waiting.items()
            if may_send(speaker := self._speaker(epoch))
        ]
        for parting in ready:
            del self._waiting[self._passed[parting.speaker]]
        return ready

    def stuck(self) -> set[int]:
        """The sources whose tuples wait here. After `take`: those that should emit no more for now."""
        return {source for source, epoch in self._passed.items() if epoch in self._waiting}

    def _speaker(self, epoch: int) -> int:
        # Always the same one of them, so that what is under way in all their names is bounded by one window of credit.
        return min(source for source, passed in self._passed.items() if passed == epoch)
