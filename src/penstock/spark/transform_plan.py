"""Where the tasks of a transform go. Pure: every worker works it out for itself, and all come to the same."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from penstock.plan.assignment import Assignment
from penstock.plan.cluster import WorkerSlot
from penstock.plan.edges import edges_of
from penstock.plan.schedulers.base import PlanRequest
from penstock.plan.schedulers.even import EvenScheduler
from penstock.plan.shape import TopologyShape
from penstock.plan.tasks import tasks_of

__all__ = ["plan_transform"]


def plan_transform(
    shape: TopologyShape, *, everywhere: Collection[str], nodes: Sequence[str], number: int
) -> Assignment:
    """Puts the task with index n of the components that are `everywhere` on worker n, and shares out all others.

    Args:
        shape: the topology.
        everywhere: components with a task for each worker: those that Spark feeds, and the one that feeds Spark.
        nodes: the node of each worker.
        number: the number of the assignment.
    """
    tasks = tasks_of(shape)
    pinned = {task.id: task.index for task in tasks if task.component in everywhere}
    free = tuple(task for task in tasks if task.id not in pinned)
    slots = tuple(WorkerSlot(worker=worker, node=node) for worker, node in enumerate(nodes))
    shared = EvenScheduler().plan(PlanRequest(tasks=free, edges=edges_of(shape), slots=slots))
    return Assignment(number=number, worker_of=pinned | shared.worker_of)
