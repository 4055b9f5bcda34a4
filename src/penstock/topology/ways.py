"""Ways through a topology, from its spouts to its ends."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping

from penstock.topology.bolts import BatchBolt
from penstock.topology.groupings import Broadcast, Gather, is_combined
from penstock.topology.spec import ComponentSpec

__all__ = ["answering", "comes_of_many", "most_after"]


def most_after(components: Mapping[str, ComponentSpec], counts: Callable[[ComponentSpec], bool]) -> dict[str, int]:
    """For each component: how many components that count what it emits can meet at most."""
    takers: dict[str, list[str]] = defaultdict(list)
    for name, spec in components.items():
        for taken in spec.inputs:
            takers[taken.source].append(name)
    met: dict[str, int] = {}

    def after(name: str) -> int:
        if name not in met:
            met[name] = max((after(taker) + counts(components[taker]) for taker in takers[name]), default=0)
        return met[name]

    return {name: after(name) for name in components}


def comes_of_many(spec: ComponentSpec) -> bool:
    """Whether what a component emits comes of several tuples at once."""
    return isinstance(spec.logic, BatchBolt) or any(is_combined(taken.grouping) for taken in spec.inputs)


def answering(components: Mapping[str, ComponentSpec]) -> frozenset[str]:
    """The components on the way from a broadcast to whoever gathers what came of it."""
    found: set[str] = set()
    to_visit = [
        taken.source for spec in components.values() for taken in spec.inputs if isinstance(taken.grouping, Gather)
    ]
    while to_visit:
        name = to_visit.pop()
        if name not in found:
            found.add(name)
            inputs = components[name].inputs
            to_visit += [taken.source for taken in inputs if not isinstance(taken.grouping, Broadcast)]
    return frozenset(found)
