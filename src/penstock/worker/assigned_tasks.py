"""An assignment with the tasks that it assigns, as the ways between them are laid by it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping

from penstock.plan.assignment import Assignment
from penstock.plan.tasks import Task

__all__ = ["AssignedTasks"]


class AssignedTasks:
    """Which tasks there are under an assignment, and where."""

    def __init__(self, assignment: Assignment, tasks: Iterable[Task]) -> None:
        self.number = assignment.number
        self.worker_of: Mapping[int, int] = assignment.worker_of
        self.by_id = {task.id: task for task in tasks}
        self.of: dict[str, list[Task]] = defaultdict(list)
        """The tasks of each component, by index."""
        for task in sorted(self.by_id.values(), key=lambda task: task.index):
            self.of[task.component].append(task)

    def on(self, worker: int) -> list[Task]:
        """The tasks of a worker, in the order of their ids."""
        return [task for number, task in sorted(self.by_id.items()) if self.worker_of[number] == worker]
