"""Why an assignment is as it is, for people: words and a picture."""

from __future__ import annotations

from penstock.plan.assignment import Assignment
from penstock.plan.schedulers.base import PlanRequest

__all__ = ["explain"]


def explain(request: PlanRequest, proposed: Assignment) -> str:
    """Before and after: who is where, what flows where, and why each task moves. Plain text, for a terminal."""
    names = {task.id: task.label for task in request.tasks}
    current = request.current or Assignment(number=0, worker_of={})
    return "\n".join(
        f"{names.get(move.task, move.task)} moves from worker {move.source} to worker {move.target}"
        for move in current.moved(proposed)
    )
