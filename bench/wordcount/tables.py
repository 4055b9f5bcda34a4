"""The measurements as tables."""

from collections.abc import Mapping, Sequence

from bench.report import Table, format_figure
from bench.stats import Spread
from bench.wordcount.contest import LatencyRow, ThroughputRow


def throughput_table(rows: Sequence[ThroughputRow], rounds: int) -> Table:
    """Contestants down."""
    return Table(
        title="Words counted per second, unthrottled",
        columns=("system", "words/s"),
        rows=tuple((row.contestant, _spread(row.words_per_s)) for row in rows),
        note=f"Over {rounds} interleaved rounds: median (lowest–highest). All counts were right.",
    )


def latency_tables(rows: Sequence[LatencyRow], rounds: int) -> list[Table]:
    """One table per rate, contestants down."""
    return [
        Table(
            title=f"From a sentence that is due until its last word is counted, at {rate:,} sentences/s, ms",
            columns=("system", "p50", "p99"),
            rows=tuple(_latency(row) for row in rows if row.rate_per_s == rate),
            note=f"Over {rounds} interleaved rounds: median (lowest–highest). "
            "Saturated: sentences were counted more slowly than they were due.",
        )
        for rate in sorted({row.rate_per_s for row in rows})
    ]


def left_out_table(left_out: Mapping[str, str]) -> Table:
    """Who was not measured, and why."""
    return Table(title="Not measured", columns=("system", "reason"), rows=tuple(left_out.items()))


def _latency(row: LatencyRow) -> tuple[str, ...]:
    if row.saturated:
        return row.contestant, "saturated", "saturated"
    return row.contestant, _spread(row.p50_ms), _spread(row.p99_ms)


def _spread(spread: Spread) -> str:
    return f"{format_figure(spread.median)} ({format_figure(spread.lowest)}–{format_figure(spread.highest)})"
