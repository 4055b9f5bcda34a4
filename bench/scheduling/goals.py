"""What is wanted of schedulers, judged on what was measured."""

import msgspec

from bench.report import Goal
from bench.scheduling.measured import Cell, Measured
from bench.scheduling.plan import EVEN, FLOOR, PENSTOCK
from bench.scheduling.rates import MOST_SHARE


class Promise(msgspec.Struct, frozen=True, kw_only=True):
    """By which part a paper's scheduler has shortened the average processing time of one topology."""

    name: str
    topology: str
    """How the names of its cells begin."""
    contestant: str
    reduction: float


PROMISES = (
    Promise(name="throughput_test_gamma_1", topology="Throughput Test", contestant="t-storm 1", reduction=0.83),
    Promise(name="word_count_gamma_1", topology="Word Count", contestant="t-storm 1", reduction=0.49),
    Promise(name="log_stream_gamma_1", topology="Log Stream", contestant="t-storm 1", reduction=0.54),
    Promise(name="throughput_test_fewer_nodes", topology="Throughput Test", contestant="t-storm 1.7", reduction=0.84),
    Promise(name="word_count_fewer_nodes", topology="Word Count", contestant="t-storm 1.8", reduction=0.42),
    Promise(name="log_stream_fewer_nodes", topology="Log Stream", contestant="t-storm 1.7", reduction=0.27),
    Promise(name="sol_2n8w", topology="SOL, 2N8W", contestant="turbo offline", reduction=0.5984),
)


def goals(measured: Measured) -> tuple[Goal, ...]:
    """Each with what was measured. A reduction that not even one worker for all would have reached is no goal."""
    found = []
    for promise in PROMISES:
        cell = cell_of(measured, promise)
        if cell is None or has_that_to_lose(cell, promise):
            found += [
                Goal(
                    name=f"reduction_by_{who}_{promise.name}",
                    value=None if cell is None else cell.reduction(contestant),
                    comparison=">=",
                    limit=promise.reduction,
                )
                for who, contestant in (("the_papers", promise.contestant), (PENSTOCK, PENSTOCK))
            ]
    worst = max((behind_the_best(cell) for cell in measured.cells if PENSTOCK in cell.rounds), default=None)
    busiest = max((cell.chosen.core_share for cell in measured.cells), default=None)
    return (
        *found,
        Goal(name="penstock_over_the_best_other_worst_cell", value=worst, comparison="<=", limit=1.05),
        # Not a wish but a condition: without it the figures above say little about links.
        Goal(name="cores_busy_under_even_worst_cell", value=busiest, comparison="<", limit=MOST_SHARE),
    )


def cell_of(measured: Measured, promise: Promise) -> Cell | None:
    """The cell that a promise is about; None if it was not measured."""
    return next((cell for cell in measured.cells if cell.name.startswith(promise.topology)), None)


def has_that_to_lose(cell: Cell, promise: Promise) -> bool:
    """Whether everything in one worker, which is the least there is, would be a reduction by as much."""
    most = cell.reduction(FLOOR)
    return most is not None and most >= promise.reduction


def behind_the_best(cell: Cell) -> float:
    """The average processing time of `penstock` over that of the best other scheduler, each against `even`."""
    others = [name for name in cell.rounds if name not in (PENSTOCK, FLOOR)]
    best = min(1.0 if name == EVEN else cell.over_even(name).median for name in others)
    return cell.over_even(PENSTOCK).median / best
