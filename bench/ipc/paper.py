"""What the paper's section VI-A says in words, beside what was measured here.

TurboStream (figures 2(c) and 8): 16 cores of 1.2 GHz, Java 7, both ends in Java; the plots' own points are not given
as numbers.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from bench.ipc.contest import LatencyRow
from bench.ipc.goals import mean_ratios, paper_cells
from bench.ipc.netty import Netty
from bench.ipc.plan import KB, size_text
from bench.ipc.ring import Ring
from bench.report import Table, format_figure

RATE_PER_S = 3_000
NETTY_MEAN_MS = {10 * KB: 11.43, 40 * KB: 192.36}
REDUCTION_PERCENT = (45.64, 99.30)
RING_SIZE_OVER_MESSAGE = (50, 100)

# A ring is large enough when a larger one is not clearly better.
_CLEARLY = 1.25


def paper_figures() -> dict[str, Any]:
    """The paper's numbers, for the report."""
    return {
        "netty_mean_ms_at_3000_per_s": {size_text(size): mean for size, mean in NETTY_MEAN_MS.items()},
        "latency_reduction_percent": list(REDUCTION_PERCENT),
        "ring_size_over_message": list(RING_SIZE_OVER_MESSAGE),
    }


def paper_table(latency: Sequence[LatencyRow], ring_size: Mapping[int, Sequence[LatencyRow]]) -> Table:
    """The paper's numbers beside ours."""
    rows = [
        (
            f"Netty, mean at {size_text(size)} and {RATE_PER_S:,}/s",
            f"{theirs} ms",
            _one_mean(latency, Netty.name, size),
        )
        for size, theirs in NETTY_MEAN_MS.items()
    ]
    least, most = REDUCTION_PERCENT
    rows.append(
        (
            "ring's mean below Netty's, 10-320 KB at 100-3,000/s",
            f"{least} % to {most} %",
            _reductions(latency),
        )
    )
    fewest, enough = RING_SIZE_OVER_MESSAGE
    rows.extend(
        (
            f"ring large enough for {size_text(size)} at {RATE_PER_S:,}/s",
            f"{fewest} to {enough} messages",
            f"{capacity / size:.3g} messages ({size_text(capacity)})",
        )
        for size, capacity in large_enough(ring_size).items()
    )
    return Table(title="The paper's own numbers", columns=("what", "paper", "here"), rows=tuple(rows))


def large_enough(ring_size: Mapping[int, Sequence[LatencyRow]]) -> dict[int, int]:
    """By message size: the smallest capacity from which on no larger one is clearly better."""
    means: dict[int, dict[int, float]] = {}
    for capacity, rows in ring_size.items():
        for row in rows:
            means.setdefault(row.size_bytes, {})[capacity] = row.mean_us.median
    return {
        size: min(capacity for capacity, mean in by_capacity.items() if mean <= _CLEARLY * min(by_capacity.values()))
        for size, by_capacity in means.items()
    }


def _one_mean(latency: Sequence[LatencyRow], transport: str, size_bytes: int) -> str:
    for row in latency:
        if (row.transport, row.size_bytes, row.rate_per_s) == (transport, size_bytes, RATE_PER_S):
            return f"{format_figure(row.mean_us.median / 1e3)} ms"
    return "not measured"


def _reductions(latency: Sequence[LatencyRow]) -> str:
    found = paper_cells(mean_ratios(latency, Ring.name, Netty.name)).values()
    if not found:
        return "not measured"
    return f"{100 * (1 - max(found)):.2f} % to {100 * (1 - min(found)):.2f} %"
