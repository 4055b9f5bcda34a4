"""`even`: Storm's default. Blind to load and traffic, and so what the others are measured against."""

from __future__ import annotations

import heapq
from collections import Counter
from typing import ClassVar

import msgspec

from penstock.plan.assignment import Assignment
from penstock.plan.cluster import interleaved
from penstock.plan.schedulers.base import PlanRequest

__all__ = ["EvenScheduler"]


class EvenScheduler(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Deals the tasks round-robin over the workers, and the workers over the nodes.

    Tasks are dealt by id, so the tasks of one component land on different workers, and neighbours in the topology
    mostly on different nodes: balanced in number, and as much traffic between processes as can be. Where tasks are
    pinned, workers that have more of them are dealt fewer of the others.
    """

    name: ClassVar[str] = "even"

    def plan(self, request: PlanRequest) -> Assignment:
        """Gives every worker as many tasks as any other, or one more."""
        places = request.fixed()
        pinned = Counter(places.values())
        # Who has fewest is next, and among equals who comes first in the rounds: without pins, exactly round-robin.
        turns = [(pinned[slot.worker], turn, slot.worker) for turn, slot in enumerate(interleaved(request.slots))]
        heapq.heapify(turns)
        for task in sorted(task.id for task in request.tasks):
            if task not in places:
                held, turn, worker = turns[0]
                heapq.heapreplace(turns, (held + 1, turn, worker))
                places[task] = worker
        return Assignment(number=request.next_number, worker_of=dict(sorted(places.items())))
