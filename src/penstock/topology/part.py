"""A part of a topology: what one stream depends on, with other sources than it was declared with.

>>> from penstock.topology.topology import Topology
>>> topo = Topology("example")
>>> lines = topo.spout("lines", lambda: (yield), fields=("line",))
>>> words = topo.bolt("split", lambda tup: [(word,) for word in tup.line.split()], lines.shuffle(), fields=("word",))
>>> sink = topo.bolt("print", print, words.shuffle())
>>> list(part_of(topo, ends=["split"]).components)
['lines', 'split']
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

import msgspec

from penstock.topology.declaration import Declaration
from penstock.topology.spec import ComponentSpec
from penstock.topology.topology import Topology

__all__ = ["part_of", "with_bolt"]


def part_of(
    topology: Topology,
    *,
    ends: Iterable[str],
    changed: Callable[[ComponentSpec], ComponentSpec] = lambda spec: spec,
) -> Topology:
    """The components of these names and all that they take tuples from, each as `changed` gives it back."""
    needed = set(ends)
    for name, spec in reversed(topology.components.items()):
        if name in needed:
            needed.update(taken.source for taken in spec.inputs)
    part = Topology(topology.name)
    part.declarations = [
        msgspec.structs.replace(declared, spec=changed(declared.spec))
        for declared in topology.declarations
        if declared.spec.name in needed
    ]
    return part


def with_bolt(topology: Topology, spec: ComponentSpec) -> Topology:
    """The topology with one more bolt, which takes streams that are there."""
    whole = Topology(topology.name)
    whole.declarations = [*topology.declarations, Declaration(spec, [])]
    return whole
