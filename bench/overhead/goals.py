"""The figures to beat, judged on what was measured."""

from collections.abc import Sequence

import msgspec

from bench.overhead.chain import Chain
from bench.overhead.contest import LatencyRow, ThroughputRow
from bench.report import Goal

_CPU_RATE_PER_S = 1_000
"""Slow enough that every tuple wakes every process: what a tuple costs at most."""


class Roles(msgspec.Struct, frozen=True, kw_only=True):
    """Which chain is which, by name."""

    ours: str
    per_message: str
    """Sends a message per tuple, by hand."""
    batched: Sequence[str]
    """Those that batch by hand."""
    rings: str
    """Bare rings, with no tuples."""


def overhead_goals(
    roles: Roles, throughput: Sequence[ThroughputRow], latency: Sequence[LatencyRow]
) -> tuple[Goal, ...]:
    """Against a message per tuple, the best of those that batch by hand, and bare rings; and CPU time as such."""
    rates = {row.chain: row.tuples_per_s.median for row in throughput}
    best_batched = max((rates[name] for name in roles.batched if name in rates), default=None)
    cpu_us = _figure(latency, roles.ours, _CPU_RATE_PER_S, "cpu_us_per_tuple")
    rates_per_s = sorted({row.rate_per_s for row in latency})
    return (
        Goal(
            name="throughput_over_a_message_per_tuple",
            value=_ratio(rates.get(roles.ours), rates.get(roles.per_message)),
            comparison=">=",
            limit=2.0,
        ),
        Goal(
            name="throughput_over_batches_by_hand",
            value=_ratio(rates.get(roles.ours), best_batched),
            comparison=">=",
            limit=1.2,
        ),
        *(
            Goal(
                name=f"{figure}_over_{whom}_at_{rate}_per_s",
                value=_ratio(
                    _figure(latency, roles.ours, rate, f"{figure}_us"), _figure(latency, other, rate, f"{figure}_us")
                ),
                comparison="<=",
                limit=limit,
            )
            for rate in rates_per_s
            for figure, whom, other, limit in (
                ("p50", "a_message_per_tuple", roles.per_message, 0.5),
                ("p99", "a_message_per_tuple", roles.per_message, 0.5),
                ("p50", "two_raw_ring_hops", roles.rings, 1.4),
            )
        ),
        Goal(
            name=f"cpu_us_per_tuple_and_worker_at_{_CPU_RATE_PER_S}_per_s",
            value=None if cpu_us is None else cpu_us / Chain.processes,
            comparison="<=",
            limit=40.0,
        ),
    )


def _figure(rows: Sequence[LatencyRow], chain: str, rate_per_s: int, figure: str) -> float | None:
    for row in rows:
        if row.chain == chain and row.rate_per_s == rate_per_s:
            median: float = getattr(row, figure).median
            return median
    return None


def _ratio(ours: float | None, theirs: float | None) -> float | None:
    return ours / theirs if ours is not None and theirs else None
