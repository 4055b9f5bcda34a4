"""Ways through a topology, from its spouts to its ends."""

from __future__ import annotations

from collections import defaultdict

from penstock.topology.topology import Topology

__all__ = ["most_after"]


def most_after(topology: Topology, kind: type) -> dict[str, int]:
    """For each component: how many components of a kind what it emits can meet at most."""
    takers: dict[str, list[str]] = defaultdict(list)
    for name, spec in topology.components.items():
        for taken in spec.inputs:
            takers[taken.source].append(name)
    met: dict[str, int] = {}

    def after(name: str) -> int:
        if name not in met:
            components = topology.components
            met[name] = max(
                (after(taker) + isinstance(components[taker].logic, kind) for taker in takers[name]), default=0
            )
        return met[name]

    return {name: after(name) for name in topology.components}
