"""The way up to one task: from each worker to the head of its node, and from the heads to the task's worker. Pure.

So no more than one stream of frames comes from each node, and what comes from its workers can be put together there.

>>> node_of = {0: "a", 1: "b", 2: "b", 3: "b"}
>>> {worker: next_on_the_way_up(worker=worker, top=0, workers=node_of, node_of=node_of, edge=3) for worker in node_of}
{0: 0, 1: 0, 2: 1, 3: 1}
>>> del node_of[1]
>>> {worker: next_on_the_way_up(worker=worker, top=0, workers=node_of, node_of=node_of, edge=3) for worker in node_of}
{0: 0, 2: 0, 3: 2}
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from penstock.transport.stable_hash import stable_hash

__all__ = ["next_on_the_way_up"]


def next_on_the_way_up(*, worker: int, top: int, workers: Iterable[int], node_of: Mapping[int, str], edge: int) -> int:
    """Who is sent to by a worker: the head of its node, or `top`, the task's worker, by whoever is the head.

    Args:
        worker: the one that sends.
        top: the one that runs the task. On its own node there is no other head.
        workers: those that have sources of the edge. Who has none would be a detour as a head.
        node_of: the nodes of the workers that can be counted on.
        edge: its number.

    Who is the head is by chance, so one edge has another head than the next. But the order is the same for everybody:
    each sends to one that comes before itself in it, or to the top. So nothing goes round in circles, even while not
    everybody knows whom to count on.
    """
    node = node_of.get(worker)
    if node is None or node == node_of.get(top):
        return top
    near = {other for other in workers if node_of.get(other) == node} | {worker}
    head = min(near, key=lambda other: (stable_hash((edge, other)), other))
    return top if head == worker else head
