"""Metrics in Prometheus' text format."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from prometheus_client import generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric
from prometheus_client.registry import Collector

from penstock._native import Histogram
from penstock.control.metrics import Latency, RunMetrics, TaskMetrics
from penstock.control.status import RunStatus

__all__ = ["prometheus_text"]

# Upper bounds of the latency buckets: three per decade, from 10 µs to 10 s.
BOUNDS_NS = [value * 10**exponent for exponent in range(4, 10) for value in (1, 2, 5)] + [10**10]

_Row = tuple[Sequence[str], float]


def prometheus_text(status: RunStatus, metrics: RunMetrics) -> str:
    """All counts of a run, for a scraper. Every sample tells its run: the next one of a topology starts from 0."""
    return generate_latest(_Snapshot(status, metrics)).decode()


class _Snapshot(Collector):
    def __init__(self, status: RunStatus, metrics: RunMetrics) -> None:
        self._run = [status.run, status.topology]
        self._status = status
        self._metrics = metrics

    def collect(self) -> Iterator[Metric]:
        yield from self._per_run()
        yield from self._per_task()
        yield from self._per_component()
        yield from self._per_edge()
        yield from self._pressures()
        yield self._end_to_end()

    def _counter(self, name: str, text: str, labels: Sequence[str], rows: Iterable[_Row]) -> Metric:
        """`_total` is added to its name."""
        family = CounterMetricFamily(name, text, labels=["run", "topology", *labels])
        for values, number in rows:
            family.add_metric([*self._run, *values], number)
        return family

    def _gauge(self, name: str, text: str, labels: Sequence[str], rows: Iterable[_Row]) -> Metric:
        family = GaugeMetricFamily(name, text, labels=["run", "topology", *labels])
        for values, number in rows:
            family.add_metric([*self._run, *values], number)
        return family

    def _per_run(self) -> Iterator[Metric]:
        status, metrics = self._status, self._metrics
        yield self._gauge("penstock_run_seconds", "Time since tuples could flow", [], [((), metrics.run_s)])
        yield self._counter(
            "penstock_worker_restarts", "Workers that were lost and replaced", [], [((), status.restarts)]
        )
        yield self._counter("penstock_lost_tuples", "Tuples that could not be delivered", [], [((), metrics.lost)])
        yield self._gauge(
            "penstock_unaccounted_tuples",
            "Tuples sent and not processed: on their way, waiting, or gone with a dead worker",
            [],
            [((), metrics.unaccounted)],
        )

    def _per_task(self) -> Iterator[Metric]:
        labels, tasks = ["component", "task"], self._metrics.tasks
        for name, text, counts in (
            ("processed_tuples", "Tuples that the task took in", [task.processed for task in tasks]),
            ("emitted_tuples", "Tuples that the task emitted", [task.emitted for task in tasks]),
            ("failed_tuples", "Tuples on which user code raised", [task.failed for task in tasks]),
            ("busy_seconds", "Time that the task was at work", [task.busy_ns / 1e9 for task in tasks]),
        ):
            rows = [(_task_labels(task), count) for task, count in zip(tasks, counts, strict=True)]
            yield self._counter(f"penstock_task_{name}", text, labels, rows)
        waiting = [(_task_labels(task), task.backlog) for task in tasks]
        yield self._gauge("penstock_task_backlog_tuples", "Tuples that wait for the task", labels, waiting)

    def _per_component(self) -> Iterator[Metric]:
        yield self._gauge(
            "penstock_component_latency_seconds",
            "From the spout to the end of the component's work on a tuple, over the last seconds",
            ["component", "quantile"],
            [row for part in self._metrics.components for row in _quantiles([part.name], part.latency)],
        )
        yield self._counter(
            "penstock_helped_tuples",
            "Tuples of the bolt that others have worked on",
            ["component"],
            [((part.name,), part.helped) for part in self._metrics.components if part.kind == "bolt"],
        )

    def _per_edge(self) -> Iterator[Metric]:
        # The number too: a bolt may take the same stream twice, with two groupings.
        labels = ["edge", "source", "via", "stream", "target"]
        edges = [
            ((str(edge.edge), edge.source, edge.via or "", edge.stream, edge.target), edge)
            for edge in self._metrics.edges
        ]
        tuples = [(values, edge.tuples) for values, edge in edges]
        yield self._counter("penstock_edge_tuples", "Tuples sent over the edge", labels, tuples)
        sent = [(values, edge.bytes) for values, edge in edges]
        yield self._counter("penstock_edge_bytes", "Bytes sent over the edge between workers", labels, sent)
        yield self._gauge(
            "penstock_edge_hop_latency_seconds",
            "From one task's emission to the next one's hands, over the last seconds",
            [*labels, "quantile"],
            [row for values, edge in edges for row in _quantiles(values, edge.hop)],
        )

    def _pressures(self) -> Iterator[Metric]:
        pressures = self._metrics.pressures
        states = [((one.component, "asked"), one.asked_s) for one in pressures]
        states += [((one.component, "stopping"), one.stopping_s) for one in pressures]
        yield self._counter(
            "penstock_pressure_seconds",
            "Time that tasks of the bolt had asked for help, or had others stopped",
            ["component", "state"],
            states,
        )
        episodes = [((one.component,), one.episodes) for one in pressures]
        yield self._counter("penstock_pressure_episodes", "How often a task had too much", ["component"], episodes)
        yield self._counter(
            "penstock_stopped_seconds",
            "Time that tasks of the component were stopped by a bolt that has too much waiting for it",
            ["component", "by"],
            [((source, one.component), time_s) for one in pressures for source, time_s in one.stopped_s.items()],
        )
        yield self._gauge(
            "penstock_waits_for_info",
            "1 for each bolt that is too slow and keeps the component from working",
            ["component", "too_slow"],
            [((one.component, culprit), 1) for one in pressures for culprit in one.waits_for],
        )
        yield self._gauge(
            "penstock_help_ratio",
            "How much of the bolt's work those that feed it do without being asked",
            ["source", "target"],
            [((source, one.component), ratio) for one in pressures for source, ratio in one.ratios.items()],
        )

    def _end_to_end(self) -> Metric:
        """Since the run began, so that it only ever grows. There from the start, as a scraper wants it."""
        data = self._metrics.end_to_end_histogram
        histogram = Histogram() if data is None else Histogram.from_bytes(data)
        counts = histogram.buckets()
        # A bucket of ours that lies across a bound counts above it: no tuple is told to be faster than it was.
        buckets = [
            (str(bound / 1e9), float(sum(count for _, high, count in counts if high <= bound))) for bound in BOUNDS_NS
        ]
        buckets.append(("+Inf", float(histogram.count)))
        family = HistogramMetricFamily(
            "penstock_end_to_end_latency_seconds",
            "From the spout to the end of the last bolt",
            labels=["run", "topology"],
        )
        total_s = histogram.mean * histogram.count / 1e9 if histogram.count else 0.0
        family.add_metric(self._run, buckets, total_s)
        return family


def _task_labels(task: TaskMetrics) -> tuple[str, str]:
    return task.component, str(task.task)


def _quantiles(values: Sequence[str], latency: Latency | None) -> list[_Row]:
    """Over a window that moves, and so gauges: the count and sum that a Prometheus summary has would fall."""
    if latency is None:
        return []
    return [((*values, "0.5"), latency.p50_ns / 1e9), ((*values, "0.99"), latency.p99_ns / 1e9)]
