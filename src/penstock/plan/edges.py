"""Edges: the subscriptions of a topology, numbered for the whole run.

Where the tasks of a component may do the work of the bolt that they feed, what comes of it travels on edges of its own,
from them to whoever takes what the bolt emits. These *help edges* are numbered behind all others:

    compute ──────────▶ exclam1 ──────────▶ exclam2
       └──── a help edge, by way of exclam1 ────▲
"""

from __future__ import annotations

import msgspec

from penstock.plan.shape import TopologyShape

__all__ = ["Edge", "edges_of", "help_edges_of"]


class Edge(msgspec.Struct, frozen=True, kw_only=True):
    """One bolt's subscription to one stream: from all tasks of the source to all tasks of the target."""

    id: int
    """What a frame's `stream` field carries."""
    source: str
    stream: str
    target: str
    input: int
    """Which of the target's inputs it is: the same stream may be taken twice, with two groupings."""
    grouping: str
    helped: bool = False
    """Whether others than the target's tasks may work on what comes on it."""
    via: str | None = None
    """Of a help edge: the bolt whose work is done by the source's tasks, and whose stream it is."""
    helps: int | None = None
    """Of a help edge: the one that leads from the source to that bolt."""

    @property
    def emitter(self) -> str:
        """The component whose tuples travel on it."""
        return self.via or self.source


def edges_of(shape: TopologyShape) -> tuple[Edge, ...]:
    """All edges as the user has declared them, with ids dense from 0, in topological order of their targets."""
    places = (
        (component.name, position, taken)
        for component in shape.in_topological_order()
        for position, taken in enumerate(component.inputs)
    )
    return tuple(
        Edge(
            id=number,
            source=taken.source,
            stream=taken.stream,
            target=target,
            input=position,
            grouping=taken.grouping,
            helped=taken.helped,
        )
        for number, (target, position, taken) in enumerate(places)
    )


def help_edges_of(shape: TopologyShape) -> tuple[Edge, ...]:
    """All help edges, with ids behind those of the others."""
    declared = edges_of(shape)
    ways = [(into, out) for into in declared if into.helped for out in declared if out.source == into.target]
    return tuple(
        msgspec.structs.replace(out, id=number, source=into.source, via=into.target, helps=into.id)
        for number, (into, out) in enumerate(ways, len(declared))
    )
