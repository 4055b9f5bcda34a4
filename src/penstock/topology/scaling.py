"""Which components keep the number of tasks that they began with, because what a task holds cannot be shared out."""

from __future__ import annotations

from penstock.topology.bolts import StatefulBolt
from penstock.topology.collecting import CollectingBolt
from penstock.topology.groupings import Gather
from penstock.topology.pinned import pinned_components
from penstock.topology.spec import ComponentSpec
from penstock.topology.topology import Topology
from penstock.topology.transactional import TransactionalSink

__all__ = ["unscalable_components"]


def unscalable_components(topology: Topology) -> dict[str, str]:
    """The components that cannot be given another number of tasks while they run, and why.

    >>> from penstock.connectors.lines import Lines
    >>> topo = Topology("example")
    >>> lines = topo.spout("lines", Lines(["a"]))
    >>> words = topo.bolt("words", lambda tup: tup, lines.shuffle(), fields=("word",))
    >>> for name, why in unscalable_components(topo).items():
    ...     print(f"{name}: {why}")
    lines: it is a spout, and what one of its tasks reads is no other's
    """
    found = {name: why for name, spec in topology.components.items() if (why := _why(spec)) is not None}
    for name, why in pinned_components(topology).items():
        found.setdefault(name, why)
    for name, spec in topology.components.items():
        for taken in spec.inputs:
            if isinstance(taken.grouping, Gather):
                found.setdefault(taken.source, f"{name!r} gathers the answers of its tasks, and counts on their number")
    return found


def _why(spec: ComponentSpec) -> str | None:
    if spec.kind == "spout":
        return "it is a spout, and what one of its tasks reads is no other's"
    if isinstance(spec.logic, StatefulBolt):
        return "it is a StatefulBolt, whose state is a task's own; that of a KeyedBolt is shared out by key"
    if isinstance(spec.logic, TransactionalSink | CollectingBolt):
        return "it is a sink, and what one of its tasks has prepared is no other's"
    return None
