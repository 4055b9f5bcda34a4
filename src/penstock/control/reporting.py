"""From a worker's counters to the report that the controller gets."""

from __future__ import annotations

import time
from typing import TypeVar

from penstock._native import Histogram
from penstock.control.metrics import HelpCounts, PairCounts, TaskCounts
from penstock.control.protocol import Report
from penstock.worker.helper_task import HelperTask
from penstock.worker.worker import Worker

__all__ = ["report_of"]

_Key = TypeVar("_Key")


def report_of(worker: Worker) -> Report:
    """What the worker has counted. Histograms are handed over: they start anew."""
    latency: dict[str, Histogram] = {}
    hops: dict[int, Histogram] = {}
    for bolt in worker.roster.runnable:
        _hand_over(bolt.latency, bolt.component, latency)
        for edge, histogram in bolt.hops.items():
            _hand_over(histogram, edge, hops)
    for component, histogram in worker.past.latency.items():
        _hand_over(histogram, component, latency)
    for edge, histogram in worker.past.hops.items():
        _hand_over(histogram, edge, hops)
    return Report(
        at_ns=time.monotonic_ns(),
        cpu_ns=time.process_time_ns(),
        tasks=_task_counts(worker),
        pairs=_pair_counts(worker),
        helps=_help_counts(worker),
        lost=worker.lost_tuples,
        spouts=tuple(spout.progress() for spout in worker.spouts if not spout.waiting),
        latency={component: histogram.to_bytes() for component, histogram in latency.items()},
        hops={edge: histogram.to_bytes() for edge, histogram in hops.items()},
        ratios=dict(worker.pressure.pressure.helping.ratio),
    )


def _task_counts(worker: Worker) -> tuple[TaskCounts, ...]:
    """Of the tasks here, and of those that were: one that came back counts on from what it had done here before."""
    past, here = worker.past, worker.roster.by_task
    gone = [
        TaskCounts(
            task=task,
            processed=past.processed[task],
            emitted=past.emitted[task],
            failed=past.failed[task],
            busy_ns=past.busy_ns[task],
            redirected=past.redirected[task],
            **worker.pressure.counts(task),
        )
        for task in past.component_of
        if task not in here
    ]
    return (
        *(
            TaskCounts(
                task=task,
                processed=running.processed + past.processed[task],
                emitted=running.outputs.emitted + past.emitted[task],
                failed=running.failed + past.failed[task],
                # What a helper does takes its host's worker time: schedulers have to know.
                busy_ns=sum(one.busy_ns for one in running.whole) + past.busy_ns[task],
                redirected=running.redirected + past.redirected[task],
                backlog=running.queued_tuples,
                **worker.pressure.counts(task),
            )
            for task, running in here.items()
        ),
        *gone,
    )


def _help_counts(worker: Worker) -> tuple[HelpCounts, ...]:
    helps = worker.past.helps.copy()
    now: dict[tuple[int, int], HelperTask] = {}
    for helper in worker.roster.helpers:
        key = (helper.edge, helper.task)
        now[key] = helper
        helps[key] = helper.done(helps.get(key))
    return tuple(
        HelpCounts(
            edge=edge,
            task=task,
            processed=done.processed,
            emitted=done.emitted,
            failed=done.failed,
            busy_ns=done.busy_ns,
            backlog=now[edge, task].queued_tuples if (edge, task) in now else 0,
            share=now[edge, task].share if (edge, task) in now else 0.0,
        )
        for (edge, task), done in helps.items()
    )


def _pair_counts(worker: Worker) -> tuple[PairCounts, ...]:
    tuples, sizes = worker.past.tuples.copy(), worker.past.bytes.copy()
    for running in worker.roster.everything:
        for lane in running.outputs.lanes:
            for target in lane.targets if lane.sent_tuples else ():
                tuples[lane.edge, lane.source, target] += lane.sent_tuples
                sizes[lane.edge, lane.source, target] += lane.sent_bytes
    return tuple(
        PairCounts(edge=edge, source=source, target=target, tuples=count, bytes=sizes[edge, source, target])
        for (edge, source, target), count in tuples.items()
    )


def _hand_over(histogram: Histogram, key: _Key, into: dict[_Key, Histogram]) -> None:
    if not histogram.count:
        return
    if key in into:
        into[key].merge(histogram)
    else:
        into[key] = histogram.copy()
    histogram.reset()
