"""What the load store keeps, as values. Times are seconds since 1970, because those who read may be elsewhere."""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from penstock.control.load_sample import LoadSample
from penstock.control.scheduling_settings import SchedulingSettings
from penstock.plan.assignment import Assignment
from penstock.plan.cluster import WorkerSlot
from penstock.plan.edges import Edge
from penstock.plan.predicted import Predicted
from penstock.plan.schedulers.base import PlanRequest
from penstock.plan.tasks import Task

__all__ = ["Choice", "HistoryPoint", "RunRecord", "ScheduleRecord", "ScheduleStatus", "Situation", "WorkerRecord"]

ScheduleStatus = Literal["proposed", "applied", "refused", "superseded"]


class Choice(msgspec.Struct, frozen=True, kw_only=True):
    """Which scheduler is to be used, and how. It can be replaced while a run goes on."""

    scheduler: str | None = None
    """A name, or `module:Class`; None: the placement stays as it is."""
    parameters: dict[str, Any] = msgspec.field(default_factory=dict)
    settings: SchedulingSettings = msgspec.field(default_factory=SchedulingSettings)


class RunRecord(msgspec.Struct, frozen=True, kw_only=True):
    """A run, for those who look for one."""

    run: str
    topology: str
    scheduling: Literal["driver", "external", "off"] = "driver"
    """Who plans for it."""
    started_at_s: float
    heard_at_s: float
    """When its driver last wrote something."""
    ended_at_s: float | None = None


class WorkerRecord(msgspec.Struct, frozen=True, kw_only=True):
    """A worker that tasks can be put on."""

    worker: int
    node: str
    host: str
    speed: float = 1.0
    cores: int = 1
    """How many cores its node has, for all its workers."""
    cpu_share: float = 0.0
    """How much of one core its process takes, smoothed."""


class Situation(msgspec.Struct, frozen=True, kw_only=True):
    """How a run stands: everything that planning needs."""

    run: RunRecord
    sample: int
    """The number of the newest sample; 0 if there is none yet."""
    tasks: tuple[Task, ...]
    edges: tuple[Edge, ...]
    pinned: dict[int, str]
    """Tasks that cannot move, and why."""
    workers: tuple[WorkerRecord, ...]
    assignment: Assignment | None
    estimate: LoadSample
    choice: Choice

    @property
    def node_names(self) -> dict[str, str]:
        """What people call the nodes: by their hosts, and by something of their own where one host has several."""
        host_of = {worker.node: worker.host for worker in self.workers}
        hosts = [*host_of.values()]
        return {node: host if hosts.count(host) == 1 else f"{host}/{node[:4]}" for node, host in host_of.items()}

    def request(self) -> PlanRequest:
        """What a scheduler is asked."""
        measured = self.sample > 0
        slots: dict[str, float] = {}
        for worker in self.workers:
            slots[worker.node] = slots.get(worker.node, 0.0) + worker.speed
        return PlanRequest(
            tasks=self.tasks,
            edges=self.edges,
            slots=tuple(
                WorkerSlot(worker=worker.worker, node=worker.node, speed=worker.speed) for worker in self.workers
            ),
            current=self.assignment,
            load=self.estimate.load() if measured else None,
            traffic=self.estimate.traffic() if measured else None,
            pinned=frozenset(self.pinned),
            node_cores={
                worker.node: float(worker.cores) for worker in self.workers if worker.cores < slots[worker.node]
            },
        )


class ScheduleRecord(msgspec.Struct, frozen=True, kw_only=True):
    """An assignment that somebody proposed, and what became of it."""

    number: int = 0
    """Counts the schedules of a run, from 1; the store gives it."""
    at_s: float
    assignment: int
    """The number of the assignment that it was made to replace."""
    scheduler: str
    parameters: dict[str, Any] = msgspec.field(default_factory=dict)
    worker_of: dict[int, int]
    before: Predicted | None = None
    """What is predicted of the assignment that holds."""
    after: Predicted | None = None
    words: str = ""
    """Why, for people."""
    status: ScheduleStatus = "proposed"
    reason: str = ""
    """Why it was refused or superseded."""
    decided_at_s: float | None = None


class HistoryPoint(msgspec.Struct, frozen=True, kw_only=True):
    """What was measured in one period."""

    at_s: float
    assignment: int
    """The number of the assignment that was in force at its end."""
    sample: LoadSample
