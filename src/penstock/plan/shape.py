"""What planning needs to know of a topology, as values: names, numbers and subscriptions, and nothing that runs."""

from __future__ import annotations

import msgspec

from penstock.errors import TopologyError
from penstock.topology.helpable import can_be_helped, is_helped_on
from penstock.topology.spec import ComponentKind
from penstock.topology.topology import Topology

__all__ = ["ComponentKind", "ComponentShape", "InputShape", "TopologyShape", "shape_of"]


class InputShape(msgspec.Struct, frozen=True, kw_only=True):
    """One subscription of a bolt: whose stream it takes, and by which kind of grouping."""

    source: str
    stream: str
    grouping: str
    """The name of the grouping's class, for schedulers and people. What it does is known to the topology alone."""
    helped: bool = False
    """Whether others may do the bolt's work on what comes by this."""


class ComponentShape(msgspec.Struct, frozen=True, kw_only=True):
    """A spout or bolt: how many tasks it has, what it gives and what it takes."""

    name: str
    kind: ComponentKind
    tasks: int = 1
    streams: tuple[str, ...] = ("default",)
    inputs: tuple[InputShape, ...] = ()


class TopologyShape(msgspec.Struct, frozen=True, kw_only=True):
    """A topology's components, in the order in which the user declared them."""

    name: str
    components: tuple[ComponentShape, ...]

    def in_topological_order(self) -> tuple[ComponentShape, ...]:
        """Sources before those that read them; among equals, as declared. TopologyError if there is a cycle."""
        placed: dict[str, ComponentShape] = {}
        waiting = {component.name: component for component in self.components}
        while waiting:
            free = [
                component for component in waiting.values() if all(taken.source in placed for taken in component.inputs)
            ]
            if not free:
                message = (
                    f"topology {self.name!r}: components {', '.join(map(repr, waiting))} cannot be put in order: "
                    f"they form a cycle, or read a component that does not exist"
                )
                raise TopologyError(message)
            for component in free:
                placed[component.name] = waiting.pop(component.name)
        return tuple(placed.values())


def shape_of(topology: Topology) -> TopologyShape:
    """The shape of what the user built."""
    components = topology.components
    helped = {name for name in components if can_be_helped(components, name)}
    return TopologyShape(
        name=topology.name,
        components=tuple(
            ComponentShape(
                name=spec.name,
                kind=spec.kind,
                tasks=spec.tasks,
                streams=tuple(spec.streams),
                inputs=tuple(
                    InputShape(
                        source=taken.source,
                        stream=taken.stream,
                        grouping=type(taken.grouping).__name__,
                        helped=spec.name in helped and is_helped_on(taken),
                    )
                    for taken in spec.inputs
                ),
            )
            for spec in components.values()
        ),
    )
