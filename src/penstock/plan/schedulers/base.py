"""What a scheduler is: a request in, an assignment out. No clock, no chance, no state."""

from __future__ import annotations

from typing import ClassVar, Protocol

import msgspec

from penstock.errors import RunError, SlotsError
from penstock.plan.assignment import Assignment
from penstock.plan.cluster import WorkerSlot
from penstock.plan.edges import Edge
from penstock.plan.load import Load, Traffic
from penstock.plan.tasks import Task

__all__ = ["PlanRequest", "Scheduler", "checked_plan"]


class PlanRequest(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that a scheduler may look at."""

    tasks: tuple[Task, ...]
    edges: tuple[Edge, ...]
    slots: tuple[WorkerSlot, ...]
    current: Assignment | None = None
    """None for the first assignment of a run."""
    load: Load | None = None
    """None as long as nothing was measured."""
    traffic: Traffic | None = None
    pinned: frozenset[int] = frozenset()
    """Tasks that cannot move: they stay where `current` has them, as long as that worker is there."""
    node_cores: dict[str, float] = {}
    """Nodes that have fewer cores than their workers together (1.0: one core). The others have as many."""
    state_bytes: dict[int, int] = {}
    """How much has to be handed over when a task moves, where that is known."""

    def __post_init__(self) -> None:
        if not self.slots:
            message = f"{len(self.tasks)} tasks cannot be placed: there is no worker to put them on"
            raise SlotsError(message)
        wrong = [f"worker {slot.worker} has speed={slot.speed:g}" for slot in self.slots if not slot.speed > 0]
        wrong += [f"node {node!r} has cores={cores:g}" for node, cores in self.node_cores.items() if not cores > 0]
        if wrong:
            message = f"nothing can be placed on what does no work: wanted more than 0, got: {', '.join(wrong)}"
            raise RunError(message)

    @property
    def next_number(self) -> int:
        """The number of the assignment to make."""
        return 1 if self.current is None else self.current.number + 1

    def fixed(self) -> dict[int, int]:
        """The worker of each task that must stay. A pinned task whose worker is gone has to move all the same."""
        if self.current is None:
            return {}
        workers = {slot.worker for slot in self.slots}
        places = {task: self.current.worker_of.get(task) for task in sorted(self.pinned)}
        return {task: worker for task, worker in places.items() if worker is not None and worker in workers}


class Scheduler(Protocol):
    """Puts tasks on workers. The same request always gives the same assignment, which has every task exactly once.

    A scheduler is a frozen keyword-only struct whose fields are its parameters. To be found by name it is entered in
    `penstock.plan.schedulers.registry`.
    """

    name: ClassVar[str]
    """What users call it."""

    def plan(self, request: PlanRequest) -> Assignment:
        """Places every task of the request on one of its slots."""
        ...


def checked_plan(scheduler: Scheduler, request: PlanRequest) -> Assignment:
    """What the scheduler plans; RunError if that is not every task exactly once, on a worker that exists, pins kept.

    A scheduler may be the user's own: what follows from a wrong assignment is much harder to understand.
    """
    assignment = scheduler.plan(request)
    tasks = {task.id for task in request.tasks}
    workers = {slot.worker for slot in request.slots}
    problems = (
        ("leaves out tasks", tasks - assignment.worker_of.keys()),
        ("places tasks that do not exist", assignment.worker_of.keys() - tasks),
        ("uses workers that do not exist", set(assignment.worker_of.values()) - workers),
    )
    found = [f"{what}: {', '.join(map(str, sorted(which)))}" for what, which in problems if which]
    if assignment.number != request.next_number:
        found.append(f"has number wanted={request.next_number} got={assignment.number}")
    names = {task.id: task.label for task in request.tasks}
    found += [
        f"moves {names.get(task, task)}, which is pinned, from worker {worker} to {assignment.worker_of[task]}"
        for task, worker in request.fixed().items()
        if assignment.worker_of.get(task, worker) != worker
    ]
    if found:
        message = f"the assignment made by scheduler {scheduler.name!r} {'; '.join(found)}"
        raise RunError(message)
    return assignment
