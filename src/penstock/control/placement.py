"""What runs where: the tasks, the assignment that holds, and the scheduler that plans the next. Pure."""

from __future__ import annotations

import traceback
from collections.abc import Collection, Iterable

from penstock.control.membership import Member
from penstock.control.settings import RunPlan
from penstock.errors import PenstockError, RunError
from penstock.plan.assignment import Assignment
from penstock.plan.cluster import WorkerSlot
from penstock.plan.load import Load, Traffic
from penstock.plan.schedulers.base import PlanRequest, checked_plan
from penstock.plan.tasks import Task

__all__ = ["Placement"]


class Placement:
    """Numbers of assignments are never used twice, not even that of one which came to nothing."""

    def __init__(self, plan: RunPlan) -> None:
        self._edges = plan.edges
        self.tasks = plan.tasks
        """Those that there are now: a bolt may be given another number of them."""
        self.scheduler = plan.scheduler
        """The one in use. Another may take its place at any time."""
        self.assignment: Assignment | None = None
        """The one that holds."""
        self._newest_number = 0
        self._since = 0

    @property
    def number(self) -> int | None:
        """The number of the assignment that holds; None if there is none yet."""
        return None if self.assignment is None else self.assignment.number

    def is_of_now(self, number: int) -> bool:
        """Whether what was said under this number counts: nothing was set back since, tasks have moved at most."""
        return self.assignment is not None and self._since <= number <= self.assignment.number

    def has_tasks(self, worker: int) -> bool:
        """Whether a worker has tasks, or had when it was last there."""
        return self.assignment is not None and worker in self.assignment.workers()

    def tasks_on(self, worker: int) -> tuple[int, ...]:
        """The ids of a worker's tasks."""
        return () if self.assignment is None else self.assignment.tasks_on(worker)

    # ---- another one

    def numbered(self, worker_of: dict[int, int]) -> Assignment:
        """An assignment, under a number of its own."""
        self._newest_number += 1
        return Assignment(number=self._newest_number, worker_of=worker_of)

    def planned(
        self,
        members: Iterable[Member],
        *,
        tasks: tuple[Task, ...] | None = None,
        pinned: Collection[int] = (),
        load: Load | None = None,
        traffic: Traffic | None = None,
    ) -> dict[int, int]:
        """Where the scheduler in use puts tasks, with nothing changed yet; RunError if it cannot, or is at fault."""
        request = PlanRequest(
            tasks=self.tasks if tasks is None else tasks,
            edges=self._edges,
            slots=tuple(WorkerSlot(worker=member.worker, node=member.about.node) for member in members),
            current=self.assignment,
            pinned=frozenset(pinned),
            load=load,
            traffic=traffic,
        )
        try:
            return checked_plan(self.scheduler, request).worker_of
        except PenstockError as error:
            raise RunError(str(error)) from error
        except Exception:  # the scheduler may be the user's own, and the thread that we run in must live
            text = f"scheduler {self.scheduler.name!r} raised while it planned:\n{traceback.format_exc()}"
            raise RunError(text) from None

    def begin_anew(self, worker_of: dict[int, int]) -> None:
        """This holds from now on, and everything is made anew under it."""
        self.assignment = self.numbered(worker_of)
        self._since = self.assignment.number

    def switch(self, assignment: Assignment, tasks: tuple[Task, ...]) -> None:
        """This holds from now on, and what is under way is brought there."""
        self.assignment, self.tasks = assignment, tasks
