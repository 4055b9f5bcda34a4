"""Everything in one worker: nothing crosses anything, whatever that does to the worker."""

from typing import ClassVar

import msgspec

from penstock.plan.assignment import Assignment
from penstock.plan.schedulers.base import PlanRequest


class OneWorker(msgspec.Struct, frozen=True, kw_only=True):
    """All tasks on the worker of the lowest number."""

    name: ClassVar[str] = "one-worker"

    def plan(self, request: PlanRequest) -> Assignment:
        """The same, whatever is known of the load."""
        worker = min(slot.worker for slot in request.slots)
        return Assignment(number=request.next_number, worker_of={task.id: worker for task in request.tasks})
