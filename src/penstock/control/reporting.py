"""From a worker's counters to the report that the controller gets."""

from __future__ import annotations

import time
from typing import TypeVar

from penstock._native import Histogram
from penstock.control.metrics import PairCounts, TaskCounts
from penstock.control.protocol import Report
from penstock.worker.worker import Worker

__all__ = ["report_of"]

_Key = TypeVar("_Key")


def report_of(worker: Worker) -> Report:
    """What the worker has counted. Histograms are handed over: they start anew."""
    latency: dict[str, Histogram] = {}
    hops: dict[int, Histogram] = {}
    for bolt in worker.bolts:
        _hand_over(bolt.latency, bolt.component, latency)
        for edge, histogram in bolt.hops.items():
            _hand_over(histogram, edge, hops)
    return Report(
        at_ns=time.monotonic_ns(),
        tasks=tuple(
            TaskCounts(
                task=running.task,
                processed=running.processed,
                emitted=running.outputs.emitted,
                failed=running.failed,
                busy_ns=running.busy_ns,
                backlog=running.queued_tuples,
            )
            for running in (*worker.spouts, *worker.bolts)
        ),
        pairs=tuple(
            PairCounts(
                edge=lane.edge, source=lane.source, target=target, tuples=lane.sent_tuples, bytes=lane.sent_bytes
            )
            for running in (*worker.spouts, *worker.bolts)
            for lane in running.outputs.lanes
            if lane.sent_tuples
            for target in lane.targets
        ),
        lost=worker.lost_tuples,
        spouts=tuple(spout.progress() for spout in worker.spouts),
        latency={component: histogram.to_bytes() for component, histogram in latency.items()},
        hops={edge: histogram.to_bytes() for edge, histogram in hops.items()},
    )


def _hand_over(histogram: Histogram, key: _Key, into: dict[_Key, Histogram]) -> None:
    if not histogram.count:
        return
    if key in into:
        into[key].merge(histogram)
    else:
        into[key] = histogram.copy()
    histogram.reset()
