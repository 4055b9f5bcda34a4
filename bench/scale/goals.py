"""The figures to beat, judged on what was measured."""

import statistics
from collections.abc import Callable, Sequence

from bench.report import Goal
from bench.scale.sizes import SizeRow
from bench.scale.soak import SoakSlice
from bench.scale.state import StateFigures

_FLAT = 1.25
"""What costs so much more than at its smallest is called flat."""
_DRIFT = 1.1
_LEAST_SLICES = 6
"""The first is for warming up, and of the rest the first half is held against the second."""


def scale_goals(
    by_tasks: Sequence[SizeRow], by_workers: Sequence[SizeRow], state: StateFigures, slices: Sequence[SoakSlice]
) -> tuple[Goal, ...]:
    """Flat costs, pauses that a user would bear, no drift."""
    return (
        _flat("dearest_tuple_over_that_of_fewest_tasks", by_tasks),
        _flat("dearest_tuple_over_that_of_fewest_workers", by_workers),
        Goal(name="pause_s_while_saved", value=state.longest_pause_while_saved_s, comparison="<=", limit=1.0),
        Goal(name="pause_s_while_moved", value=state.longest_pause_while_moved_s, comparison="<=", limit=5.0),
        _drift("drift_of_cpu", slices, lambda one: one.cpu_us_per_tuple),
        _drift("drift_of_memory", slices, lambda one: one.resident_mb),
        _drift("drift_of_p50", slices, lambda one: one.p50_us),
    )


def _flat(name: str, rows: Sequence[SizeRow]) -> Goal:
    costs = [row.cpu_us_per_tuple.median for row in rows]
    return Goal(name=name, value=max(costs) / costs[0] if costs else None, comparison="<=", limit=_FLAT)


def _drift(name: str, slices: Sequence[SoakSlice], of: Callable[[SoakSlice], float]) -> Goal:
    values = [of(one) for one in slices[1:]]
    middle = len(values) // 2
    value = None
    if len(slices) >= _LEAST_SLICES:
        value = statistics.median(values[middle:]) / statistics.median(values[:middle])
    return Goal(name=name, value=value, comparison="<=", limit=_DRIFT)
