"""Which bolts are too slow, who helps them, and who is stopped by them: from what workers report, for people."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import msgspec

from penstock.flow.relief import ReliefState
from penstock.plan.edges import Edge

if TYPE_CHECKING:
    from penstock.control.protocol import Report
    from penstock.control.tally import Tally

__all__ = ["PressureMetrics", "pressures_of"]

_WORST_FIRST = (ReliefState.STOPPING, ReliefState.ASKED, ReliefState.FLOWING)


class PressureMetrics(msgspec.Struct, frozen=True, kw_only=True):
    """One bolt that has, or had, more to do than it can."""

    component: str
    state: ReliefState
    """That of its task that is worst off now."""
    asked_s: float
    """How long its tasks had asked for help, and stopped nobody, in all."""
    stopping_s: float
    """How long they had others stopped."""
    episodes: int
    """How often one of them had too much."""
    stops: tuple[str, ...]
    """The components with tasks that are stopped by it now."""
    stopped_s: dict[str, float]
    """By component: how long its tasks were stopped by this one, in all."""
    helped_by: dict[str, float]
    """By component that feeds it: the share that one of its workers does itself now, of what it would send, at most."""
    ratios: dict[str, float]
    """By component that feeds it: r, the most that one of its workers does of this one's work without being asked."""


def pressures_of(
    totals: Tally, reports: Sequence[Report], component_of: Mapping[int, str], edges: Sequence[Edge]
) -> tuple[PressureMetrics, ...]:
    """Of all bolts that were ever pressed, the worst first."""
    states: defaultdict[str, set[ReliefState]] = defaultdict(set)
    stops: defaultdict[str, set[str]] = defaultdict(set)
    stopped_ns: defaultdict[str, defaultdict[str, float]] = defaultdict(lambda: defaultdict(float))
    ratios: defaultdict[str, dict[str, float]] = defaultdict(dict)
    helped_by: defaultdict[str, dict[str, float]] = defaultdict(dict)
    by_id = {edge.id: edge for edge in edges}
    for report in reports:
        for counts in report.tasks:
            source = component_of.get(counts.task, "")
            states[source].add(counts.pressure)
            for target in counts.stopped_now:
                stops[component_of.get(target, "")].add(source)
        for help in report.helps:
            edge = by_id.get(help.edge)
            if edge is not None and help.share:
                known = helped_by[edge.target].get(edge.source, 0.0)
                helped_by[edge.target][edge.source] = max(known, help.share)
        for edge in (edge for edge in edges if edge.id in report.ratios):
            known = ratios[edge.target].get(edge.source, 0.0)
            ratios[edge.target][edge.source] = max(known, report.ratios[edge.id])
    for (stopped, target), stop in totals.stops.items():
        stopped_ns[component_of.get(target, "")][component_of.get(stopped, "")] += stop.time_ns
    sums: defaultdict[str, list[float]] = defaultdict(lambda: [0.0, 0.0, 0.0])
    for task, tally in totals.tasks.items():
        if tally.episodes and task in component_of:
            for position, count in enumerate((tally.asked_ns, tally.stopping_ns, tally.episodes)):
                sums[component_of[task]][position] += count
    pressures = [
        PressureMetrics(
            component=name,
            state=next((state for state in _WORST_FIRST if state in states[name]), ReliefState.FLOWING),
            asked_s=asked_ns / 1e9,
            stopping_s=stopping_ns / 1e9,
            episodes=int(episodes),
            stops=tuple(sorted(stops[name])),
            stopped_s={source: time_ns / 1e9 for source, time_ns in stopped_ns[name].items()},
            helped_by=helped_by[name],
            ratios=ratios[name],
        )
        for name, (asked_ns, stopping_ns, episodes) in sums.items()
    ]
    return tuple(sorted(pressures, key=lambda one: (_WORST_FIRST.index(one.state), -one.stopping_s, one.component)))
