"""Metrics in Prometheus' text format."""

from __future__ import annotations

from collections.abc import Iterator

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric
from prometheus_client.registry import Collector

from penstock._native import Histogram
from penstock.control.metrics import RunMetrics

__all__ = ["prometheus_text"]

# Upper bounds of the latency buckets in seconds: three per decade, from 10 µs to 10 s.
BOUNDS_S = [value * 10.0**exponent for exponent in range(-5, 1) for value in (1, 2, 5)] + [10.0]


def prometheus_text(topology: str, metrics: RunMetrics) -> str:
    """All counts of a run, for a scraper."""
    registry = CollectorRegistry()
    registry.register(_Snapshot(topology, metrics))
    return generate_latest(registry).decode()


class _Snapshot(Collector):
    def __init__(self, topology: str, metrics: RunMetrics) -> None:
        self._topology = topology
        self._metrics = metrics

    def collect(self) -> Iterator[Metric]:
        yield from self._per_task()
        yield from self._per_edge()
        lost = CounterMetricFamily("penstock_lost_tuples", "Tuples that could not be delivered", labels=["topology"])
        lost.add_metric([self._topology], self._metrics.lost)
        yield lost
        if self._metrics.end_to_end_histogram is not None:
            yield self._latency(Histogram.from_bytes(self._metrics.end_to_end_histogram))

    def _per_task(self) -> Iterator[Metric]:
        labels = ["topology", "component", "task"]
        counters = {
            "processed": ("penstock_task_processed_tuples", "Tuples that the task took in"),
            "emitted": ("penstock_task_emitted_tuples", "Tuples that the task emitted"),
            "failed": ("penstock_task_failed_tuples", "Tuples on which user code raised"),
        }
        for attribute, (name, text) in counters.items():
            family = CounterMetricFamily(name, text, labels=labels)
            for task in self._metrics.tasks:
                family.add_metric([self._topology, task.component, str(task.task)], getattr(task, attribute))
            yield family
        busy = CounterMetricFamily("penstock_task_busy_seconds", "Time that the task was at work", labels=labels)
        backlog = GaugeMetricFamily("penstock_task_backlog_tuples", "Tuples that wait for the task", labels=labels)
        for task in self._metrics.tasks:
            busy.add_metric([self._topology, task.component, str(task.task)], task.busy_ns / 1e9)
            backlog.add_metric([self._topology, task.component, str(task.task)], task.backlog)
        yield busy
        yield backlog

    def _per_edge(self) -> Iterator[Metric]:
        labels = ["topology", "source", "stream", "target"]
        tuples = CounterMetricFamily("penstock_edge_tuples", "Tuples sent over the edge", labels=labels)
        sent = CounterMetricFamily("penstock_edge_bytes", "Bytes sent over the edge between workers", labels=labels)
        for edge in self._metrics.edges:
            values = [self._topology, edge.source, edge.stream, edge.target]
            tuples.add_metric(values, edge.tuples)
            sent.add_metric(values, edge.bytes)
        yield tuples
        yield sent

    def _latency(self, histogram: Histogram) -> Metric:
        buckets = []
        counts = histogram.buckets()
        for bound in BOUNDS_S:
            below = sum(count for _, high, count in counts if high <= bound * 1e9)
            buckets.append((str(bound), float(below)))
        buckets.append(("+Inf", float(histogram.count)))
        total = histogram.mean * histogram.count / 1e9 if histogram.count else 0.0
        family = HistogramMetricFamily(
            "penstock_end_to_end_latency_seconds", "From the spout to the end of the last bolt", labels=["topology"]
        )
        family.add_metric([self._topology], buckets, total)
        return family
