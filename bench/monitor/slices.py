"""From notes to rates, and from rates to what is lost."""

from bisect import bisect_right
from collections.abc import Sequence

import msgspec


class Slice(msgspec.Struct, frozen=True, kw_only=True):
    """A stretch of the run, with load sampled so often, or not at all."""

    every_s: float | None
    began_ns: int
    ended_ns: int


def rate(notes: Sequence[Sequence[tuple[int, int]]], slice_: Slice) -> float:
    """How many tuples came in a second, in all tasks together."""
    came = sum(_count_at(task, slice_.ended_ns) - _count_at(task, slice_.began_ns) for task in notes)
    return came * 1e9 / (slice_.ended_ns - slice_.began_ns)


def _count_at(task: Sequence[tuple[int, int]], at_ns: int) -> float:
    """How many had come by then, in a straight line between two notes."""
    place = bisect_right(task, (at_ns, 1 << 62))
    if place == 0 or place == len(task):
        message = f"wanted notes before and after {at_ns}, got {len(task)} notes, {place} of them before"
        raise ValueError(message)
    (before_ns, before), (after_ns, after) = task[place - 1], task[place]
    return before + (after - before) * (at_ns - before_ns) / (after_ns - before_ns)


def ratios(rates: Sequence[tuple[float | None, float]]) -> list[float]:
    """Of each two neighbours that differ: the rate with sampling over that without."""
    found = []
    for (first, first_rate), (second, second_rate) in zip(rates[::2], rates[1::2], strict=False):
        assert (first is None) != (second is None), "one of two neighbours is not sampled"
        found.append(second_rate / first_rate if first is None else first_rate / second_rate)
    return found
