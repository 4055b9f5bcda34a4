"""What was measured, as tables."""

from collections.abc import Mapping, Sequence

from bench.frames.contest import Rate
from bench.report import Table, format_figure
from bench.stats import Spread


def rates_table(title: str, rates: Sequence[Rate], rows: int, rounds: int) -> Table:
    """Contestants down."""
    best = max((rate.rows_per_s.median for rate in rates), default=1.0)
    return Table(
        title=title,
        columns=("", "rows/s", "of the fastest"),
        rows=tuple((one.name, _spread(one.rows_per_s), format_figure(one.rows_per_s.median / best)) for one in rates),
        note=(
            f"{rows:,} rows, from the call to the last row made, thrown away by the `noop` sink. "
            f"Over {rounds} interleaved rounds: median (lowest–highest). All answers were right."
        ),
    )


def left_out_table(left_out: Mapping[str, str]) -> Table:
    """Who was not measured, and why."""
    return Table(title="Not measured", columns=("", "reason"), rows=tuple(left_out.items()))


def _spread(spread: Spread) -> str:
    return f"{format_figure(spread.median)} ({format_figure(spread.lowest)}–{format_figure(spread.highest)})"
