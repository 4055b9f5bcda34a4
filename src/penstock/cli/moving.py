"""Commands about where the tasks of a run are. All wait until it is done."""

from __future__ import annotations

from typing import Annotated

from cyclopts import App, Parameter
from cyclopts.validators import Number

from penstock.cli.runs import Name, find, reach, say
from penstock.control.decisions import Decision
from penstock.control.metrics import TaskMetrics

__all__ = ["move", "rebalance", "register", "scale"]


def register(app: App) -> None:
    """Adds the commands."""
    for command in (move, rebalance, scale):
        app.command(command)


def move(task: str, worker: Annotated[int, Parameter(validator=Number(gte=0))], name: Name = None, /) -> None:
    """Move a task to another worker, while the run goes on.

    For example: penstock move 'count[2]' 0

    Args:
        task: its id, or component and index.
        worker: the worker's number.
        name: a run, or the beginning of its id, or a topology; without it, the only run there is.
    """
    with reach(find(name)) as client:
        decision = client.move(task, worker)
        _tell(decision, client.metrics().tasks)


def rebalance(name: Name = None, /) -> None:
    """Have the scheduler in use plan anew, and move what it puts elsewhere."""
    with reach(find(name)) as client:
        decision = client.rebalance()
        _tell(decision, client.metrics().tasks)


def scale(component: str, name: Name = None, /, *, tasks: Annotated[int, Parameter(validator=Number(gte=1))]) -> None:
    """Give a bolt another number of tasks. State by key is shared out anew.

    For example: penstock scale count --tasks 8

    Args:
        component: the bolt.
        name: a run, or the beginning of its id, or a topology; without it, the only run there is.
        tasks: how many it is to have.
    """
    with reach(find(name)) as client:
        decision = client.scale(component, tasks)
        _tell(decision, client.metrics().tasks)


def _tell(decision: Decision, tasks: tuple[TaskMetrics, ...]) -> None:
    labels = {task.task: f"{task.component}[{task.index}]" for task in tasks}
    for one in decision.moves:
        if one.target is None:
            say(f"task {one.task} on worker {one.source} is no more")
        elif one.source is None:
            say(f"{labels.get(one.task, one.task)} is new on worker {one.target}")
        else:
            say(f"{labels.get(one.task, one.task)} moved from worker {one.source} to worker {one.target}")
    say(f"done in {decision.took_s:.3f} s" if decision.moves else "nothing had to move")
