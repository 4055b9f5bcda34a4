"""Which task is where: dealt as by default, but for the gatherer, which shares a worker with the spout."""

from typing import ClassVar

import msgspec

from penstock.plan.assignment import Assignment
from penstock.plan.schedulers.base import PlanRequest
from penstock.plan.schedulers.even import EvenScheduler


class GathererWithSource(msgspec.Struct, frozen=True, kw_only=True):
    """S and G on one worker, B on another node, and W dealt over all workers."""

    name: ClassVar[str] = "gatherer-with-source"

    def plan(self, request: PlanRequest) -> Assignment:
        """As `even`, with G moved."""
        even = EvenScheduler().plan(request)
        of = {task.component: task.id for task in request.tasks}
        return msgspec.structs.replace(even, worker_of=even.worker_of | {of["g"]: even.worker_of[of["s"]]})
