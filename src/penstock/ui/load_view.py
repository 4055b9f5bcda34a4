"""The load of a run over time, in the terminal: a line of small bars for each component, and for how far tuples go."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rich.box import SIMPLE_HEAD
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from penstock.control.load_records import HistoryPoint, Situation
from penstock.plan.assignment import Assignment

__all__ = ["DISTANCES", "load_view", "shares_over_time", "traffic_over_time"]

DISTANCES = ("within workers", "between workers of a node", "between nodes")

_BARS = "▁▂▃▄▅▆▇█"
_MOST_BARS = 48


def load_view(
    situation: Situation, history: Sequence[HistoryPoint], assignments: Mapping[int, Assignment]
) -> RenderableType:
    """CPU by component and traffic by distance; the newest on the right."""
    if not history:
        return Text(f"run {situation.run.run} ({situation.run.topology}): no load was sampled yet")
    span_s = history[-1].at_s - history[0].at_s
    title = f"{situation.run.topology}  run {situation.run.run}  {len(history)} samples in {span_s:,.0f} s"
    shares = shares_over_time(situation, history)
    traffic = traffic_over_time(situation, history, assignments)
    return Group(
        Text(title, style="bold"),
        _table("component", "cores", shares, "{:.2f}"),
        _table("tuples", "per s", traffic, "{:,.0f}"),
    )


def _table(what: str, unit: str, rows: Mapping[str, Sequence[float]], form: str) -> Table:
    table = Table(box=SIMPLE_HEAD, show_edge=False, padding=(0, 1, 0, 0))
    table.add_column(what, overflow="fold")
    table.add_column("over time", no_wrap=True)
    for heading in ("now", "most"):
        table.add_column(f"{heading} ({unit})", justify="right", no_wrap=True)
    for name, series in rows.items():
        table.add_row(Text(name), sparkline(series), form.format(series[-1]), form.format(max(series)))
    return table


def sparkline(series: Sequence[float]) -> str:
    """Small bars from 0 to the most there was; where there is no room for all, each is the mean of several."""
    groups = min(len(series), _MOST_BARS)
    means = []
    for number in range(groups):
        part = series[number * len(series) // groups : (number + 1) * len(series) // groups]
        means.append(sum(part) / len(part))
    most = max(means, default=0.0)
    if most <= 0:
        return _BARS[0] * groups
    return "".join(_BARS[min(len(_BARS) - 1, int(mean / most * len(_BARS)))] for mean in means)


def shares_over_time(situation: Situation, history: Sequence[HistoryPoint]) -> dict[str, list[float]]:
    """How many cores the tasks of each component took, together."""
    component_of = {task.id: task.component for task in situation.tasks}
    shares = {name: [0.0] * len(history) for name in dict.fromkeys(component_of.values())}
    for place, point in enumerate(history):
        for task, share in point.sample.tasks.items():
            if task in component_of:
                shares[component_of[task]][place] += share.cpu
    return shares


def traffic_over_time(
    situation: Situation, history: Sequence[HistoryPoint], assignments: Mapping[int, Assignment]
) -> dict[str, list[float]]:
    """How many tuples a second went how far, by the assignment that was in force at each time."""
    node_of = {worker.worker: worker.node for worker in situation.workers}
    traffic = {name: [0.0] * len(history) for name in DISTANCES}
    for place, point in enumerate(history):
        assignment = assignments.get(point.assignment)
        worker_of = {} if assignment is None else assignment.worker_of
        for (_, source, target), rate in point.sample.pairs.items():
            here, there = worker_of.get(source), worker_of.get(target)
            if here is None or there is None:
                continue
            near = node_of.get(here) == node_of.get(there)
            distance = 0 if here == there else 1 if near else 2
            traffic[DISTANCES[distance]][place] += rate.tuples
    return traffic
