"""Where the tasks of a cluster in one process are."""

from __future__ import annotations

from collections.abc import Mapping

from penstock.plan.assignment import Assignment
from penstock.plan.cluster import WorkerSlot
from penstock.plan.edges import edges_of
from penstock.plan.schedulers.base import PlanRequest
from penstock.plan.schedulers.even import EvenScheduler
from penstock.plan.shape import shape_of
from penstock.plan.tasks import tasks_of
from penstock.topology.topology import Topology

__all__ = ["placed", "planned"]


def planned(topology: Topology, workers: int) -> Assignment:
    """Shared out evenly over so many workers."""
    if workers < 1:
        message = f"workers: wanted at least 1, got {workers}"
        raise ValueError(message)
    shape = shape_of(topology)
    slots = tuple(WorkerSlot(worker=number, node="here") for number in range(workers))
    return EvenScheduler().plan(PlanRequest(tasks=tasks_of(shape), edges=edges_of(shape), slots=slots))


def placed(topology: Topology, worker_of: Mapping[int, int]) -> Assignment:
    """As the test wants them."""
    wanted = {task.id for task in tasks_of(shape_of(topology))}
    if worker_of.keys() != wanted:
        message = f"worker_of: wanted a worker for each of the tasks {sorted(wanted)}, got {dict(worker_of)}"
        raise ValueError(message)
    return Assignment(number=1, worker_of=dict(worker_of))
