"""What was simulated and measured, as tables."""

from collections.abc import Callable, Sequence

from bench.backlog.measured import FIFO, Measured
from bench.backlog.simulated import Cell, delay_ms, fairness, worst_backlog
from bench.backlog.simulation import LBF, PAPERS, POLICIES, SKIPPING, Simulated
from bench.report import Table, format_figure
from bench.stats import Spread

_NOTE = (
    "10,000 slots of 100 µs, one tuple each. The median over the seeds (lowest to highest). The round robin of the "
    "paper gives empty queues their slot, too."
)


def simulation_tables(cells: Sequence[Cell], seeds: int) -> tuple[Table, ...]:
    """Figures 6 to 8."""
    return (
        _table("Simulated: worst backlog, tuples (figure 6)", cells, seeds, worst_backlog),
        _table("Simulated: average delay, ms (figure 8)", cells, seeds, delay_ms),
        _fairness(cells, seeds),
    )


def _table(title: str, cells: Sequence[Cell], seeds: int, value_of: Callable[[Simulated], float]) -> Table:
    return Table(
        title=title,
        columns=("queues", "tuples/s each", *POLICIES, "smaller than the paper's by", "than round robin by"),
        rows=tuple(
            (
                f"{cell.setting.queues}",
                f"{cell.setting.per_s:,}",
                *(spread_text(cell.spread(policy, value_of)) for policy in POLICIES),
                *(share_text(cell.reduction(LBF, against, value_of)) for against in (PAPERS, SKIPPING)),
            )
            for cell in cells
        ),
        note=f"{_NOTE} {seeds} seeds.",
    )


def _fairness(cells: Sequence[Cell], seeds: int) -> Table:
    return Table(
        title="Simulated: Jain's index of the backlogs, mean of nine slots (figure 7)",
        columns=("queues", "tuples/s each", *POLICIES),
        rows=tuple(
            (
                f"{cell.setting.queues}",
                f"{cell.setting.per_s:,}",
                *(spread_text(cell.spread(policy, fairness)) for policy in POLICIES),
            )
            for cell in cells
        ),
        note=f"1: all alike, or all empty. {_NOTE} {seeds} seeds.",
    )


def latency_tables(measured: Sequence[Measured], rounds: int) -> tuple[Table, ...]:
    """How old words are when they are counted, for each grouping and rate."""
    return tuple(
        Table(
            title=f"Latency: {one.experiment.name}",
            columns=(
                "policy",
                "mean, ms",
                "p99, ms",
                "mean of the slowest split task, ms",
                "mean smaller than fifo's by",
            ),
            rows=tuple(
                (
                    contestant,
                    spread_text(one.spread(contestant, "mean_ms")),
                    spread_text(one.spread(contestant, "p99_ms")),
                    spread_text(one.spread(contestant, "slowest_task_ms")),
                    "" if contestant == FIFO else share_text(one.reduction(contestant)),
                )
                for contestant in one.rounds
            ),
            note=f"The median of {rounds} rounds (lowest to highest).",
        )
        for one in measured
    )


def spread_text(spread: Spread) -> str:
    """The median, and the extremes in brackets."""
    return f"{format_figure(spread.median)} ({format_figure(spread.lowest)} to {format_figure(spread.highest)})"


def share_text(spread: Spread) -> str:
    """The same, of shares."""
    return f"{spread.median:.1%} ({spread.lowest:.1%} to {spread.highest:.1%})"
