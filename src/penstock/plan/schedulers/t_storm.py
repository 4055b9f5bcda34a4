"""`t-storm`: algorithm 1 of T-Storm (Xu, Chen, Tang, Su: Traffic-aware Online Scheduling in Storm, ICDCS 2014)."""

from __future__ import annotations

from typing import Annotated, ClassVar

import msgspec
import numpy as np
import numpy.typing as npt

from penstock.plan.assignment import Assignment
from penstock.plan.flows import Floats, Integers
from penstock.plan.problem import CostSettings, Problem, problem_of
from penstock.plan.renaming import with_fewest_moves
from penstock.plan.schedulers.base import PlanRequest
from penstock.plan.shares import CAPACITY_FRACTION

__all__ = ["TStormScheduler", "t_storm_places"]

_ROUNDING = 1e-9


class TStormScheduler(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The tasks with most traffic first, each to the node where most of its traffic stays.

    Three constraints hold on every node: (1) the tasks are on one worker, (2) they take no more than its capacity, and
    (3) there are no more of them than gamma times the mean. Where the paper leaves something open, or is wrong:

    - Line 6 sets x for the i-th executor; it is the i-th of the sorted ones, pi(i), that was looked at.
    - Constraint (1) is per topology, and a run has one. A worker of the paper has all cores of its node; ours has one,
      so that with one worker per node the capacity of a node is that of this worker. `one_worker_per_node=False` uses
      all of them, and shares a node's tasks out over its workers by the same algorithm, with a core for each.
    - Constraint (3), taken at its word, cannot hold at gamma 1 unless the nodes divide the tasks. The mean times gamma
      is rounded down, as the paper's numbers of nodes show, and where that has no room for all, some take one more.
      Nodes that are larger than others may have more, by as much.
    - Of several nodes that keep equally much of the traffic (at first: none), the paper does not say which is taken. Of
      the fewest nodes that have room for all it is the emptiest: so the tasks with most traffic, which come first and
      need not talk to each other, leave room on each node for those that they do talk to.
    - Where no node has capacity left, the paper has no answer. The task goes where the share grows least.
    - Pinned tasks stay, also where (1) or (3) would not have them; the others keep to the constraints.
    """

    name: ClassVar[str] = "t-storm"

    gamma: Annotated[float, msgspec.Meta(ge=1.0)] = 1.0
    """The consolidation factor: how many times the mean number of tasks a node may have."""
    capacity_fraction: Annotated[float, msgspec.Meta(gt=0.0)] = CAPACITY_FRACTION
    """How much of a worker, and of a node, may be planned for."""
    one_worker_per_node: bool = True
    """As in the paper. Where it is light enough for one core, no traffic is between the processes of a node."""

    def plan(self, request: PlanRequest) -> Assignment:
        """Places the tasks by descending traffic."""
        problem = problem_of(request, CostSettings(capacity_fraction=self.capacity_fraction))
        places = t_storm_places(problem, gamma=self.gamma, one_worker_per_node=self.one_worker_per_node)
        return problem.assignment(with_fewest_moves(problem, places))


def t_storm_places(problem: Problem, *, gamma: float, one_worker_per_node: bool) -> Integers:
    """The worker of each task."""
    chosen = _workers_to_use(problem, one_worker_per_node)
    limit = problem.node_limit.copy()
    if one_worker_per_node:
        for node, (worker,) in enumerate(chosen):
            limit[node] = min(limit[node], problem.worker_limit[worker])
    nodes = problem.node_of.tolist()
    fixed = {task: nodes[place] for task, place in enumerate(problem.fixed) if place >= 0}
    most = _most_tasks(gamma, len(problem.tasks), limit)
    most = np.maximum(most, np.bincount(list(fixed.values()), minlength=len(problem.nodes)).astype(np.int64))
    # Loads that are only presumed say nothing about capacity.
    measured = problem.request.load is not None and bool(problem.request.load.busy_share)
    capacity = limit if measured else np.full_like(limit, np.inf)
    own: list[list[int]] = [[] for _ in problem.nodes]
    for task, node in _greedy(problem, list(range(len(problem.tasks))), fixed, capacity, most).items():
        own[node].append(task)
    places = np.array(problem.fixed, dtype=np.int64)
    for workers, tasks in zip(chosen, own, strict=True):
        if len(workers) == 1:
            places[[task for task in tasks if problem.fixed[task] < 0]] = workers[0]
        elif tasks:
            _share_out(problem, sorted(tasks), workers, places)
    return places


def _workers_to_use(problem: Problem, one_worker_per_node: bool) -> list[list[int]]:
    """For each node the workers that tasks may be put on: of those that are as fast, the one that has most already."""
    chosen: list[list[int]] = [[] for _ in problem.nodes]
    for worker, node in enumerate(problem.node_of.tolist()):
        chosen[node].append(worker)
    if not one_worker_per_node:
        return chosen
    pinned = np.bincount([place for place in problem.fixed if place >= 0], minlength=len(problem.workers))
    present = np.bincount([place for place in problem.current if place >= 0], minlength=len(problem.workers))
    rank = lambda worker: (-pinned[worker], -problem.worker_limit[worker], -present[worker], worker)  # noqa: E731
    return [[min(workers, key=rank)] for workers in chosen]


def _most_tasks(gamma: float, tasks: int, limit: Floats) -> Integers:
    """Constraint (3): how many tasks each node may have."""
    exact = gamma * tasks * limit / limit.sum()
    most: Integers = np.floor(exact + _ROUNDING).astype(np.int64)
    missing = tasks - int(most.sum())
    if missing > 0:
        most[np.argsort(most - exact, kind="stable")[:missing]] += 1
    return most


def _greedy(problem: Problem, tasks: list[int], fixed: dict[int, int], limit: Floats, most: Integers) -> dict[int, int]:
    """Algorithm 1: the bin of each of the tasks, where bins have a limit, and a most that they may hold."""
    busy, held = np.zeros(len(limit)), np.zeros(len(limit), dtype=np.int64)
    room = limit.tolist()  # the same as limit - busy, which lists are faster for to ask about one bin
    free: list[int] = most.tolist()
    inside = set(tasks)
    weight = {task: sum(rate for other, rate in problem.neighbours[task] if other in inside) for task in tasks}
    fewest = _fewest_for(len(tasks), most)
    bins: dict[int, int] = {}
    for task in sorted(tasks, key=lambda task: (task not in fixed, -weight[task], task)):  # pinned ones are there first
        share = float(problem.busy[task])
        best = fixed.get(task)
        if best is None:
            kept: dict[int, float] = {}
            for other, rate in problem.neighbours[task]:
                if other in bins:
                    kept[bins[other]] = kept.get(bins[other], 0.0) + rate
            fits = [bin_ for bin_ in kept if free[bin_] > 0 and share <= room[bin_] + _ROUNDING]
            best = min(fits, key=lambda bin_: (-kept[bin_], bin_), default=None)
        if best is None:
            best = _emptiest_with_room(share, busy, held, limit, most, fewest)
        bins[task] = best
        busy[best] += share
        held[best] += 1
        room[best] -= share
        free[best] -= 1
    return bins


def _fewest_for(tasks: int, most: Integers) -> npt.NDArray[np.bool_]:
    """Which bins to use, so that they are as few as can hold all: the largest."""
    largest = np.argsort(-most, kind="stable")
    needed = int(np.searchsorted(np.cumsum(most[largest]), tasks)) + 1
    fewest = np.zeros(len(most), dtype=np.bool_)
    fewest[largest[:needed]] = True
    return fewest


def _emptiest_with_room(
    share: float, busy: Floats, held: Integers, limit: Floats, most: Integers, fewest: npt.NDArray[np.bool_]
) -> int:
    """The emptiest of the fewest, or of those in use, or of all; where none has capacity, whose share grows least."""
    open_ = held < most
    fits = open_ & (busy + share <= limit + _ROUNDING)
    for candidates in (fits & fewest, fits & (held > 0), fits):
        if candidates.any():
            return int(np.where(candidates, held / np.maximum(most, 1), np.inf).argmin())
    relative = np.where(open_, (busy + share) / np.maximum(limit, _ROUNDING), np.inf)
    return int(relative.argmin())


def _share_out(problem: Problem, tasks: list[int], workers: list[int], places: Integers) -> None:
    """Within a node the same again, over its workers with a core each."""
    position = {worker: number for number, worker in enumerate(workers)}
    fixed = {task: position[problem.fixed[task]] for task in tasks if problem.fixed[task] >= 0}
    any_number = np.full(len(workers), len(tasks), dtype=np.int64)
    for task, bin_ in _greedy(problem, tasks, fixed, problem.worker_limit[workers], any_number).items():
        places[task] = workers[bin_]
