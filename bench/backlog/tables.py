"""What was simulated, as tables."""

from collections.abc import Callable, Sequence

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


def spread_text(spread: Spread) -> str:
    """The median, and the extremes in brackets."""
    return f"{format_figure(spread.median)} ({format_figure(spread.lowest)} to {format_figure(spread.highest)})"


def share_text(spread: Spread) -> str:
    """The same, of shares."""
    return f"{spread.median:.1%} ({spread.lowest:.1%} to {spread.highest:.1%})"
