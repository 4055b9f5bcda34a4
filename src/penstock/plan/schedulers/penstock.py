"""`penstock`: the best that the others find, improved by local search."""

from __future__ import annotations

from typing import Annotated, ClassVar

import msgspec
import numpy as np

from penstock.plan.assignment import Assignment
from penstock.plan.flows import Integers
from penstock.plan.local_search import improve
from penstock.plan.problem import CostSettings, Problem, problem_of
from penstock.plan.renaming import with_fewest_moves
from penstock.plan.schedulers.base import PlanRequest
from penstock.plan.schedulers.even import EvenScheduler
from penstock.plan.schedulers.t_storm import t_storm_places
from penstock.plan.schedulers.turbo import TurboScheduler, turbo_places
from penstock.plan.shares import CAPACITY_FRACTION
from penstock.plan.units import Unit, bunched, by_worker, single_units

__all__ = ["PenstockScheduler", "penstock_places", "rank"]

# Up to so many tasks are improved from every start, and up to so many in every way. More would take too long: then it
# is only couples of tasks that are moved beside single ones.
_MOST_TASKS_FROM_EVERY_START = 100
_MOST_TASKS_WITH_ALL_BUNCHES = 500
_MOST_ROUNDS = 4
# How many kicks there are, times how many tasks each has to place anew.
_KICKED_TASKS = 300
_LOOKS_PER_UNIT = 2
_FEWEST_LOOKS = 2_000


class PenstockScheduler(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Starts from the best of `even`, `t-storm`, `turbo` and what there is now, and moves and swaps while it pays.

    What is minimised is overload first, and then the traffic between workers and nodes, weighted, with what it costs to
    move the tasks added. Single tasks are moved, then bunches of tasks that belong together, then whole workers: where
    parting two tasks costs more than joining a third brings, only all three can move.
    """

    name: ClassVar[str] = "penstock"

    capacity_fraction: Annotated[float, msgspec.Meta(gt=0.0)] = CAPACITY_FRACTION
    """How much of a worker, and of a node, may be planned for."""
    node_weight: Annotated[float, msgspec.Meta(ge=1.0)] = CostSettings().node_weight
    """How much dearer traffic between nodes is than traffic between workers of a node."""

    def plan(self, request: PlanRequest) -> Assignment:
        """Improves the best start there is."""
        settings = CostSettings(capacity_fraction=self.capacity_fraction, node_weight=self.node_weight)
        problem = problem_of(request, settings)
        return problem.assignment(penstock_places(problem))


def penstock_places(problem: Problem) -> Integers:
    """The worker of each task."""
    even = problem.places(EvenScheduler().plan(problem.request))
    turbo = TurboScheduler()
    starts = [
        even,
        turbo_places(problem, factor=turbo.factor, groups_per_node=turbo.groups_per_node),
        t_storm_places(problem, gamma=float(len(problem.nodes)), one_worker_per_node=False),
    ]
    several = len(problem.tasks) <= _MOST_TASKS_FROM_EVERY_START
    if several:
        starts.append(t_storm_places(problem, gamma=1.0, one_worker_per_node=False))
        starts.append(t_storm_places(problem, gamma=float(len(problem.nodes)), one_worker_per_node=True))
    starts = [with_fewest_moves(problem, start) for start in starts]
    bars = [even]
    if -1 not in problem.current:
        bars.append(np.array(problem.current, dtype=np.int64))
        starts.append(bars[-1])
    found = [_improved(problem, start) for start in (starts if several else [_most_promising(problem, starts)])]
    if several and found:
        found.append(_kicked(problem, min(found, key=lambda places: rank(problem, places))))
    # With the moves counted `even` may be worse than what there is, and yet have less traffic: what is planned has no
    # more than either. One that has not is always there, if only the best of the starts itself.
    everything = [*found, *starts, *bars]
    bar = min(_without_moves(problem, places) for places in [*starts, *bars])
    allowed = [places for places in everything if _without_moves(problem, places) <= bar]
    return min(allowed, key=lambda places: rank(problem, places))


def _most_promising(problem: Problem, starts: list[Integers]) -> Integers:
    """The start with least traffic, where a little overload counts for little: the search relieves it first."""
    busy = float(problem.busy.sum()) or 1.0
    return min(starts, key=lambda start: problem.traffic_cost(start) * (1.0 + problem.overload(start) / busy))


def _improved(problem: Problem, start: Integers) -> Integers:
    """Local search with single tasks, then with bunches twice, four, eight times as large, then with whole workers."""
    place: list[int] = start.tolist()
    singles = single_units(problem)
    _improve(problem, singles, place)
    small = len(singles) <= _MOST_TASKS_WITH_ALL_BUNCHES
    for _ in range(_MOST_ROUNDS if small else 1):
        changed = False
        units = singles
        while True:
            larger = bunched(units, [place[unit.tasks[0]] for unit in units])
            if len(larger) > 0.9 * len(units):
                break
            units = larger
            changed |= _improve(problem, units, place)
            if not small:
                break
        if small:
            changed |= _improve(problem, by_worker(singles, place), place)
        if not changed or not _improve(problem, singles, place):
            break
    return with_fewest_moves(problem, np.array(place, dtype=np.int64))


def _kicked(problem: Problem, places: Integers) -> Integers:
    """Out of a local optimum: all neighbours of one task are pulled to its worker, and it is improved from there."""
    order = sorted(range(len(problem.tasks)), key=lambda task: (-sum(r for _, r in problem.neighbours[task]), task))
    for task in order[: _KICKED_TASKS // max(1, len(order))]:
        pulled = places.copy()
        for other, _ in problem.neighbours[task]:
            if problem.fixed[other] < 0:
                pulled[other] = pulled[task]
        places = min(places, _improved(problem, pulled), key=lambda found: rank(problem, found))
    return places


def _improve(problem: Problem, units: list[Unit], place: list[int]) -> bool:
    own = [place[unit.tasks[0]] for unit in units]
    changed = improve(problem, units, own, max(_FEWEST_LOOKS, _LOOKS_PER_UNIT * len(units)))
    for unit, worker in zip(units, own, strict=True):
        for task in unit.tasks:
            place[task] = worker
    return changed


def rank(problem: Problem, places: Integers) -> tuple[float, float]:
    """What is minimised: overload, and then traffic with the moves counted."""
    overload, traffic = _without_moves(problem, places)
    return overload, traffic + problem.moving_cost(places)


def _without_moves(problem: Problem, places: Integers) -> tuple[float, float]:
    return round(problem.overload(places), 9), problem.traffic_cost(places)
