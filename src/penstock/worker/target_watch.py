"""What a worker knows of the tasks that its own send to: how much waits for each, and how far away it is."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from penstock.flow.balance import NODE, OTHER_NODE, OWN_WORKER, Standing
from penstock.flow.credit import CreditTaker
from penstock.flow.spare_time import SpareTime
from penstock.worker.company import Company
from penstock.worker.lanes import Lane, LocalLane

__all__ = ["TargetWatch"]


class TargetWatch:
    """See Watch in worker/in_turn.

    Args:
        company: who is on which node.
        worker_of: the worker of each task.
        most_queued_tuples: what may wait for each task of this worker.
        credit: what is under way to the others.
        spare_time: of this worker.
        steady_ns: the time that spare time is measured by.
    """

    def __init__(
        self,
        *,
        company: Company,
        worker_of: Mapping[int, int],
        most_queued_tuples: int,
        credit: CreditTaker,
        spare_time: SpareTime,
        steady_ns: Callable[[], int],
    ) -> None:
        self._company = company
        self._worker_of = worker_of
        self._most_queued_tuples = most_queued_tuples
        self._credit = credit
        self._spare_time = spare_time
        self._steady_ns = steady_ns

    def standing(self, lane: Lane, *, is_full: bool) -> Standing:
        """See Watch."""
        if isinstance(lane, LocalLane):
            return Standing(lane.receiver.queued_tuples / self._most_queued_tuples, OWN_WORKER, is_full)
        near = self._node_of(self._worker_of.get(lane.target)) == self._node_of(self._company.me) is not None
        load = self._credit.share_under_way((lane.source, lane.target))
        return Standing(load, NODE if near else OTHER_NODE, is_full)

    def _node_of(self, worker: int | None) -> str | None:
        return None if worker is None else self._company.node_of.get(worker)

    def idle_share(self) -> float:
        """See Watch."""
        return self._spare_time.share(self._steady_ns())
