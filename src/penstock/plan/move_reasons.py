"""Why a task moves, in one sentence."""

from __future__ import annotations

from collections import defaultdict

from penstock.plan.assignment import Assignment, Move
from penstock.plan.flows import flows_of
from penstock.plan.schedulers.base import PlanRequest
from penstock.plan.shares import CAPACITY_FRACTION, busy_shares

__all__ = ["MoveReasons"]


class MoveReasons:
    """Finds for each move what speaks for it most: overload, a partner that comes closer, or room for another."""

    def __init__(self, request: PlanRequest, proposed: Assignment) -> None:
        self._before = dict(request.current.worker_of) if request.current else {}
        self._after = proposed.worker_of
        self._labels = {task.id: task.label for task in request.tasks}
        self._node_of = {slot.worker: slot.node for slot in request.slots}
        speed = {slot.worker: slot.speed for slot in request.slots}
        self._measured = request.load is not None and bool(request.load.busy_share)
        self._share: dict[int, float] = defaultdict(float)
        for task, busy in busy_shares(request).items():
            worker = self._before.get(task)
            if worker in speed:
                self._share[worker] += busy / speed[worker]
        # What each task gets from and gives to each other one, with what that is in tuples.
        self._partners: dict[int, list[tuple[float, int, bool]]] = defaultdict(list)
        flows = flows_of(request)
        pairs = zip(flows.source.tolist(), flows.target.tolist(), flows.tuples_per_s.tolist(), strict=True)
        local = ((flow.source, flow.partner, flow.tuples_per_s) for flow in flows.local)
        for source, target, rate in (*pairs, *local):
            self._partners[source].append((rate, target, False))
            self._partners[target].append((rate, source, True))

    def of(self, move: Move) -> str:
        """The reason for one move of the assignment."""
        if move.source is not None and move.source not in self._node_of:
            return "its worker is gone"
        if move.source is not None and self._measured and self._share[move.source] > CAPACITY_FRACTION:
            return f"worker {move.source} is {self._share[move.source]:.0%} busy, more than {CAPACITY_FRACTION:.0%}"
        closer = [partner for partner in self._partners[move.task] if self._gets_closer(move, partner[1])]
        if closer:
            rate, partner, comes = max(closer, key=lambda found: (found[0], -found[1]))
            where = "there" if self._after[partner] == move.target else "on that node"
            amount = f"{rate:,.0f}" if rate >= 10 else f"{rate:.2g}"
            direction = "come from" if comes else "go to"
            return f"{amount} tuples/s {direction} {self._labels[partner]} {where}"
        coming = [task for task, worker in self._after.items() if worker == move.source != self._before.get(task)]
        if coming:
            return f"to make room for {self._labels[min(coming)]}"
        if move.source is not None and move.source not in self._after.values():
            return f"so that worker {move.source} has nothing left to do"
        return "to share the work more evenly"

    def _gets_closer(self, move: Move, partner: int) -> bool:
        after = self._distance(move.target, self._after.get(partner))
        return after < self._distance(move.source, self._before.get(partner))

    def _distance(self, one: int | None, other: int | None) -> int:
        """0: the same worker, 1: the same node, 2: elsewhere, or nowhere."""
        if one is None or other is None or one not in self._node_of or other not in self._node_of:
            return 2
        return 0 if one == other else 1 if self._node_of[one] == self._node_of[other] else 2
