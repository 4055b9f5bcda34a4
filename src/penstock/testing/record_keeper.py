"""Keeps the books of a local cluster: counts, failures, and what sinks were given."""

from __future__ import annotations

from collections import Counter
from itertools import starmap
from typing import Any

from penstock.connectors.collect import Collect
from penstock.testing.captured_sink import CapturedSink
from penstock.testing.result import ComponentCounts, FailureCount, Result
from penstock.topology.rows import row_maker
from penstock.topology.topology import Topology
from penstock.worker.deployment import Deployment
from penstock.worker.failures import Failure
from penstock.worker.worker import Worker

__all__ = ["RecordKeeper"]


class RecordKeeper:
    """What the workers of one cluster have done, those that were killed included."""

    def __init__(self, topology: Topology) -> None:
        self._components = topology.components
        self._deployments: list[Deployment] = []
        self._workers: list[Worker] = []
        self._failures: dict[tuple[str, str], Failure] = {}
        self._counts: Counter[tuple[str, str]] = Counter()
        self._rows_of: Counter[int] = Counter()
        self._collected: dict[str, list[tuple[Any, ...]]] = {
            name: [] for name, spec in self._components.items() if isinstance(spec.logic, Collect)
        }

    def watch(self, deployment: Deployment) -> None:
        """Reads its failures from now on."""
        self._deployments.append(deployment)

    def keep(self, worker: Worker) -> None:
        """Counts its tasks from now on."""
        self._workers.append(worker)

    def forget(self, worker: Worker) -> None:
        """It was killed: what its sinks held is gone with it."""
        for bolt in worker.bolts:
            if isinstance(bolt.logic, Collect):
                bolt.logic.drain_collected()

    def result(self) -> Result:
        """The books as they are now."""
        self._gather()
        return Result(
            failures=[
                FailureCount(
                    component=failure.component,
                    kind=failure.kind,
                    message=failure.message,
                    culprit=failure.culprit,
                    trace=failure.trace,
                    count=self._counts[key],
                )
                for key, failure in self._failures.items()
            ],
            lost=sum(worker.lost_tuples for worker in self._workers),
            counts={name: self._counts_of(name) for name in self._components},
            collections={
                name: [*starmap(row_maker(self._components, name), rows)] for name, rows in self._collected.items()
            },
            captures={
                name: spec.logic.values
                for name, spec in self._components.items()
                if isinstance(spec.logic, CapturedSink)
            },
        )

    def fetch_rows(self, worker: Worker) -> None:
        """What the driver does now and then: takes what sinks have collected."""
        for bolt in worker.bolts:
            if isinstance(bolt.logic, Collect):
                self._collected[bolt.component].extend(self._new_rows(bolt.task, bolt.logic))
                if bolt.collecting is not None:
                    bolt.collecting.made_good(bolt.collecting.arrivals)

    def _gather(self) -> None:
        for deployment in self._deployments:
            for failure, count in deployment.failures.take_fresh():
                key = (failure.component, failure.kind)
                self._failures.setdefault(key, failure)
                self._counts[key] += count
        for worker in self._workers:
            self.fetch_rows(worker)

    def _new_rows(self, task: int, sink: Collect) -> list[tuple[Any, ...]]:
        if not sink.by_epochs:
            return sink.drain_collected()
        # After a failure the sink has all rows again, from the first.
        first, known = sink.fetched, self._rows_of[task]
        rows = sink.drain_collected()[max(0, known - first) :]
        self._rows_of[task] += len(rows)
        return rows

    def _counts_of(self, component: str) -> ComponentCounts:
        tasks = [
            running
            for worker in self._workers
            for running in (*worker.spouts, *worker.bolts)
            if running.component == component
        ]
        past = [
            (worker.past, task)
            for worker in self._workers
            for task, name in worker.past.component_of.items()
            if name == component
        ]
        return ComponentCounts(
            processed=sum(task.processed for task in tasks) + sum(counts.processed[task] for counts, task in past),
            emitted=sum(task.outputs.emitted for task in tasks) + sum(counts.emitted[task] for counts, task in past),
            failed=sum(task.failed for task in tasks) + sum(counts.failed[task] for counts, task in past),
        )
