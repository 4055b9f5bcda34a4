"""`turbo`: the coarse-grained scheduler of TurboStream (Wu, Liu, Ibrahim, Jin and others, ICDCS 2018)."""

from __future__ import annotations

from collections import Counter
from typing import Annotated, ClassVar

import msgspec
import numpy as np

from penstock.plan.assignment import Assignment
from penstock.plan.consolidation import consolidated, single_groups
from penstock.plan.flows import Integers
from penstock.plan.problem import CostSettings, Problem, problem_of
from penstock.plan.renaming import with_fewest_moves
from penstock.plan.schedulers.base import PlanRequest
from penstock.plan.splitting import nodes_of_groups

__all__ = ["TurboScheduler", "turbo_places"]

# A task that does nothing weighs something too, so that not all of them end up on one node.
_LEAST_WEIGHT_OF_MEAN = 0.05


class TurboScheduler(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Puts tasks that talk to each other together, and shares the groups out over all nodes, balanced.

    Offline, as long as no traffic is measured, from the topology's shape and with all tasks alike; online from what was
    measured. Within a node tasks are dealt round-robin over its workers. Where the paper leaves something open, or we
    differ:

    - Groups grow no heavier than a node's share of the whole (`consolidation.one_level`), and end when nothing grows.
    - `taskNumThreshold` is `groups_per_node` times the number of nodes: fewer could not be balanced.
    - The paper splits its N nodes in halves, N1 and N2, with N1/N of the weight for the first, which is right for nodes
      that are equal. Here a part gets as much as the cores of its nodes.
    - `factor` has no value in the paper, nor does it say what is to be if no set is so close: it is the closest then.
    - Trying every group as a start makes it cubic. Of large sets only some are tried (`splitting`).
    - It balances, and neither empties nodes nor knows a limit: more than all nodes can do it spreads evenly.
    """

    name: ClassVar[str] = "turbo"

    online: bool = True
    """Whether to go by what was measured, where something was. If not, it is always planned from the shape."""
    factor: Annotated[float, msgspec.Meta(gt=0.0, lt=0.5)] = 0.05
    """How far from its share of the weight a part may be, if that leaves less traffic between the parts."""
    groups_per_node: Annotated[int, msgspec.Meta(ge=1)] = 4
    """Tasks are put together until there are no more groups than that."""

    def plan(self, request: PlanRequest) -> Assignment:
        """Consolidates, splits breadth-first, and deals round-robin within the nodes."""
        seen = request if self.online else msgspec.structs.replace(request, load=None, traffic=None)
        problem = problem_of(seen, CostSettings())
        places = turbo_places(problem, factor=self.factor, groups_per_node=self.groups_per_node)
        return problem.assignment(with_fewest_moves(problem, places))


def turbo_places(problem: Problem, *, factor: float, groups_per_node: int) -> Integers:
    """The worker of each task."""
    count = len(problem.nodes)
    mean = float(problem.busy.mean()) if len(problem.tasks) else 0.0
    weights = np.maximum(problem.busy, _LEAST_WEIGHT_OF_MEAN * mean) if mean > 0 else np.ones(len(problem.tasks))
    capacity = problem.node_limit.tolist()
    groups = consolidated(
        single_groups(problem, weights.tolist()),
        most_groups=groups_per_node * count,
        most_weight=float(weights.sum()) * min(capacity) / sum(capacity),
    )
    workers: list[list[int]] = [[] for _ in problem.nodes]
    for worker, node in enumerate(problem.node_of.tolist()):
        workers[node].append(worker)
    # The nodes with most free workers first, so that both halves of them have about as many.
    order = sorted(range(count), key=lambda node: (-capacity[node], node))
    nodes = nodes_of_groups(groups, order, capacity, factor)
    places = np.array(problem.fixed, dtype=np.int64)
    held = Counter(place for place in problem.fixed if place >= 0)
    node_of_task = {task: node for group, node in zip(groups, nodes, strict=True) for task in group.tasks}
    for task in range(len(problem.tasks)):
        if places[task] < 0:
            places[task] = min(workers[node_of_task[task]], key=lambda worker: (held[worker], worker))
            held[int(places[task])] += 1
    return places
