"""Means, percentiles, and the spread of a value over interleaved rounds."""

import math
import statistics
from collections.abc import Iterable, Mapping, Sequence
from typing import TypeVar

import msgspec

Key = TypeVar("Key")


class Spread(msgspec.Struct, frozen=True, kw_only=True):
    """A value measured once per round: the median stands for it, the extremes say how far to trust it."""

    median: float
    lowest: float
    highest: float

    @classmethod
    def over(cls, rounds: Iterable[float]) -> "Spread":
        """The spread of one value per round; at least one round."""
        values = list(rounds)
        return cls(median=statistics.median(values), lowest=min(values), highest=max(values))


class Distribution(msgspec.Struct, frozen=True, kw_only=True):
    """The latencies of one round in a few numbers, in the unit they came in."""

    mean: float
    p50: float
    p99: float
    p999: float
    highest: float

    @classmethod
    def of(cls, values: Iterable[float]) -> "Distribution":
        """Mean and percentiles of at least one value."""
        ordered = sorted(values)
        return cls(
            mean=statistics.fmean(ordered),
            p50=percentile(ordered, 0.50),
            p99=percentile(ordered, 0.99),
            p999=percentile(ordered, 0.999),
            highest=ordered[-1],
        )


def percentile(ordered: Sequence[float], fraction: float) -> float:
    """The smallest value that at least `fraction` of the ascending `ordered` do not exceed (nearest rank)."""
    return ordered[max(0, math.ceil(fraction * len(ordered)) - 1)]


def ratios(ours: Mapping[Key, float], theirs: Mapping[Key, float]) -> dict[Key, float]:
    """Ours over theirs, wherever both were measured."""
    return {key: value / theirs[key] for key, value in ours.items() if key in theirs}
