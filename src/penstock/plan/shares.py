"""How busy each task is: as measured, or as must be presumed as long as nothing is."""

from __future__ import annotations

from collections import defaultdict

from penstock.plan.cluster import WorkerSlot
from penstock.plan.schedulers.base import PlanRequest

__all__ = ["CAPACITY_FRACTION", "busy_shares", "node_capacities"]

CAPACITY_FRACTION = 0.8
"""How much of a core may be planned for. At 0.8 a tuple waits for about four others, at 0.9 for nine."""

_ENOUGH = 1e-9  # so that ten tasks of a tenth fit, whatever the rounding


def node_capacities(request: PlanRequest) -> dict[str, float]:
    """The cores of each node: those of its workers together, or fewer where the request says so."""
    cores: dict[str, float] = defaultdict(float)
    for slot in sorted(request.slots, key=lambda slot: slot.worker):
        cores[slot.node] += slot.speed
    return {node: min(sum_, request.node_cores.get(node, sum_)) for node, sum_ in cores.items()}


def busy_shares(request: PlanRequest, capacity_fraction: float = CAPACITY_FRACTION) -> dict[int, float]:
    """How much of a core each task takes.

    Tasks that were not measured are taken for the mean of their siblings, or else of all. Without any measurement all
    tasks are presumed equal, and just so heavy that they fill that fraction of the cluster. Then nothing is put
    together but what has to be: everything on one worker would be the least traffic of all.
    """
    if request.load is None or not request.load.busy_share:
        presumed = capacity_fraction * _largest_share_that_fits(request)
        return dict.fromkeys((task.id for task in request.tasks), presumed)
    measured = request.load.busy_share
    seen: dict[str | None, list[float]] = defaultdict(list)
    for task in sorted(request.tasks, key=lambda task: task.id):
        if task.id in measured:
            seen[task.component].append(measured[task.id])
            seen[None].append(measured[task.id])
    means = {component: sum(shares) / len(shares) for component, shares in seen.items()}
    overall = means.get(None, 0.0)
    return {task.id: measured.get(task.id, means.get(task.component, overall)) for task in request.tasks}


def _largest_share_that_fits(request: PlanRequest) -> float:
    """The largest share at which all tasks find room, if all have the same and every worker is filled to its core."""
    nodes: dict[str, list[WorkerSlot]] = defaultdict(list)
    for slot in request.slots:
        nodes[slot.node].append(slot)
    capacity = node_capacities(request)

    def room(share: float) -> int:
        return sum(
            min(int(capacity[node] / share + _ENOUGH), sum(int(slot.speed / share + _ENOUGH) for slot in slots))
            for node, slots in nodes.items()
        )

    tasks = len(request.tasks)
    # On the largest node alone all find room at the low end, with a worker's remainder lost on each of its workers.
    low, high = max(capacity.values()) / (2 * (tasks + len(request.slots))), max(slot.speed for slot in request.slots)
    if low <= 0 or room(high) >= tasks:
        return high
    for _ in range(60):  # as exact as a float is
        middle = (low + high) / 2
        low, high = (middle, high) if room(middle) >= tasks else (low, middle)
    return low
