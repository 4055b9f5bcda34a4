"""What workers report, summed up over workers and over the generations of each worker."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping

import msgspec

from penstock._native import Histogram
from penstock.control.failures import FailureLog
from penstock.control.latency import LatencyRecord, latency_of
from penstock.control.metrics import ComponentMetrics, EdgeMetrics, RunMetrics, TaskMetrics, TrafficMetrics
from penstock.control.pressure_metrics import PressureMetrics, pressures_of
from penstock.control.protocol import Report
from penstock.control.tally import Tally, TaskTally
from penstock.plan.edges import Edge
from penstock.plan.tasks import Task

__all__ = ["Aggregation"]

# A rate is that between a worker's last two reports. When it has not reported for this many times as long, it is 0.
_STALE_AFTER = 3.0


class _Source(msgspec.Struct, kw_only=True):
    """The last two reports of one generation of a worker."""

    generation: int
    last: Report
    last_at_s: float
    before: Report | None = None

    def rate(self, now_s: float) -> Tally:
        """What it does in a second, by its own clock; nothing if that cannot be told, or not any more."""
        elapsed_s = 0.0 if self.before is None else (self.last.at_ns - self.before.at_ns) / 1e9
        if self.before is None or elapsed_s <= 0 or now_s - self.last_at_s > _STALE_AFTER * elapsed_s:
            return Tally()
        return Tally().plus(self.lately(), times=1 / elapsed_s)

    def lately(self) -> Tally:
        """What it did between its last two reports; nothing if there is one alone."""
        return Tally() if self.before is None else Tally.of(self.last).plus(Tally.of(self.before), times=-1)


class Aggregation:
    """The counts of a whole run."""

    def __init__(self, tasks: tuple[Task, ...], edges: tuple[Edge, ...], failures: FailureLog) -> None:
        self._tasks = {task.id: task for task in tasks}
        self._former: dict[int, Task] = {}
        """Tasks that there are no more."""
        self._edges = edges
        self._failures = failures
        self._ends = {task.component for task in tasks} - {edge.source for edge in edges}
        self._sources: dict[int, _Source] = {}
        self._past = Tally()
        """What generations that are gone, and tasks that have moved away, had last reported."""
        self._latency: defaultdict[str, LatencyRecord] = defaultdict(LatencyRecord)
        self._hops: defaultdict[int, LatencyRecord] = defaultdict(LatencyRecord)

    def report(self, worker: int, generation: int, report: Report, now_s: float) -> None:
        """Takes a report in; ValueError, and none of its counts taken, if a histogram cannot be read or merged."""
        latency = {name: Histogram.from_bytes(data) for name, data in report.latency.items()}
        hops = {edge: Histogram.from_bytes(data) for edge, data in report.hops.items()}
        for name, piece in latency.items():
            self._latency[name].add(piece, now_s)
        for edge, piece in hops.items():
            self._hops[edge].add(piece, now_s)
        known = self._sources.get(worker)
        if known is not None and known.generation != generation:
            self._past = self._past.plus(Tally.of(known.last))
            known = None
        elif known is not None and _tasks_of(known.last) - _tasks_of(report):
            # Tasks have moved away, and what they did here stays done. There is no rate between these two reports.
            self._past = self._past.plus(Tally.of(known.last).without(Tally.of(report)))
            known = None
        self._sources[worker] = _Source(
            generation=generation, last=report, last_at_s=now_s, before=known.last if known else None
        )

    def totals(self) -> Tally:
        """What was done since the run began."""
        totals = self._past
        for source in self._sources.values():
            totals = totals.plus(Tally.of(source.last))
        return totals

    def rates(self, now_s: float) -> Tally:
        """What is done in a second, lately."""
        rates = Tally()
        for source in self._sources.values():
            rates = rates.plus(source.rate(now_s))
        return rates

    def has_tasks(self, tasks: tuple[Task, ...]) -> None:
        """These are all tasks from now on. What those before them did is still their component's doing."""
        now = {task.id: task for task in tasks}
        if now.keys() != self._tasks.keys():
            self._former |= {number: task for number, task in self._tasks.items() if number not in now}
            self._tasks = now

    def metrics(
        self, now_s: float, *, run_s: float, worker_of: Mapping[int, int], node_of: Mapping[int, str]
    ) -> RunMetrics:
        """Everything, as it is now."""
        totals, rates = self.totals(), self.rates(now_s)
        tasks = self._task_metrics(totals, rates, worker_of)
        whole = self._end_to_end()
        return RunMetrics(
            run_s=run_s,
            components=self._component_metrics(tasks, totals, rates, now_s),
            tasks=tasks,
            edges=self._edge_metrics(totals, rates, now_s),
            traffic=_traffic(rates, worker_of, node_of),
            end_to_end=latency_of(whole),
            end_to_end_histogram=None if whole is None else whole.to_bytes(),
            lost=int(totals.lost),
            unaccounted=totals.unaccounted(),
            failures=self._failures.all(),
            pressures=self.pressures(totals),
        )

    def pressures(self, totals: Tally | None = None) -> tuple[PressureMetrics, ...]:
        """The bolts that have, or had, more to do than they can."""
        component_of = {number: task.component for number, task in (self._former | self._tasks).items()}
        reports = [source.last for source in self._sources.values()]
        lately = Tally()
        for source in self._sources.values():
            lately = lately.plus(source.lately())
        totals = self.totals() if totals is None else totals
        return pressures_of(totals, lately, reports, component_of, self._edges)

    def _task_metrics(self, totals: Tally, rates: Tally, worker_of: Mapping[int, int]) -> tuple[TaskMetrics, ...]:
        backlogs: Counter[int] = Counter()
        for source in self._sources.values():
            backlogs.update({counts.task: counts.backlog for counts in source.last.tasks})
        return tuple(
            TaskMetrics(
                task=task.id,
                component=task.component,
                index=task.index,
                worker=worker_of.get(task.id),
                processed=int(totals.task(task.id).processed),
                emitted=int(totals.task(task.id).emitted),
                failed=int(totals.task(task.id).failed),
                busy_ns=int(totals.task(task.id).busy_ns),
                backlog=backlogs[task.id],
                processed_per_s=rates.task(task.id).processed,
                emitted_per_s=rates.task(task.id).emitted,
                busy_share=rates.task(task.id).busy_ns / 1e9,
            )
            for task in self._tasks.values()
        )

    def _component_metrics(
        self, tasks: tuple[TaskMetrics, ...], totals: Tally, rates: Tally, now_s: float
    ) -> tuple[ComponentMetrics, ...]:
        past: defaultdict[str, TaskTally] = defaultdict(TaskTally)
        for former in self._former.values():
            past[former.component] = past[former.component].plus(totals.task(former.id))
        grouped: dict[str, list[TaskMetrics]] = {}
        for task in tasks:
            grouped.setdefault(task.component, []).append(task)
        help_of, help_rate_of = self._help(totals), self._help(rates)
        waiting = self._waiting_for_helpers()
        return tuple(
            ComponentMetrics(
                name=name,
                kind=self._tasks[own[0].task].kind,
                tasks=len(own),
                processed=sum(task.processed for task in own) + int(past[name].processed + help_of[name].processed),
                helped=int(
                    help_of[name].processed
                    + past[name].redirected
                    + sum(totals.task(task.task).redirected for task in own)
                ),
                emitted=sum(task.emitted for task in own) + int(past[name].emitted + help_of[name].emitted),
                failed=sum(task.failed for task in own) + int(past[name].failed + help_of[name].failed),
                backlog=sum(task.backlog for task in own) + waiting[name],
                processed_per_s=sum(task.processed_per_s for task in own) + help_rate_of[name].processed,
                emitted_per_s=sum(task.emitted_per_s for task in own) + help_rate_of[name].emitted,
                busy_share=sum(task.busy_share for task in own) / len(own),
                busiest_share=max(task.busy_share for task in own),
                latency=latency_of(self._latency[name].lately(now_s)),
            )
            for name, own in grouped.items()
        )

    def _help(self, tally: Tally) -> dict[str, TaskTally]:
        """What others did of each component's work."""
        into: defaultdict[str, set[int]] = defaultdict(set)
        for edge in self._edges:
            into[edge.target].add(edge.id)
        return {name: tally.help_on(into[name]) for name in {task.component for task in self._tasks.values()}}

    def _waiting_for_helpers(self) -> Counter[str]:
        """How many tuples of each component wait for those who help it."""
        target_of = {edge.id: edge.target for edge in self._edges}
        waiting: Counter[str] = Counter()
        for source in self._sources.values():
            for counts in source.last.helps:
                if counts.edge in target_of:
                    waiting[target_of[counts.edge]] += counts.backlog
        return waiting

    def _edge_metrics(self, totals: Tally, rates: Tally, now_s: float) -> tuple[EdgeMetrics, ...]:
        total_of, rate_of = totals.by_edge(), rates.by_edge()
        return tuple(
            EdgeMetrics(
                edge=edge.id,
                via=edge.via,
                source=edge.source,
                stream=edge.stream,
                target=edge.target,
                tuples=int(total_of[edge.id].tuples),
                bytes=int(total_of[edge.id].bytes),
                tuples_per_s=rate_of[edge.id].tuples,
                bytes_per_s=rate_of[edge.id].bytes,
                hop=latency_of(self._hops[edge.id].lately(now_s)),
            )
            for edge in self._edges
        )

    def _end_to_end(self) -> Histogram | None:
        whole = LatencyRecord()
        for name in sorted(self._ends):
            total = self._latency[name].total
            if total is not None:
                whole.add(total, 0.0)
        return whole.total


def _tasks_of(report: Report) -> set[int]:
    return {counts.task for counts in report.tasks}


def _traffic(rates: Tally, worker_of: Mapping[int, int], node_of: Mapping[int, str]) -> TrafficMetrics:
    tuples, size = [0.0, 0.0, 0.0], [0.0, 0.0, 0.0]
    for (_, source, target), row in rates.pairs.items():
        here, there = worker_of.get(source), worker_of.get(target)
        if here is None or there is None:
            continue
        # Where a worker is just being restarted its node is not known, and another is presumed.
        distance = 0 if here == there else 1 if node_of.get(here, here) == node_of.get(there, there) else 2
        tuples[distance] += row.tuples
        size[distance] += row.bytes
    return TrafficMetrics(
        within_workers_tuples_per_s=tuples[0],
        between_workers_tuples_per_s=tuples[1],
        between_nodes_tuples_per_s=tuples[2],
        between_workers_bytes_per_s=size[1],
        between_nodes_bytes_per_s=size[2],
    )
