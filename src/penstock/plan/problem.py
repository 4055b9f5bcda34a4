"""A request in numbers from 0, as schedulers reckon with it: who talks to whom, who is how busy, what has room."""

from __future__ import annotations

from dataclasses import dataclass

import msgspec
import numpy as np

from penstock.plan.assignment import Assignment
from penstock.plan.flows import Floats, Flows, Integers, flows_of
from penstock.plan.schedulers.base import PlanRequest
from penstock.plan.shares import CAPACITY_FRACTION, busy_shares, node_capacities

__all__ = ["CostSettings", "Problem", "problem_of"]

# What stands for the size of a tuple where only tuples were counted, and a state has to be weighed against them.
_BYTES_PER_TUPLE = 100.0


class CostSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a placement costs. Traffic between two workers of a node has weight 1, within a worker 0."""

    node_weight: float = 10.0
    """How much dearer a byte between nodes is than one between two workers of a node."""
    capacity_fraction: float = CAPACITY_FRACTION
    """How much of a worker, and of a node, may be planned for; what is beyond that is overload."""
    pause_s: float = 1.0
    """A task that moves costs as much as if all its traffic went between nodes for so long."""
    horizon_s: float = 300.0
    """How long a placement has to last to be worth its moves: what a move costs is spread over this time."""

    @property
    def headroom(self) -> float:
        """How far above its limit something is when it takes all of its cores, as a share of the limit."""
        return max(1.0 / self.capacity_fraction - 1.0, 0.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """Tasks, workers and nodes by their place in ascending order, and not by their ids."""

    request: PlanRequest
    settings: CostSettings
    flows: Flows
    tasks: tuple[int, ...]
    workers: tuple[int, ...]
    nodes: tuple[str, ...]
    node_of: Integers
    """The node of each worker."""
    worker_limit: Floats
    """How busy a worker may become; the same for nodes."""
    node_limit: Floats
    busy: Floats
    neighbours: tuple[tuple[tuple[int, float], ...], ...]
    """For each task the tasks it exchanges something with, ascending, and how much, both ways together."""
    fixed: tuple[int, ...]
    """The worker on which each task must stay; -1 if it may move."""
    current: tuple[int, ...]
    """The worker that each task is on; -1 if it is nowhere yet, or on a worker that is gone."""
    moving: Floats
    """What it costs to move each task, in the unit of the traffic."""
    source: Integers
    target: Integers
    volume: Floats
    """Pairs of tasks and what flows between them, in bytes if they are known and in tuples if not."""

    def assignment(self, places: Integers) -> Assignment:
        """The placement as others know it."""
        workers = [self.workers[place] for place in places.tolist()]
        return Assignment(number=self.request.next_number, worker_of=dict(zip(self.tasks, workers, strict=True)))

    def places(self, assignment: Assignment) -> Integers:
        """An assignment of all tasks to workers of the request, in numbers from 0."""
        number = {worker: place for place, worker in enumerate(self.workers)}
        return np.array([number[assignment.worker_of[task]] for task in self.tasks], dtype=np.int64)

    def traffic_cost(self, places: Integers) -> float:
        """What crosses workers and nodes, weighted."""
        apart = places[self.source] != places[self.target]
        far = self.node_of[places[self.source]] != self.node_of[places[self.target]]
        cost = float(self.volume @ (apart + (self.settings.node_weight - 1.0) * far))
        return cost + self._local_cost(places)

    def busy_by_place(self, places: Integers) -> tuple[Floats, Floats]:
        """How many cores are taken on each worker, and on each node."""
        by_worker: Floats = np.zeros(len(self.workers))
        np.add.at(by_worker, places, self.busy)
        by_node: Floats = np.zeros(len(self.nodes))
        np.add.at(by_node, self.node_of, by_worker)
        return by_worker, by_node

    def overload(self, places: Integers) -> float:
        """How far workers and nodes are above their limits: 0, or more the more unevenly it is spread.

        The squares of the excesses over the limits: what has to be somewhere costs least where it is shared evenly.
        """
        by_worker, by_node = self.busy_by_place(places)
        return _excess(by_worker, self.worker_limit) + _excess(by_node, self.node_limit)

    def overshoot(self, places: Integers) -> float:
        """How far the busiest worker or node is above its limit, as a share of that limit; 0 if none is."""
        by_worker, by_node = self.busy_by_place(places)
        limits = np.maximum(np.concatenate((self.worker_limit, self.node_limit)), _ROUNDING)
        return max(float((np.concatenate((by_worker, by_node)) / limits).max()) - 1.0, 0.0)

    def moving_cost(self, places: Integers) -> float:
        """What it costs to get there from the current placement. Tasks that are nowhere yet cost nothing."""
        current = np.array(self.current, dtype=np.int64)
        return float(self.moving[(current >= 0) & (current != places)].sum())

    def _local_cost(self, places: Integers) -> float:
        number = {task: place for place, task in enumerate(self.tasks)}
        cost = 0.0
        for flow in self.flows.local:
            here = places[number[flow.source]]
            there = places[[number[target] for target in flow.targets]]
            if (there == here).any():
                continue
            far = int((self.node_of[there] != self.node_of[here]).sum())
            volume = flow.bytes_per_s if self.flows.in_bytes else flow.tuples_per_s
            cost += volume * (len(there) + (self.settings.node_weight - 1.0) * far) / len(there)
        return cost


def problem_of(request: PlanRequest, settings: CostSettings) -> Problem:
    """Puts numbers to a request. The same for requests that say the same, in whatever order."""
    tasks = tuple(sorted(task.id for task in request.tasks))
    slots = sorted(request.slots, key=lambda slot: slot.worker)
    nodes = tuple(sorted({slot.node for slot in slots}))
    number = {task: place for place, task in enumerate(tasks)}
    worker_number = {slot.worker: place for place, slot in enumerate(slots)}
    node_number = {node: place for place, node in enumerate(nodes)}
    capacity = node_capacities(request)
    busy = busy_shares(request, settings.capacity_fraction)
    fixed = request.fixed()
    current = request.current.worker_of if request.current else {}
    flows = flows_of(request)
    ids = np.array(tasks, dtype=np.int64)
    source, target = np.searchsorted(ids, flows.source), np.searchsorted(ids, flows.target)
    volume = flows.bytes_per_s if flows.in_bytes else flows.tuples_per_s
    neighbours = _neighbours(len(tasks), source, target, volume, flows, number)
    state = np.array([float(request.state_bytes.get(task, 0)) for task in tasks], dtype=np.float64)
    if not flows.in_bytes:
        state /= _BYTES_PER_TUPLE
    traffic = np.array([sum(rate for _, rate in known) for known in neighbours], dtype=np.float64)
    return Problem(
        request=request,
        settings=settings,
        flows=flows,
        tasks=tasks,
        workers=tuple(slot.worker for slot in slots),
        nodes=nodes,
        node_of=np.array([node_number[slot.node] for slot in slots], dtype=np.int64),
        worker_limit=settings.capacity_fraction * np.array([slot.speed for slot in slots], dtype=np.float64),
        node_limit=settings.capacity_fraction * np.array([capacity[node] for node in nodes], dtype=np.float64),
        busy=np.array([busy[task] for task in tasks], dtype=np.float64),
        neighbours=neighbours,
        fixed=tuple(worker_number[fixed[task]] if task in fixed else -1 for task in tasks),
        current=tuple(worker_number.get(current.get(task, -1), -1) for task in tasks),
        moving=settings.node_weight * (traffic * settings.pause_s + state) / settings.horizon_s,
        source=source,
        target=target,
        volume=volume,
    )


def _neighbours(
    tasks: int, source: Integers, target: Integers, volume: Floats, flows: Flows, number: dict[int, int]
) -> tuple[tuple[tuple[int, float], ...], ...]:
    exchanged: list[dict[int, float]] = [{} for _ in range(tasks)]
    pairs = list(zip(source.tolist(), target.tolist(), volume.tolist(), strict=True))
    in_bytes = flows.in_bytes
    # With its partner on the same worker nothing of a local flow leaves; with another target there it is as well,
    # which no sum over pairs can say: `traffic_cost` knows it.
    pairs += [
        (number[flow.source], number[flow.partner], flow.bytes_per_s if in_bytes else flow.tuples_per_s)
        for flow in flows.local
    ]
    for one, other, rate in pairs:
        if one != other and rate > 0:
            exchanged[one][other] = exchanged[one].get(other, 0.0) + rate
            exchanged[other][one] = exchanged[other].get(one, 0.0) + rate
    return tuple(tuple(sorted(known.items())) for known in exchanged)


def _excess(busy: Floats, limit: Floats) -> float:
    beyond = np.maximum(busy - limit, 0.0)
    beyond[beyond < _ROUNDING] = 0.0
    return float((beyond * beyond / np.maximum(limit, _ROUNDING)).sum())


_ROUNDING = 1e-9  # a worker that is full to the last bit is not overloaded by the sum of its tasks' rounding
