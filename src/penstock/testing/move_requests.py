"""What a test may ask of a cluster in one process: tasks elsewhere, or another number of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from penstock.plan.tasks import Task
from penstock.topology.pinned import pinned_components
from penstock.topology.scaling import unscalable_components
from penstock.topology.topology import Topology

__all__ = ["Wanted", "moved", "scaled"]

Wanted = tuple[tuple[Task, ...], dict[int, int]]
"""The tasks, and the worker of each."""


def moved(topology: Topology, now: Wanted, worker_of: Mapping[int, int]) -> Wanted:
    """Some tasks are elsewhere; ValueError if one of them cannot be."""
    tasks, places = now
    pinned = pinned_components(topology)
    component_of = {task.id: task.component for task in tasks}
    for task, worker in worker_of.items():
        if task not in component_of:
            message = f"move: wanted one of the tasks {sorted(component_of)}, got {task}"
            raise ValueError(message)
        component = component_of[task]
        if component in pinned and worker != places[task]:
            message = f"move: {component!r} stays where it is: {pinned[component]}"
            raise ValueError(message)
    return tasks, {**places, **worker_of}


def scaled(topology: Topology, now: Wanted, component: str, worker_of: Sequence[int]) -> Wanted:
    """The tasks of a bolt are replaced by others, one on each of these workers; ValueError if they cannot be."""
    tasks, places = now
    unscalable = unscalable_components(topology)
    if component in unscalable:
        message = f"scale: {component!r} keeps its tasks: {unscalable[component]}"
        raise ValueError(message)
    others = tuple(task for task in tasks if task.component != component)
    fresh = max(task.id for task in tasks) + 1
    new = tuple(
        Task(id=fresh + index, component=component, index=index, kind="bolt") for index in range(len(worker_of))
    )
    stay = {task.id: places[task.id] for task in others}
    return (*others, *new), {**stay, **{task.id: worker_of[task.index] for task in new}}
