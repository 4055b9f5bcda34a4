"""What a topology's check says, line by line."""

from __future__ import annotations

from collections.abc import Iterator

from penstock.errors import TopologyError
from penstock.topology.bolts import Bolt
from penstock.topology.emit import Outputs
from penstock.topology.spouts import Spout
from penstock.topology.streams import Component
from penstock.topology.topology import Topology
from penstock.topology.tuples import Tuple


def complaints(topology: Topology, *, shipped: bool = False) -> list[str]:
    """The problems, without the number of them that stands at the head; none if the check passes."""
    try:
        topology.check(shipped=shipped)
    except TopologyError as error:
        head, *problems = str(error).splitlines()
        assert head.startswith(f"topology {topology.name!r} cannot run: {len(problems)} problem")
        return [problem.strip() for problem in problems]
    return []


def only_complaint(topology: Topology, *, shipped: bool = False) -> str:
    """The one problem that there should be."""
    found = complaints(topology, shipped=shipped)
    assert len(found) == 1, found
    return found[0]


class Numbers(Spout):
    """A spout that nothing is wrong with."""

    fields = ("n",)

    def next(self) -> Outputs:
        raise StopIteration


class Same(Bolt):
    """A bolt that nothing is wrong with."""

    fields = ("n",)

    def process(self, tup: Tuple) -> Outputs:
        return (tup.n,)


def numbers() -> Iterator[tuple[int]]:
    yield (1,)


def topology_with_numbers() -> tuple[Topology, Component]:
    """A topology with a spout, that nothing is wrong with yet."""
    topo = Topology("checked")
    return topo, topo.spout("numbers", Numbers())
