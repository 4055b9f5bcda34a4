"""Improves a placement by moving and swapping, as long as something gets better and nothing more overloaded."""

from __future__ import annotations

from collections import deque

from penstock.plan.problem import Problem
from penstock.plan.units import Unit

__all__ = ["improve"]

# A gain has to be more than the rounding of the sums that it is the difference of, or the search would never end.
_ROUNDING = 1e-9
# Overload is in squares of cores: this is the rounding of a change of it, and so little that it never adds up.
_NOTHING = 1e-15
# How many of the best places a unit tries: each next one keeps less of its traffic.
_MOST_CANDIDATES = 12
# How many workers without room are tried for a swap.
_MOST_SWAP_WORKERS = 2


def improve(problem: Problem, units: list[Unit], place: list[int], most_looks: int) -> bool:
    """Moves units in `place` (the worker of each) until no look at one finds anything better; whether any was moved.

    A look takes the change that is best for one unit, as Kernighan and Lin reckon it: from the traffic with the
    workers it is moved away from and to, and not from the cost of the whole. Who exchanges something with what has
    moved is looked at again. There are never more than `most_looks`, so that time is bounded whatever the traffic.
    """
    search = _Search(problem, units, place)
    waiting = deque(
        sorted(
            (number for number, unit in enumerate(units) if unit.movable),
            key=lambda number: (-sum(rate for _, rate in units[number].neighbours), number),
        )
    )
    queued = set(waiting)
    changed = False
    for _ in range(most_looks):
        if not waiting:
            break
        number = waiting.popleft()
        queued.discard(number)
        for moved in search.look_at(number):
            changed = True
            again = [moved, *(other for other, _ in units[moved].neighbours)]
            fresh = [other for other in again if other not in queued and units[other].movable]
            waiting.extend(fresh)
            queued.update(fresh)
    return changed


