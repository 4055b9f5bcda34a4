"""Edges: the subscriptions of a topology, numbered for the whole run."""

from __future__ import annotations

import msgspec

from penstock.plan.shape import TopologyShape

__all__ = ["Edge", "edges_of"]


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


def edges_of(shape: TopologyShape) -> tuple[Edge, ...]:
    """All edges, with ids dense from 0, in topological order of their targets."""
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
        )
        for number, (target, position, taken) in enumerate(places)
    )
