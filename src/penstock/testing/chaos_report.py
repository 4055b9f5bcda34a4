"""What became of a topology that faults were done to, against what it gives without any."""

from __future__ import annotations

from collections import Counter
from typing import Any, Protocol

import msgspec

from penstock.connectors.collect import Collect
from penstock.flow.delivery import Delivery
from penstock.testing.faults import ClusterFault, Fault
from penstock.topology.topology import Topology

__all__ = ["ChaosReport", "collected_rows"]


class ChaosReport(msgspec.Struct, frozen=True, kw_only=True):
    """What became of a topology."""

    seed: int
    """Gives the same faults again, in the same order; on virtual time at the same turns, too."""
    faults: tuple[Fault | ClusterFault, ...]
    """Those that struck, in order. What would have come after the end of the run is not among them."""
    missing: int
    """Rows of `Collect` sinks that a run without faults has, and this one has not."""
    surplus: int
    """Rows that this run has, and one without faults has not."""
    moves: int = 0
    """How many tasks moved meanwhile, where they were made to."""

    def check(self, delivery: Delivery) -> None:
        """AssertionError, with the seed, if that is not what was promised.

        At most once rows may be missing, at least once there may be too many, and exactly once neither.
        """
        if (self.missing and delivery != "at_most_once") or (self.surplus and delivery != "at_least_once"):
            listed = "".join(f"\n  {fault}" for fault in self.faults)
            message = (
                f"{delivery}, seed {self.seed}: {self.missing} rows missing, {self.surplus} too many, after{listed}"
            )
            raise AssertionError(message)


class Collected(Protocol):
    """What is left of a run: a `penstock.Summary`, or the kit's `Result`."""

    def collected(self, name: str) -> list[Any]:
        """The rows of a `Collect` sink."""


def collected_rows(result: Collected, topology: Topology) -> Counter[Any]:
    """How often each row is in each `Collect` sink."""
    sinks = [name for name, spec in topology.components.items() if isinstance(spec.logic, Collect)]
    return Counter((name, repr(tuple(row))) for name in sinks for row in result.collected(name))
