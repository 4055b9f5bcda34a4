"""What was measured, as tables."""

from collections.abc import Mapping, Sequence

from bench.paths.measured import DURATIONS, STAGES, Measured
from bench.paths.paths import Way
from bench.report import Table, format_figure
from bench.stats import Spread


def tables(measured: Measured, ways: Sequence[Way], *, rounds: int, every_s: float) -> tuple[Table, ...]:
    """What each way costs, what that is made of, and what Spark says of its micro-batches."""
    return _costs(measured, ways, rounds, every_s), _stages(measured, ways), _durations(measured, ways)


def _costs(measured: Measured, ways: Sequence[Way], rounds: int, every_s: float) -> Table:
    return Table(
        title="Milliseconds from the source to the last Python operator",
        columns=("path", "delivery", "p50", "p90", "p99"),
        rows=tuple(
            (
                *_titles(way),
                _text(measured.spread(str(way), lambda one: one.p50)),
                _text(measured.spread(str(way), lambda one: one.p90)),
                _text(measured.spread(str(way), lambda one: one.p99)),
            )
            for way in ways
        ),
        note=(
            f"A line every {every_s * 1000:g} ms over a TCP connection of the loopback interface. Over {rounds} "
            f"interleaved rounds: median (lowest–highest)."
        ),
    )


def _stages(measured: Measured, ways: Sequence[Way]) -> Table:
    names = [name for name, _ in STAGES[1:]]
    return Table(
        title="Where the milliseconds go: from the stage before, medians",
        columns=("path", "delivery", *names),
        rows=tuple((*_titles(way), *_cells(measured.medians(str(way), lambda one: one.stages), names)) for way in ways),
        note="Medians of parts do not add up to the median of the whole.",
    )


def _durations(measured: Measured, ways: Sequence[Way]) -> Table:
    return Table(
        title="The micro-batches of the query that reads the source: durationMs as Spark reports it, medians",
        columns=("path", "delivery", *DURATIONS),
        rows=tuple(
            (*_titles(way), *_cells(measured.medians(str(way), lambda one: one.durations), DURATIONS))
            for way in ways
            if way.queried_before
        ),
        note="addBatch has what the topology takes: until it is in charge of all rows.",
    )


def _titles(way: Way) -> tuple[str, str]:
    return way.name, (way.delivery or "").replace("_", " ")


def _cells(values: Mapping[str, float], names: Sequence[str]) -> tuple[str, ...]:
    return tuple(format_figure(values[name]) if name in values else "" for name in names)


def _text(spread: Spread) -> str:
    return f"{format_figure(spread.median)} ({format_figure(spread.lowest)}–{format_figure(spread.highest)})"
