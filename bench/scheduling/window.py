"""What happened between two looks at a run."""

import math

import msgspec

from penstock._native import Histogram


class Times(msgspec.Struct, frozen=True, kw_only=True):
    """Processing times: from a spout's emission to the end of the work of a component that nobody reads."""

    tuples: int
    mean_ms: float
    p50_ms: float
    p99_ms: float


def times_between(earlier: bytes | None, later: bytes | None) -> Times | None:
    """Of what came to its end between two looks, given the histograms as a run's metrics had them; None: nothing."""
    if later is None:
        return None
    after = Histogram.from_bytes(later)
    before = Histogram() if earlier is None else Histogram.from_bytes(earlier)
    count = after.count - before.count
    if count <= 0:
        return None
    known = {lowest: number for lowest, _, number in before.buckets()}
    buckets = [(highest, number - known.get(lowest, 0)) for lowest, highest, number in after.buckets()]
    total_ns = after.mean * after.count - (before.mean * before.count if before.count else 0.0)
    return Times(
        tuples=count,
        mean_ms=total_ns / count / 1e6,
        p50_ms=_percentile(buckets, count, 0.50) / 1e6,
        p99_ms=_percentile(buckets, count, 0.99) / 1e6,
    )


def _percentile(buckets: list[tuple[int, int]], count: int, fraction: float) -> int:
    """The nearest rank, as a histogram has it: the highest value of its bucket."""
    rank = max(1, math.ceil(fraction * count))
    for highest, number in buckets:
        rank -= number
        if rank <= 0:
            return highest
    message = f"buckets hold fewer than {count} values"
    raise ValueError(message)
