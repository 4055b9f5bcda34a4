"""Tasks: the instances of components, numbered for the whole run."""

from __future__ import annotations

import msgspec

from penstock.plan.shape import ComponentKind, TopologyShape

__all__ = ["Task", "tasks_of"]


class Task(msgspec.Struct, frozen=True, kw_only=True):
    """One instance of a spout or bolt."""

    id: int
    """Names the task in the whole run; what a frame's `source` and `target` carry."""
    component: str
    index: int
    """Which of its component's tasks it is, from 0."""
    kind: ComponentKind

    @property
    def label(self) -> str:
        """What people call it: `count[2]`."""
        return f"{self.component}[{self.index}]"


def tasks_of(shape: TopologyShape) -> tuple[Task, ...]:
    """All tasks, with ids dense from 0: sources before those that read them, siblings next to each other."""
    places = ((component, index) for component in shape.in_topological_order() for index in range(component.tasks))
    return tuple(
        Task(id=number, component=component.name, index=index, kind=component.kind)
        for number, (component, index) in enumerate(places)
    )
