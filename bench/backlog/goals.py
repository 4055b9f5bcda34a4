"""What is wanted of largest backlog first, judged on what was simulated and measured."""

from collections.abc import Callable, Sequence
from statistics import fmean

from bench.backlog.measured import Measured
from bench.backlog.simulated import Cell, delay_ms, worst_backlog
from bench.backlog.simulation import LBF, PAPERS, SKIPPING, Simulated
from bench.report import Goal

PAPERS_BACKLOG_REDUCTION = 0.833
PAPERS_DELAY_REDUCTION = 0.898
PAPERS_LATENCY_REDUCTION = 0.787


def simulation_goals(cells: Sequence[Cell]) -> tuple[Goal, ...]:
    """At best as much smaller as in the paper, and never larger; against either round robin, where they differ."""

    def best(against: str, value_of: Callable[[Simulated], float]) -> float:
        return max(cell.reduction(LBF, against, value_of).median for cell in cells)

    def least(against: str, value_of: Callable[[Simulated], float]) -> float:
        return min(cell.reduction(LBF, against, value_of).lowest for cell in cells)

    return (
        Goal(
            name="simulated_worst_backlog_reduction_best",
            value=best(PAPERS, worst_backlog),
            comparison=">=",
            limit=PAPERS_BACKLOG_REDUCTION,
        ),
        Goal(
            name="simulated_delay_reduction_best",
            value=best(PAPERS, delay_ms),
            comparison=">=",
            limit=PAPERS_DELAY_REDUCTION,
        ),
        Goal(
            name="simulated_worst_backlog_reduction_any_seed",
            value=least(PAPERS, worst_backlog),
            comparison=">=",
            limit=0,
        ),
        Goal(name="simulated_delay_reduction_any_seed", value=least(PAPERS, delay_ms), comparison=">=", limit=0),
        Goal(
            name="simulated_worst_backlog_reduction_any_seed_if_empty_queues_are_skipped",
            value=least(SKIPPING, worst_backlog),
            comparison=">=",
            limit=0,
        ),
    )


def latency_goals(measured: Sequence[Measured]) -> tuple[Goal, ...]:
    """On average over all intervals, as in the paper; of each grouping."""
    found = []
    for grouping in sorted({one.experiment.grouping for one in measured}):
        of_grouping = [one for one in measured if one.experiment.grouping == grouping]
        found.append((f"latency_reduction_{grouping.replace(' ', '_')}", of_grouping))
    return tuple(
        Goal(
            name=name,
            value=fmean(reduction.median for one in some for reduction in one.reductions().values()),
            comparison=">=",
            limit=PAPERS_LATENCY_REDUCTION,
        )
        for name, some in [("latency_reduction", list(measured)), *found]
        if some
    )