class _Search:
    """Who is where, and how busy every place is: kept up to date with each change."""

    def __init__(self, problem: Problem, units: list[Unit], place: list[int]) -> None:
        self._units, self._place = units, place
        self._node_of: list[int] = problem.node_of.tolist()
        self._worker_limit: list[float] = problem.worker_limit.tolist()
        self._node_limit: list[float] = problem.node_limit.tolist()
        self._far = problem.settings.node_weight
        self._busy = [0.0] * len(problem.workers)
        self._node_busy = [0.0] * len(problem.nodes)
        # Dicts, because they keep an order, and sets do not.
        self._on_worker: list[dict[int, None]] = [{} for _ in problem.workers]
        self._on_node: list[list[int]] = [[] for _ in problem.nodes]
        for worker, node in enumerate(self._node_of):
            self._on_node[node].append(worker)
        for number, worker in enumerate(place):
            self._on_worker[worker][number] = None
            self._add_busy(worker, units[number].busy)

    def look_at(self, number: int) -> list[int]:
        """Makes the best change there is for a unit, and says who was moved."""
        here = self._place[number]
        worker_worth, node_worth = self._worth(number)
        home = self._units[number].at_home

        def saved(worker: int) -> float:
            """What does not have to be paid if the unit is on that worker."""
            kept = (self._far - 1.0) * node_worth.get(self._node_of[worker], 0.0) + worker_worth.get(worker, 0.0)
            return kept + home.get(worker, 0.0)

        now = saved(here)
        least = now + _ROUNDING * (1.0 + now)
        if self._is_overloaded(here):
            candidates = self._with_room(number, worker_worth, node_worth)
            relief = min((self._overload_change(number, worker), -saved(worker), worker) for worker in candidates)
            if relief[0] < -_ROUNDING:
                return self._moved((number, relief[2]))
        # On a node with less traffic than that no worker can be better: nearly all are left out by this.
        nodes = {node for node, worth in node_worth.items() if self._far * worth > least}
        nodes.update(self._node_of[worker] for worker in home)
        workers = [worker for worker in worker_worth if self._node_of[worker] in nodes]
        workers += [worker for worker in home if worker not in worker_worth]
        workers += [min(self._on_node[node], key=self._share) for node in nodes]
        better = sorted({(-saved(worker), worker) for worker in workers if saved(worker) > least})
        for turn, (loss, worker) in enumerate(better[:_MOST_CANDIDATES]):
            if self._overload_change(number, worker) <= _NOTHING:
                return self._moved((number, worker))
            if turn < _MOST_SWAP_WORKERS:
                other = self._best_swap(number, worker, -loss - least)
                if other is not None:
                    return self._moved((number, worker), (other, here))
        return []

    def _worth(self, number: int) -> tuple[dict[int, float], dict[int, float]]:
        """What the unit exchanges with each worker, and with each node."""
        place, node_of = self._place, self._node_of
        by_worker: dict[int, float] = {}
        for other, rate in self._units[number].neighbours:
            worker = place[other]
            by_worker[worker] = by_worker.get(worker, 0.0) + rate
        by_node: dict[int, float] = {}
        for worker, rate in by_worker.items():
            by_node[node_of[worker]] = by_node.get(node_of[worker], 0.0) + rate
        return by_worker, by_node

    def _with_room(self, number: int, worker_worth: dict[int, float], node_worth: dict[int, float]) -> list[int]:
        """Where an overloaded worker's unit may go: to a neighbour, or where there is most room, near or anywhere."""
        found = {*worker_worth, *self._units[number].at_home}
        nodes = sorted(node_worth, key=lambda node: (-node_worth[node], node))[:_MOST_CANDIDATES]
        nodes.append(self._node_of[self._place[number]])
        found.update(min(self._on_node[node], key=self._share) for node in nodes)
        found.add(min(range(len(self._busy)), key=self._share))
        return sorted(found)

    def _best_swap(self, number: int, worker: int, gain: float) -> int | None:
        """The unit on the worker that loses least by changing places, if that is less than what is gained."""
        here, unit = self._place[number], self._units[number]
        between = self._far if self._node_of[here] != self._node_of[worker] else 1.0
        exchanged = dict(unit.neighbours)
        best, best_loss = None, gain
        for other in self._on_worker[worker]:
            candidate = self._units[other]
            if not candidate.movable or self._change(here, worker, unit.busy - candidate.busy) > _NOTHING:
                continue
            # What the two exchange stays as far apart as it was, but each counted it as won.
            loss = self._loss(other, here) + 2.0 * between * exchanged.get(other, 0.0)
            if loss < best_loss:
                best, best_loss = other, loss
        return best

    def _loss(self, number: int, target: int) -> float:
        """What it costs to move a unit, if nothing else is moved."""
        place, node_of, here, far = self._place, self._node_of, self._place[number], self._far
        own_node, target_node = node_of[here], node_of[target]
        if own_node == target_node:
            own_node, target_node, far = -1, -1, 1.0  # what the whole node exchanges is the same on both
        home = self._units[number].at_home
        loss = home.get(here, 0.0) - home.get(target, 0.0)
        for other, rate in self._units[number].neighbours:
            worker = place[other]
            if worker == here:
                loss += rate * far
            elif worker == target:
                loss -= rate * far
            elif node_of[worker] == own_node:
                loss += rate * (far - 1.0)
            elif node_of[worker] == target_node:
                loss -= rate * (far - 1.0)
        return loss

    def _share(self, worker: int) -> float:
        return self._busy[worker] / self._worker_limit[worker]

    def _is_overloaded(self, worker: int) -> bool:
        node = self._node_of[worker]
        return (
            self._busy[worker] > self._worker_limit[worker] + _ROUNDING
            or self._node_busy[node] > self._node_limit[node] + _ROUNDING
        )

    def _overload_change(self, number: int, target: int) -> float:
        return self._change(self._place[number], target, self._units[number].busy)

    def _change(self, source: int, target: int, busy: float) -> float:
        """By how much the overload of all grows if so much is taken from one worker and given to the other."""
        if source == target:
            return 0.0
        change = _grown(self._busy[source], -busy, self._worker_limit[source])
        change += _grown(self._busy[target], busy, self._worker_limit[target])
        source_node, target_node = self._node_of[source], self._node_of[target]
        if source_node != target_node:
            change += _grown(self._node_busy[source_node], -busy, self._node_limit[source_node])
            change += _grown(self._node_busy[target_node], busy, self._node_limit[target_node])
        return change

    def _moved(self, *moves: tuple[int, int]) -> list[int]:
        for number, worker in moves:
            source, busy = self._place[number], self._units[number].busy
            del self._on_worker[source][number]
            self._add_busy(source, -busy)
            self._place[number] = worker
            self._on_worker[worker][number] = None
            self._add_busy(worker, busy)
        return [number for number, _ in moves]

    def _add_busy(self, worker: int, busy: float) -> None:
        self._busy[worker] += busy
        self._node_busy[self._node_of[worker]] += busy


def _grown(busy: float, by: float, limit: float) -> float:
    """The overload of one place after, less that before: as `Problem.overload` counts it."""
    before, after = busy - limit, busy + by - limit
    grown = 0.0
    if after > _ROUNDING:
        grown += after * after / limit
    if before > _ROUNDING:
        grown -= before * before / limit
    return grown
