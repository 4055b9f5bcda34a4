"""Which bolts are too slow, who helps them, and who waits for them: from what workers report, for people.

A bolt may have too much waiting for it only because the one behind it has it stopped. That one may be stopped in turn,
and so on, to the one that is too slow. Of a task that others had stopped for longer than it worked, lately, it is said
that it waits for those at the end of that chain; only who could have worked, and has too much to do, is too slow.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING

import msgspec

from penstock.flow.relief import ReliefState, culprits
from penstock.plan.edges import Edge

if TYPE_CHECKING:
    from penstock.control.protocol import Report
    from penstock.control.tally import Tally

__all__ = ["PressureMetrics", "pressures_of"]

_WORST_FIRST = (ReliefState.STOPPING, ReliefState.ASKED, ReliefState.FLOWING)


class PressureMetrics(msgspec.Struct, frozen=True, kw_only=True):
    """One bolt that has, or had, more waiting for it than it should."""

    component: str
    state: ReliefState
    """That of its task that is worst off now."""
    waits_for: tuple[str, ...] = ()
    """The bolts that are to blame: they are too slow, and have this one stopped, or others that have. Empty if this one
    is too slow itself, or keeps up."""
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

    def __str__(self) -> str:
        """Who is too slow, who waits for it, and what comes of it.

        `exclam1 is too slow: helped by compute (100%); stops nobody`, or `compute waits for exclam1: stops words`.
        """
        stops = f"stops {', '.join(self.stops)}" if self.stops else "stops nobody"
        if self.waits_for:
            return f"{self.component} waits for {', '.join(self.waits_for)}: {stops}"
        helped = ", ".join(f"{name} ({share:.0%})" for name, share in sorted(self.helped_by.items()))
        return f"{self.component} is too slow: {f'helped by {helped}' if helped else 'nobody helps'}; {stops}"


def pressures_of(
    totals: Tally, lately: Tally, reports: Sequence[Report], component_of: Mapping[int, str], edges: Sequence[Edge]
) -> tuple[PressureMetrics, ...]:
    """Of all bolts that were ever pressed, the worst first.

    Args:
        totals: what was done since the run began.
        lately: what of that between the last two reports of each worker.
        reports: the last one of each worker.
        component_of: what each task is a task of.
        edges: those of the topology.
    """
    waits_for = _waits_for(reports, _stopped_by(lately, reports), component_of)
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
            waits_for=waits_for.get(name, ()),
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
    return tuple(sorted(pressures, key=_badness))


def _stopped_by(lately: Tally, reports: Sequence[Report]) -> dict[int, set[int]]:
    """By task that could not work because others had it stopped, those others: now, and for longer than it worked."""
    stopped_ns: Counter[int] = Counter()
    stopped_by: defaultdict[int, set[int]] = defaultdict(set)
    for (task, target), stop in lately.stops.items():
        if stop.time_ns > 0:
            # Several may have had it stopped at the same time: it was for as long as the one that had it so longest.
            stopped_ns[task] = max(stopped_ns[task], round(stop.time_ns))
            stopped_by[task].add(target)
    now = {counts.task: counts.stopped_now for report in reports for counts in report.tasks if counts.stopped_now}
    return {
        task: stopped_by[task] | {*now.get(task, ())}
        for task in stopped_by.keys() | now.keys()
        if stopped_ns[task] > lately.task(task).busy_ns or (task in now and task not in lately.tasks)
    }


def _waits_for(
    reports: Sequence[Report], stopped_by: Mapping[int, Collection[int]], component_of: Mapping[int, str]
) -> dict[str, tuple[str, ...]]:
    """By component whose pressed tasks all wait for others, the components of those."""
    to_blame = culprits(stopped_by)
    found: defaultdict[str, set[str]] = defaultdict(set)
    too_slow: set[str] = set()
    for report in reports:
        for counts in report.tasks:
            if counts.pressure is not ReliefState.FLOWING and counts.task in component_of:
                component = component_of[counts.task]
                blamed = {component_of[task] for task in to_blame.get(counts.task, ()) if task in component_of}
                if blamed - {component}:
                    found[component] |= blamed - {component}
                else:
                    too_slow.add(component)
    return {name: tuple(sorted(blamed)) for name, blamed in found.items() if name not in too_slow}


def _badness(one: PressureMetrics) -> tuple[bool, int, float, str]:
    """Who is to blame comes before those that wait for it."""
    return bool(one.waits_for), _WORST_FIRST.index(one.state), -one.stopping_s, one.component
