"""Removing all of a cluster: at its end, and where its owner was killed and could not."""

from __future__ import annotations

from penstock.devcluster.marks import kill_marked
from penstock.devcluster.namespaces import remove_namespaces
from penstock.devcluster.registry import ClusterRegistry, ClusterState

__all__ = ["clear", "sweep"]


def clear(registry: ClusterRegistry, state: ClusterState) -> None:
    """Removes a cluster: processes, network, files. Safe to repeat, and to interrupt: the state goes last."""
    if state.is_of_this_boot():
        kill_marked(state.cluster)
        if state.layout.bridge is not None:
            remove_namespaces(state.layout)
    registry.discard(state.cluster)


def sweep(registry: ClusterRegistry) -> list[str]:
    """Clears every cluster whose owner is dead, and no other. Returns which. For who holds the registry's lock."""
    orphans = [state for state in registry.clusters() if state.is_orphan()]
    for state in orphans:
        clear(registry, state)
    for cluster in registry.remnants():
        registry.discard(cluster)
    return [state.cluster for state in orphans]
