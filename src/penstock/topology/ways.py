"""Ways through a topology, from its spouts to its ends."""

from __future__ import annotations

from penstock.topology.topology import Topology

__all__ = ["most_on_a_way"]


def most_on_a_way(topology: Topology, kind: type) -> int:
    """How many components of a kind a tuple can meet at most."""
    met: dict[str, int] = {}

    def most(name: str) -> int:
        if name not in met:
            spec = topology.components[name]
            before = max((most(taken.source) for taken in spec.inputs), default=0)
            met[name] = before + isinstance(spec.logic, kind)
        return met[name]

    return max(map(most, topology.components), default=0)
