"""Schedulers as a user may write them, right and wrong."""

from typing import ClassVar

import msgspec

from penstock.plan.assignment import Assignment
from penstock.plan.schedulers.base import PlanRequest

FIRST = 1


class OnOne(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Everything on one worker."""

    name: ClassVar[str] = "on-one"
    worker: int

    def plan(self, request: PlanRequest) -> Assignment:
        return Assignment(
            number=request.next_number, worker_of=dict.fromkeys((task.id for task in request.tasks), self.worker)
        )


class Plain:
    """The same as a class without types."""

    name: ClassVar[str] = "plain"

    def __init__(self, worker: int) -> None:
        self._worker = worker

    def plan(self, request: PlanRequest) -> Assignment:
        return OnOne(worker=self._worker).plan(request)


class Idle:
    name: ClassVar[str] = "idle"


class Nameless:
    def plan(self, request: PlanRequest) -> Assignment:
        raise NotImplementedError(request)
