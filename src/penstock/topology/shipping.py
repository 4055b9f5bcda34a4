"""A topology as bytes, for its workers.

    >>> from penstock.topology.topology import Topology
    >>> topo = Topology("example")
    >>> numbers = topo.spout("numbers", lambda: (yield (1,)), fields=("n",))
    >>> from_bytes(to_bytes(topo))
    Topology('example', 1 components)

The bytes can do anything when they are opened. They go from a run's driver to its own workers, and nowhere else.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import cloudpickle

from penstock.errors import TopologyError
from penstock.topology.pickling import dumps

if TYPE_CHECKING:
    from penstock.topology.topology import Topology

__all__ = ["from_bytes", "to_bytes"]


def to_bytes(topology: Topology) -> bytes:
    """The topology, together with the code of it that is not installed.

    Raises:
        TopologyError: something in it cannot be shipped; the text says which attribute of which component.
    """
    try:
        return dumps(topology)
    except Exception as error:
        topology.check()  # knows better which component it is
        message = f"topology {topology.name!r} cannot be shipped to workers: {type(error).__name__}: {error}"
        raise TopologyError(message) from error


def from_bytes(shipped: bytes) -> Topology:
    """The topology again. Only for bytes that come from the driver of the run."""
    topology: Topology = cloudpickle.loads(shipped)
    return topology
