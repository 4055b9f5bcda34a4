"""`even`: Storm's default. Blind to load and traffic, and so what the others are measured against."""

from __future__ import annotations

from typing import ClassVar

import msgspec

from penstock.plan.assignment import Assignment
from penstock.plan.cluster import interleaved
from penstock.plan.schedulers.base import PlanRequest

__all__ = ["EvenScheduler"]


class EvenScheduler(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Deals the tasks round-robin over the workers, and the workers over the nodes.

    Tasks are dealt by id, so the tasks of one component land on different workers, and neighbours in the topology
    mostly on different nodes: balanced in number, and as much traffic between processes as can be.
    """

    name: ClassVar[str] = "even"

    def plan(self, request: PlanRequest) -> Assignment:
        """Gives every worker as many tasks as any other, or one more."""
        workers = [slot.worker for slot in interleaved(request.slots)]
        tasks = sorted(task.id for task in request.tasks)
        return Assignment(
            number=request.next_number,
            worker_of={task: workers[turn % len(workers)] for turn, task in enumerate(tasks)},
        )
