"""Schedulers of the tests' own, which a generator finds by module and class."""

from __future__ import annotations

from typing import ClassVar

import msgspec

from penstock.plan.assignment import Assignment
from penstock.plan.schedulers.base import PlanRequest

TOGETHER = f"{__name__}:Together"


class Together(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """All tasks that may move on one worker."""

    name: ClassVar[str] = "together"
    worker: int = 0

    def plan(self, request: PlanRequest) -> Assignment:
        return Assignment(
            number=request.next_number,
            worker_of={task.id: self.worker for task in request.tasks} | request.fixed(),
        )


class Failing(msgspec.Struct, frozen=True, kw_only=True):
    """Cannot plan."""

    name: ClassVar[str] = "failing"

    def plan(self, request: PlanRequest) -> Assignment:
        message = f"no place for {len(request.tasks)} tasks"
        raise ZeroDivisionError(message)
