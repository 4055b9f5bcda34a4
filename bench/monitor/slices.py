"""From notes to rates, and from rates to what is lost."""

from bisect import bisect_right
from collections.abc import Sequence

import msgspec


class Slice(msgspec.Struct, frozen=True, kw_only=True):
    """A stretch of the run, with load sampled so often, or not at all."""

    every_s: float | None
    began_ns: int
    ended_ns: int
    driver_cpu_s: float = 0.0
    """The CPU time that the driver's process took meanwhile, all threads together."""

    @property
    def driver_share(self) -> float:
        """How much of one core the driver's process took."""
        return self.driver_cpu_s * 1e9 / (self.ended_ns - self.began_ns)


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


def taken(slices: Sequence[Slice]) -> list[float]:
    """Of each two neighbours: how much more of a core the driver took with sampling than without.

    Whatever else the machine does takes workers' time, and hardly the driver's: so this is far more exact than what is
    lost of the throughput, and no more than that can be lost, where workers have all the rest.
    """
    return [
        second.driver_share - first.driver_share if first.every_s is None else first.driver_share - second.driver_share
        for first, second in zip(slices[::2], slices[1::2], strict=False)
    ]


def ratios(rates: Sequence[tuple[float | None, float]]) -> list[float]:
    """Of each two neighbours that differ: the rate with sampling over that without."""
    found = []
    for (first, first_rate), (second, second_rate) in zip(rates[::2], rates[1::2], strict=False):
        assert (first is None) != (second is None), "one of two neighbours is not sampled"
        found.append(second_rate / first_rate if first is None else first_rate / second_rate)
    return found
