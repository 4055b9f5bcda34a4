"""What was measured, for people."""

from collections.abc import Sequence

from bench.report import Table, format_figure
from bench.scale.load import Saturation
from bench.scale.sizes import SizeRow
from bench.scale.soak import SoakSlice
from bench.scale.state import StateFigures
from bench.stats import Spread

_MOST_SLICES = 12


def size_table(title: str, rows: Sequence[SizeRow], rounds: int) -> Table:
    """What a tuple takes, by size."""
    return Table(
        title=title,
        columns=("size", "CPU µs per tuple", "stays in its worker", "MB per worker"),
        rows=tuple(
            (
                str(row.size),
                _spread(row.cpu_us_per_tuple),
                f"{row.local_share:.0%}",
                _spread(row.resident_mb_per_worker),
            )
            for row in rows
        ),
        note=f"All workers together, from when a task is open until it has finished; {rounds} rounds.",
    )


def load_table(load: Saturation, rounds: int) -> Table:
    """Latency by load."""
    return Table(
        title="Latency of a chain of three against load",
        columns=("load", "tuples/s", "p50 µs", "p99 µs", "p99.9 µs", "max µs", "CPU µs per tuple"),
        rows=tuple(
            (
                f"{row.share:.0%}",
                f"{row.rate_per_s:,}",
                *map(_spread, (row.p50_us, row.p99_us, row.p999_us, row.max_us, row.cpu_us_per_tuple)),
            )
            for row in load.rows
        ),
        note=f"100 % is what passes unthrottled, many at a time: {format_figure(load.tuples_per_s)} tuples/s. "
        "At a rate the spout gives one at a time, and is full sooner: then latency is how long the run was. "
        f"{rounds} rounds.",
    )


def state_table(state: StateFigures) -> Table:
    """What became of the state."""
    rows = (
        ("from `start` until it was filled, s", state.fill_s),
        ("memory of its worker, MB", state.resident_mb),
        ("checkpoint, MB", state.checkpoint_mb),
        ("longest pause of the output while it was saved, s", state.longest_pause_while_saved_s),
        ("moved to another worker, s", state.move_s),
        ("longest pause of the output meanwhile, s", state.longest_pause_while_moved_s),
        ("from `start` with its checkpoint to the first output, s", state.restore_s),
        ("the same with nearly no keys, s", state.restore_of_nothing_s),
    )
    return Table(
        title=f"Keyed state of {state.keys:,} keys in one task, exactly once",
        columns=("what", "measured"),
        rows=tuple((name, format_figure(value)) for name, value in rows),
    )


def soak_table(slices: Sequence[SoakSlice], slice_s: float, rate_per_s: int) -> Table:
    """Some slices, evenly chosen: the first and the last among them."""
    last = len(slices) - 1
    chosen = sorted({round(index * last / (_MOST_SLICES - 1)) for index in range(_MOST_SLICES)}) if slices else []
    return Table(
        title=f"A chain of three at {rate_per_s:,} tuples/s, at least once",
        columns=("after s", "p50 µs", "p99 µs", "CPU µs per tuple", "MB of all workers"),
        rows=tuple(
            (
                f"{(index + 1) * slice_s:,.0f}",
                *(
                    format_figure(value)
                    for value in (
                        slices[index].p50_us,
                        slices[index].p99_us,
                        slices[index].cpu_us_per_tuple,
                        slices[index].resident_mb,
                    )
                ),
            )
            for index in chosen
        ),
        note=f"{len(slices)} slices of {slice_s:g} s.",
    )


def _spread(spread: Spread) -> str:
    return f"{format_figure(spread.median)} ({format_figure(spread.lowest)}–{format_figure(spread.highest)})"
