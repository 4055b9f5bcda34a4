"""What was measured, as tables: a table for each topology and layout, schedulers down."""

from bench.report import Table, format_figure
from bench.scheduling.gap import Gap
from bench.scheduling.goals import PROMISES, cell_of, has_that_to_lose
from bench.scheduling.measured import Cell, Measured, Overload
from bench.scheduling.plan import FLOOR, PENSTOCK
from bench.scheduling.planning import Planned
from bench.stats import Spread


def tables(measured: Measured, rounds: int) -> tuple[Table, ...]:
    """All of them."""
    return (
        *(_cell(cell, rounds) for cell in measured.cells),
        _promises(measured),
        _overloads(measured.overloads),
        _gaps(measured.gaps),
        _planned(measured.planned),
    )


def _cell(cell: Cell, rounds: int) -> Table:
    return Table(
        title=cell.name,
        columns=(
            "scheduler",
            "average ms",
            "of even",
            "p99 ms",
            "nodes",
            "workers",
            "tuples/s between nodes",
            "KB/s between nodes",
            "tuples/s between workers of a node",
            "tuples/s within workers",
            "cores busy",
        ),
        rows=tuple(_row(cell, name) for name in cell.rounds),
        note=(
            f"Over {rounds} interleaved rounds: median (lowest–highest); the rest is of the median round. "
            f"{format_figure(cell.chosen.per_s)} tuples/s from each spout task; without input "
            f"{cell.chosen.idle_share:.0%} of the cores are busy."
        ),
    )


def _row(cell: Cell, name: str) -> tuple[str, ...]:
    sample = cell.typical(name)
    return (
        name,
        _spread(cell.mean_ms(name)),
        _spread(cell.over_even(name)),
        format_figure(sample.times.p99_ms),
        str(sample.nodes),
        str(sample.workers),
        format_figure(sample.traffic.between_nodes_tuples_per_s),
        format_figure(sample.traffic.between_nodes_bytes_per_s / 1024),
        format_figure(sample.traffic.between_workers_tuples_per_s),
        format_figure(sample.traffic.within_workers_tuples_per_s),
        f"{sample.core_share:.0%}",
    )


def _promises(measured: Measured) -> Table:
    rows = []
    for promise in PROMISES:
        cell = cell_of(measured, promise)
        if cell is not None:
            rows.append(
                (
                    cell.name,
                    promise.contestant,
                    f"{promise.reduction:.0%}",
                    _percent(cell.reduction(promise.contestant)),
                    _percent(cell.reduction(PENSTOCK)),
                    _percent(cell.reduction(FLOOR)),
                    "yes" if has_that_to_lose(cell, promise) else "no",
                )
            )
    return Table(
        title="Reductions of the average processing time against even",
        columns=("topology", "scheduler", "paper", "here", "penstock", "at most: all in one worker", "is a goal"),
        rows=tuple(rows),
    )


def _overloads(overloads: list[Overload]) -> Table:
    return Table(
        title="All in one worker, then twice the input",
        columns=("topology", "average ms before", "worst average ms", "spread after s", "average ms at the end"),
        rows=tuple(
            (one.name, *map(_figure, (one.before_ms(), one.worst_ms(), one.spread_after_s(), one.after_ms())))
            for one in overloads
        ),
        note="Averages of each second, as in T-Storm's figures 9 and 10.",
    )


def _gaps(gaps: list[Gap]) -> Table:
    return Table(
        title="From the optimum, on small topologies",
        columns=("scheduler", "cases", "optimal", "overloads more", "median", "worst", "of what can be saved"),
        rows=tuple(
            (
                one.scheduler,
                str(one.cases),
                str(one.optimal),
                str(one.overloaded),
                f"{one.median:.1%}",
                f"{one.worst:.1%}",
                f"{one.saved:.1%}",
            )
            for one in gaps
        ),
        note="Predicted cost less that of the optimum, as a share of even's; random chains of 4 to 16 tasks.",
    )


def _planned(planned: list[Planned]) -> Table:
    return Table(
        title="Seconds that a plan takes",
        columns=("scheduler", "tasks", "nodes", "pairs", "seconds", "predicted cost over even's"),
        rows=tuple(
            (
                one.scheduler,
                f"{one.tasks:,}",
                f"{one.nodes:,}",
                f"{one.pairs:,}",
                format_figure(one.wall_s),
                format_figure(one.cost_over_even),
            )
            for one in planned
        ),
    )


def _figure(value: float | None) -> str:
    return "-" if value is None else format_figure(value)


def _percent(value: float | None) -> str:
    return "-" if value is None else f"{value:.0%}"


def _spread(spread: Spread) -> str:
    if spread.lowest == spread.highest:
        return format_figure(spread.median)
    return f"{format_figure(spread.median)} ({format_figure(spread.lowest)}–{format_figure(spread.highest)})"
