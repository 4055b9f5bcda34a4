"""Whether workers or nodes have too much to do, as measured, and how many workers more would help. Pure."""

from __future__ import annotations

import math
from collections.abc import Sequence

from penstock.control.load_records import WorkerRecord

__all__ = ["overload", "workers_wanted"]


def overload(workers: Sequence[WorkerRecord], *, capacity_fraction: float) -> str | None:
    """Who takes more than that part of its core, or of its node's cores, for people; None if nobody does."""
    for worker in workers:
        if worker.cpu_share > capacity_fraction * worker.speed:
            return f"worker {worker.worker} on {worker.host} takes {worker.cpu_share:.0%} of a core"
    taken = _taken_of_nodes(workers)
    for worker in workers:
        if taken[worker.node] > capacity_fraction * worker.cores:
            return f"node {worker.host} takes {taken[worker.node]:.1f} of its {worker.cores} cores"
    return None


def workers_wanted(workers: Sequence[WorkerRecord], *, capacity_fraction: float) -> int:
    """How many more it takes until all together may do what is done now; 0 if they need only share it better.

    A worker that is full would do more if it could: what is wanted is seen only when it has come, so it may be asked
    for again.
    """
    if overload(workers, capacity_fraction=capacity_fraction) is None:
        return 0
    room = capacity_fraction * sum(worker.speed for worker in workers)
    taken = _taken_of_nodes(workers)
    missing = sum(taken.values()) - room
    if missing > 0:
        return math.ceil(missing / capacity_fraction)
    # Where all nodes are full, only another node helps, and Spark may have one.
    full = all(taken[worker.node] > capacity_fraction * worker.cores for worker in workers)
    return 1 if full else 0


def _taken_of_nodes(workers: Sequence[WorkerRecord]) -> dict[str, float]:
    taken: dict[str, float] = {}
    for worker in workers:
        taken[worker.node] = taken.get(worker.node, 0.0) + worker.cpu_share
    return taken
