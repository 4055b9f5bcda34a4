"""Redirection: work goes from a worker that cannot do all it has to, to any that has time to spare.

Both sides of it, in one worker: see worker/lending and worker/borrowing, and flow/lending for the rules.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from penstock.flow.credit import Channel
from penstock.topology.context import TaskContext
from penstock.topology.topology import Topology
from penstock.transport.frames import FrameKind
from penstock.worker.borrowing import Borrowing
from penstock.worker.failures import Failures
from penstock.worker.lending import Lending
from penstock.worker.roster import Roster
from penstock.worker.wiring import Wiring

__all__ = ["Redirection"]


class Redirection:
    """What one worker has others do, and what it does for others.

    Args:
        topology: what runs.
        wiring: the ways to the others, and what is known of the tasks.
        roster: the tasks of this worker.
        context_of: what a task is told when it is opened.
        failures: where exceptions of user code are told.
        steady_ns: the time.
        random_number: gives random 64-bit numbers.
    """

    def __init__(
        self,
        *,
        topology: Topology,
        wiring: Wiring,
        roster: Roster,
        context_of: Callable[[int], TaskContext],
        failures: Failures,
        steady_ns: Callable[[], int],
        random_number: Callable[[], int],
    ) -> None:
        edges = {edge.id: edge for edge in wiring.edges if edge.helped}
        self.lending = Lending(
            wiring=wiring,
            roster=roster,
            edges=edges.keys(),
            steady_ns=steady_ns,
            random_number=random_number,
        )
        self.borrowing = Borrowing(
            topology=topology,
            wiring=wiring,
            edges=edges,
            context_of=context_of,
            has_own_need=lambda: self.lending.is_called,
            failures=failures,
            steady_ns=steady_ns,
        )
        self.takers: dict[int, Callable[[Any], None]] = {
            FrameKind.WANTED: self.borrowing.wanted,
            FrameKind.OFFER: self.lending.offered,
            FrameKind.LOAN: self.borrowing.lent,
            FrameKind.REPAID: self.lending.repaid,
        }
        """Who takes which frames."""

    def work(self, exhausted: set[Channel]) -> int:
        """For every turn; returns how much was done."""
        return self.lending.work(exhausted) + self.borrowing.work()

    def lost(self, peer: int) -> None:
        """A worker is gone."""
        self.lending.lost(peer)
        self.borrowing.lost(peer)
