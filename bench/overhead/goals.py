"""The figures to beat, judged on what was measured."""

from collections.abc import Sequence

from bench.overhead.contest import LatencyRow, ThroughputRow
from bench.report import Goal

_LATENCY_LIMIT = 0.7


def overhead_goals(
    ours: str,
    per_message: str,
    batched: Sequence[str],
    throughput: Sequence[ThroughputRow],
    latency: Sequence[LatencyRow],
) -> tuple[Goal, ...]:
    """Against the chain that sends a message per tuple, and against the best of those that batch by hand."""
    rates = {row.chain: row.tuples_per_s.median for row in throughput}
    best_batched = max((rates[name] for name in batched if name in rates), default=None)
    return (
        Goal(
            name="throughput_over_a_message_per_tuple",
            value=_ratio(rates.get(ours), rates.get(per_message)),
            comparison=">=",
            limit=2.0,
        ),
        Goal(
            name="throughput_over_batches_by_hand",
            value=_ratio(rates.get(ours), best_batched),
            comparison=">=",
            limit=1.0,
        ),
        *(
            Goal(
                name=f"{figure}_over_a_message_per_tuple_at_{rate}_per_s",
                value=_ratio(
                    _latency(latency, ours, rate, f"{figure}_us"), _latency(latency, per_message, rate, f"{figure}_us")
                ),
                comparison="<=",
                limit=_LATENCY_LIMIT,
            )
            for rate in sorted({row.rate_per_s for row in latency})
            for figure in ("p50", "p99")
        ),
    )


def _latency(rows: Sequence[LatencyRow], chain: str, rate_per_s: int, figure: str) -> float | None:
    for row in rows:
        if row.chain == chain and row.rate_per_s == rate_per_s:
            median: float = getattr(row, figure).median
            return median
    return None


def _ratio(ours: float | None, theirs: float | None) -> float | None:
    return ours / theirs if ours is not None and theirs else None
