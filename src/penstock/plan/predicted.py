"""What an assignment is going to mean for traffic and load."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from penstock.plan.assignment import Assignment
from penstock.plan.schedulers.base import PlanRequest
from penstock.plan.shares import node_capacities

if TYPE_CHECKING:
    from penstock.plan.flows import Floats, Integers
    from penstock.plan.problem import Problem

__all__ = ["Predicted", "Volume", "predict"]


class Volume(msgspec.Struct, frozen=True, kw_only=True):
    """How much flows within workers, between the workers of a node, and between nodes."""

    within_workers: float
    between_workers: float
    between_nodes: float

    @property
    def total(self) -> float:
        """All of it, which no placement changes."""
        return self.within_workers + self.between_workers + self.between_nodes


class Predicted(msgspec.Struct, frozen=True, kw_only=True):
    """What an assignment is going to mean, if load and traffic stay as they are."""

    tuples_per_s: Volume
    bytes_per_s: Volume
    """All 0 as long as no bytes are measured."""
    busiest_worker: int
    busiest_worker_share: float
    """How much of its speed is taken: 1.0 is all."""
    busiest_node: str
    busiest_node_share: float
    workers_used: int
    nodes_used: int
    traffic_measured: bool
    """If not, tuples are by the topology's shape, with one a second from every spout task."""
    load_measured: bool
    """If not, all tasks are presumed equal, and to fill the cluster."""


def predict(request: PlanRequest, assignment: Assignment) -> Predicted:
    """What the assignment, which has every task on a worker of the request, is going to mean."""
    # These values are part of the protocol, which workers import, too; only who plans needs numpy.
    import numpy as np

    from penstock.plan.problem import CostSettings, problem_of

    problem = problem_of(request, CostSettings())
    places = problem.places(assignment)
    busy, node_busy = problem.busy_by_place(places)
    speed_of = {slot.worker: slot.speed for slot in request.slots}
    share = busy / np.array([speed_of[worker] for worker in problem.workers])
    cores = node_capacities(request)
    node_share = node_busy / np.array([cores[node] for node in problem.nodes])
    used = np.unique(places)
    return Predicted(
        tuples_per_s=_volume(problem, places, problem.flows.tuples_per_s, in_bytes=False),
        bytes_per_s=_volume(problem, places, problem.flows.bytes_per_s, in_bytes=True),
        busiest_worker=problem.workers[int(share.argmax())],
        busiest_worker_share=float(share.max()),
        busiest_node=problem.nodes[int(node_share.argmax())],
        busiest_node_share=float(node_share.max()),
        workers_used=len(used),
        nodes_used=len(np.unique(problem.node_of[used])),
        traffic_measured=problem.flows.measured,
        load_measured=request.load is not None and bool(request.load.busy_share),
    )


def _volume(problem: Problem, places: Integers, rates: Floats, *, in_bytes: bool) -> Volume:
    apart = places[problem.source] != places[problem.target]
    far = problem.node_of[places[problem.source]] != problem.node_of[places[problem.target]]
    sums = [float(rates[~apart].sum()), float(rates[apart & ~far].sum()), float(rates[far].sum())]
    number = {task: place for place, task in enumerate(problem.tasks)}
    for flow in problem.flows.local:
        rate = flow.bytes_per_s if in_bytes else flow.tuples_per_s
        here = places[number[flow.source]]
        there = places[[number[target] for target in flow.targets]]
        if (there == here).any():
            sums[0] += rate
            continue
        share = int((problem.node_of[there] != problem.node_of[here]).sum()) / len(there)
        sums[1] += rate * (1.0 - share)
        sums[2] += rate * share
    return Volume(within_workers=sums[0], between_workers=sums[1], between_nodes=sums[2])
