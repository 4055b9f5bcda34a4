"""The measurements as tables."""

from collections.abc import Mapping, Sequence

from bench.overhead.contest import LatencyRow, ThroughputRow
from bench.report import Table, format_figure
from bench.stats import Spread

_CPU_NOTE = "CPU time is user and system time of all three processes together, all their threads included."


def throughput_table(rows: Sequence[ThroughputRow], rounds: int) -> Table:
    """Chains down."""
    return Table(
        title="Throughput of tuples of 100 bytes through three processes",
        columns=("chain", "tuples/s", "µs per tuple and hop", "CPU µs per tuple"),
        rows=tuple(
            (row.chain, _spread(row.tuples_per_s), _spread(row.us_per_hop), _spread(row.cpu_us_per_tuple))
            for row in rows
        ),
        note=f"Unthrottled, over {rounds} interleaved rounds: median (lowest–highest). {_CPU_NOTE}",
    )


def latency_table(rows: Sequence[LatencyRow], rounds: int) -> Table:
    """Chains and rates down."""
    return Table(
        title="Latency from the first to the third process, µs",
        columns=("chain", "tuples/s", "mean", "p50", "p99", "p99.9", "max", "CPU µs per tuple"),
        rows=tuple(
            (
                row.chain,
                f"{row.rate_per_s:,}",
                *map(_spread, (row.mean_us, row.p50_us, row.p99_us, row.p999_us, row.max_us, row.cpu_us_per_tuple)),
            )
            for row in sorted(rows, key=lambda row: row.rate_per_s)
        ),
        note=f"Over {rounds} interleaved rounds: median (lowest–highest). {_CPU_NOTE}",
    )


def left_out_table(left_out: Mapping[str, str]) -> Table:
    """Who was not measured, and why."""
    return Table(title="Not measured", columns=("chain", "reason"), rows=tuple(left_out.items()))


def _spread(spread: Spread) -> str:
    return f"{format_figure(spread.median)} ({format_figure(spread.lowest)}–{format_figure(spread.highest)})"
