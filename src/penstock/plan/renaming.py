"""The same placement with other names: nodes and workers that are alike change places, so that less has to move."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable, Sequence

import numpy as np

from penstock.plan.flows import Integers
from penstock.plan.problem import Problem

__all__ = ["with_fewest_moves"]


def with_fewest_moves(problem: Problem, places: Integers) -> Integers:
    """A placement that costs as much, on nodes and workers that already have most of what it gives them.

    Schedulers fill nodes in an order of their own; which of two equal nodes gets what is chance. Nodes with the same
    number of workers, speeds and limits may change places, and then workers of the same speed within a node; those that
    have pinned tasks may not. Matched greedily, the largest part that may stay first.
    """
    if all(place < 0 for place in problem.current):
        return places
    current = np.array(problem.current, dtype=np.int64)
    workers: dict[int, list[int]] = defaultdict(list)
    for worker in range(len(problem.workers)):
        workers[int(problem.node_of[worker])].append(worker)
    for own in workers.values():
        own.sort(key=lambda worker: (-problem.worker_limit[worker], worker))
    # A node for a node: its workers in order of speed, one for one.
    nodes = _matched(
        problem,
        [int(node) for node in problem.node_of[places]],
        [int(problem.node_of[place]) if place >= 0 else -1 for place in current],
        lambda node: (
            round(float(problem.node_limit[node]), 9),
            tuple(round(float(problem.worker_limit[worker]), 9) for worker in workers[node]),
        ),
    )
    swapped = {
        worker: other
        for node, target in nodes.items()
        for worker, other in zip(workers[node], workers[target], strict=True)
    }
    places = np.array([swapped.get(place, place) for place in places.tolist()], dtype=np.int64)
    renamed = _matched(
        problem,
        places.tolist(),
        current.tolist(),
        lambda worker: (int(problem.node_of[worker]), round(float(problem.worker_limit[worker]), 9)),
    )
    return np.array([renamed.get(place, place) for place in places.tolist()], dtype=np.int64)


def _matched(
    problem: Problem, after: Sequence[int], before: Sequence[int], kind: Callable[[int], Hashable]
) -> dict[int, int]:
    """A permutation of the places, each to one of its own kind, by which many tasks are where they were before."""
    stays: dict[tuple[int, int], float] = defaultdict(float)
    pinned = set()
    for task, (new, old) in enumerate(zip(after, before, strict=True)):
        if problem.fixed[task] >= 0:
            pinned.add(new)
        elif old >= 0:
            stays[new, old] += 1.0 + float(problem.moving[task])
    names: dict[int, int] = {place: place for place in pinned}
    taken = set(pinned)
    for (new, old), _ in sorted(stays.items(), key=lambda found: (-found[1], found[0])):
        if new not in names and old not in taken and kind(new) == kind(old):
            names[new] = old
            taken.add(old)
    # Who has lost its name to another takes one that is left over of its kind.
    everybody = sorted({*after, *before, *names.values()} - {-1})
    free: dict[Hashable, list[int]] = defaultdict(list)
    for place in reversed(everybody):
        if place not in taken:
            free[kind(place)].append(place)
    for place in everybody:
        if place not in names:
            names[place] = free[kind(place)].pop()
    return names
