"""Which components stay where they are, because what they hold cannot be taken to another worker."""

from __future__ import annotations

from penstock.topology.groupings import Gather, is_combined
from penstock.topology.pushed_spout import PushedSpout
from penstock.topology.spec import ComponentSpec
from penstock.topology.spouts import Spout
from penstock.topology.topology import Topology

__all__ = ["pinned_components"]


def pinned_components(topology: Topology) -> dict[str, str]:
    """The components whose tasks cannot move while they run, and why.

    >>> from penstock.connectors.lines import Lines
    >>> topo = Topology("example")
    >>> lines = topo.spout("lines", Lines(["a"]))
    >>> ticks = topo.spout("ticks", lambda: iter([(1,)]), fields=("n",))
    >>> for name, why in pinned_components(topo).items():
    ...     print(f"{name}: {why}")
    ticks: it has no position() and seek(), by which another process could go on where it is
    """
    pinned = {name: why for name, spec in topology.components.items() if (why := _why(spec)) is not None}
    for name, spec in topology.components.items():
        for taken in spec.inputs:
            if is_combined(taken.grouping):
                pinned.setdefault(name, "what comes to it is put together on the way, by to_one(combine=…)")
                pinned.setdefault(taken.source, f"what it emits is put together on the way to {name!r}")
    return pinned


def _why(spec: ComponentSpec) -> str | None:
    if spec.kind == "spout":
        if isinstance(spec.logic, PushedSpout):
            return "Spark feeds it, and its tasks know it by its place"
        if not (isinstance(spec.logic, Spout) and spec.logic.is_replayable()):
            return "it has no position() and seek(), by which another process could go on where it is"
    if any(isinstance(taken.grouping, Gather) for taken in spec.inputs):
        return "it gathers answers, of which some may be there and some on their way"
    return None
