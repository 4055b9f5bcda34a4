"""The figures to beat, judged on what was measured."""

import statistics
from collections.abc import Sequence

from bench.ipc.contest import LatencyRow, ThroughputRow
from bench.ipc.netty import Netty
from bench.ipc.pipe import Pipe
from bench.ipc.plan import KB
from bench.ipc.queue import Queue
from bench.ipc.ring import Ring, RingBatched
from bench.ipc.zeromq import ZeroMQ
from bench.report import Goal
from bench.stats import ratios

Cell = tuple[int, int]


def ipc_goals(latency: Sequence[LatencyRow], throughput: Sequence[ThroughputRow]) -> tuple[Goal, ...]:
    """All goals of this benchmark; over all cells that were measured, and none where a side is missing."""
    over_netty = list(paper_cells(mean_ratios(latency, Ring.name, Netty.name)).values())
    batched = _rate(throughput, RingBatched.name, 100)
    zeromq = _rate(throughput, ZeroMQ.name, 100)
    return (
        Goal(
            name="latency_over_netty_worst_cell",
            value=max(over_netty, default=None),
            comparison="<=",
            limit=0.55,
        ),
        Goal(
            name="latency_over_netty_median_cell",
            value=statistics.median(over_netty) if over_netty else None,
            comparison="<=",
            limit=0.4,
        ),
        *(
            Goal(
                name=f"latency_over_{short}_worst_cell",
                value=max(mean_ratios(latency, Ring.name, peer).values(), default=None),
                comparison="<",
                limit=1.0,
            )
            for short, peer in (("zeromq", ZeroMQ.name), ("pipe", Pipe.name), ("queue", Queue.name))
        ),
        Goal(name="write_many_messages_per_s_at_100_bytes", value=batched, comparison=">=", limit=1.5e6),
        Goal(
            name="write_many_throughput_over_zeromq_at_100_bytes",
            value=batched / zeromq if batched and zeromq else None,
            comparison=">=",
            limit=3.0,
        ),
    )


def mean_ratios(rows: Sequence[LatencyRow], ours: str, theirs: str) -> dict[Cell, float]:
    """The mean latency of one transport over another's, for each size and rate at which both were measured.

    A saturated cell counts like any other: the latency of whoever cannot keep up grows with every message.
    """
    return ratios(_means(rows, ours), _means(rows, theirs))


def paper_cells(cells: dict[Cell, float]) -> dict[Cell, float]:
    """The cells of the paper's figures 8(a) and 8(b)."""
    return {
        (size, rate): value
        for (size, rate), value in cells.items()
        if 10 * KB <= size <= 320 * KB and 100 <= rate <= 3_000
    }


def _means(rows: Sequence[LatencyRow], transport: str) -> dict[Cell, float]:
    return {(row.size_bytes, row.rate_per_s): row.mean_us.median for row in rows if row.transport == transport}


def _rate(rows: Sequence[ThroughputRow], transport: str, size_bytes: int) -> float | None:
    for row in rows:
        if row.transport == transport and row.size_bytes == size_bytes:
            return row.messages_per_s.median
    return None
