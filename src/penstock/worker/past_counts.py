"""What tasks have done that are here no more, and what went over lanes that are no more: it counts all the same."""

from __future__ import annotations

from collections import Counter, defaultdict

from penstock._native import Histogram
from penstock.worker.bolt_task import BoltTask
from penstock.worker.helper_task import HelpDone
from penstock.worker.lanes import Lane
from penstock.worker.tasks import RunningTask

__all__ = ["PastCounts"]


class PastCounts:
    """Totals since the worker began."""

    def __init__(self) -> None:
        self.processed: Counter[int] = Counter()
        self.emitted: Counter[int] = Counter()
        self.failed: Counter[int] = Counter()
        self.busy_ns: Counter[int] = Counter()
        self.redirected: Counter[int] = Counter()
        """By task."""
        self.component_of: dict[int, str] = {}
        self.tuples: Counter[tuple[int, int, int]] = Counter()
        self.bytes: Counter[tuple[int, int, int]] = Counter()
        """By edge, source and target."""
        self.latency: defaultdict[str, Histogram] = defaultdict(Histogram)
        self.hops: defaultdict[int, Histogram] = defaultdict(Histogram)
        """What has not been reported yet."""
        self.helps: dict[tuple[int, int], HelpDone] = {}
        """What helpers did, by the edge to the bolt that they helped, and their host."""

    def left(self, running: RunningTask) -> None:
        """A task is gone."""
        task = running.task
        self.component_of[task] = running.component
        self.processed[task] += running.processed
        self.emitted[task] += running.outputs.emitted
        self.failed[task] += running.failed
        self.redirected[task] += running.redirected
        self.busy_ns[task] += sum(one.busy_ns for one in running.whole)
        for helper in running.helpers:
            self.helps[helper.edge, task] = helper.done(self.helps.get((helper.edge, task)))
        for one in running.whole:
            for lane in one.outputs.lanes:
                self.relaid(lane)
        for one in running.whole:
            if isinstance(one, BoltTask):
                self.latency[one.component].merge(one.latency)
                for edge, histogram in one.hops.items():
                    self.hops[edge].merge(histogram)

    def relaid(self, lane: Lane) -> None:
        """A lane is gone."""
        for target in lane.targets:
            self.tuples[lane.edge, lane.source, target] += lane.sent_tuples
            self.bytes[lane.edge, lane.source, target] += lane.sent_bytes
