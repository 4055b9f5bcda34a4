"""The measurements as tables."""

from collections.abc import Mapping, Sequence

from bench.report import Table, format_figure
from bench.stats import Spread
from bench.wordcount.contest import LatencyRow, ThroughputRow

_CPU_NOTE = (
    "CPU time is user and system time of all processes of a side, drivers, JVMs and workers, from the first sentence "
    "to the last count."
)


def throughput_table(rows: Sequence[ThroughputRow], rounds: int) -> Table:
    """Contestants down."""
    return Table(
        title="Words counted per second, unthrottled",
        columns=("system", "words/s", "CPU s per million words"),
        rows=tuple((row.contestant, _spread(row.words_per_s), _spread(row.cpu_us_per_word)) for row in rows),
        note=f"Over {rounds} interleaved rounds: median (lowest–highest). All counts were right. {_CPU_NOTE}",
    )


def latency_tables(rows: Sequence[LatencyRow], rounds: int) -> list[Table]:
    """One table per rate, contestants down."""
    return [
        Table(
            title=f"From a sentence that is due until its last word is counted, at {rate:,} sentences/s, ms",
            columns=("system", "p50", "p99", "p99.9", "max", "CPU s per million words"),
            rows=tuple(_latency(row) for row in rows if row.rate_per_s == rate),
            note=f"Over {rounds} interleaved rounds: median (lowest–highest). "
            f"Saturated: sentences were counted more slowly than they were due. {_CPU_NOTE}",
        )
        for rate in sorted({row.rate_per_s for row in rows})
    ]


def left_out_table(left_out: Mapping[str, str]) -> Table:
    """Who was not measured, and why."""
    return Table(title="Not measured", columns=("system", "reason"), rows=tuple(left_out.items()))


def _latency(row: LatencyRow) -> tuple[str, ...]:
    if row.saturated:
        return row.contestant, *["saturated"] * 4, _spread(row.cpu_us_per_word)
    figures = (row.p50_ms, row.p99_ms, row.p999_ms, row.max_ms, row.cpu_us_per_word)
    return row.contestant, *map(_spread, figures)


def _spread(spread: Spread | None) -> str:
    if spread is None:
        return "-"
    return f"{format_figure(spread.median)} ({format_figure(spread.lowest)}–{format_figure(spread.highest)})"
