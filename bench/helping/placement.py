"""A worker for each task, so that each has a capacity of its own."""

from typing import ClassVar

import msgspec

from penstock.plan.assignment import Assignment
from penstock.plan.schedulers.base import PlanRequest

SINK = "check"


class WorkerPerTask(msgspec.Struct, frozen=True, kw_only=True):
    """Each task on a worker of its own; the sink with the task before it, whose work it ends."""

    name: ClassVar[str] = "worker-per-task"

    def plan(self, request: PlanRequest) -> Assignment:
        """The same, whatever is known of the load."""
        workers = sorted(slot.worker for slot in request.slots)
        alone = sorted(task.id for task in request.tasks if task.component != SINK)
        if len(alone) > len(workers):
            message = f"{len(alone)} tasks want a worker each, got {len(workers)} workers"
            raise ValueError(message)
        worker_of = dict(zip(alone, workers, strict=False))
        worker_of |= {task.id: workers[len(alone) - 1] for task in request.tasks if task.component == SINK}
        return Assignment(number=request.next_number, worker_of=worker_of)
