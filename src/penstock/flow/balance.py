"""Balance: how a source that may send a tuple to any task shares its tuples out over them.

Evenly, as long as everybody keeps up. A task with less room is given less, and one that is full nothing while others
have room, so that one slow task does not stop a source that could send to others:

    what waits for it, of what may    up to 1/4    1/2    3/4    less than 1    full
    weight                                    4      3      2              1       0

The first quarter says nothing: a worker gives credit back by quarters of a window, so that much may seem to be under
way to a task that has long done it.

A tuple is cheaper to send to the same worker than to the same node, and to that than to another. So the nearer is
preferred while that cannot hurt the balance: as long as nobody has less room than others, and this worker has time to
spare. Without that, what a source keeps in its own worker would come off what it can send to the others.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from functools import reduce
from math import gcd
from typing import NamedTuple

__all__ = ["NODE", "OTHER_NODE", "OWN_WORKER", "Standing", "in_turn", "weights_of"]

OWN_WORKER, NODE, OTHER_NODE = range(3)
"""How far away a task is."""

SPARE_SHARE = 0.5
"""A worker that was idle for this share of the time lately can do more."""

_BY_DISTANCE = {OWN_WORKER: 4, NODE: 3, OTHER_NODE: 2}
_QUARTERS = (0.25, 0.5, 0.75)
_MOST = 4


class Standing(NamedTuple):
    """What a source knows of a task that it may send to."""

    load: float = 0.0
    """What waits for it, or is on its way to it, as a share of what may."""
    distance: int = OWN_WORKER
    is_full: bool = False
    """Whether it may be sent nothing just now."""


def weights_of(standings: Sequence[Standing], *, idle_share: float) -> tuple[int, ...]:
    """How often each task is chosen, in relation to the others; `idle_share` is that of the source's own worker.

    >>> weights_of([Standing(0.1), Standing(0.1, NODE), Standing(0.6, NODE), Standing(1.0, is_full=True)], idle_share=0)
    (2, 2, 1, 0)
    >>> weights_of([Standing(0.1), Standing(0.0, NODE), Standing(0.0, OTHER_NODE)], idle_share=0.9)
    (4, 3, 2)

    Where all are full, nobody is preferred; whoever asks does not send then.
    """
    by_room = tuple(0 if standing.is_full else _by_room(standing.load) for standing in standings)
    if not any(by_room):
        return (1,) * len(standings)
    if idle_share >= SPARE_SHARE and {*by_room} == {_MOST}:
        return _lowest(tuple(_BY_DISTANCE[standing.distance] for standing in standings))
    return _lowest(by_room)


def _by_room(load: float) -> int:
    return _MOST - bisect_left(_QUARTERS, load)


def _lowest(weights: tuple[int, ...]) -> tuple[int, ...]:
    common = reduce(gcd, weights)
    return tuple(weight // common for weight in weights)


def in_turn(weights: Sequence[int]) -> list[int]:
    """An order in which each index is as often as its weight says, and as far from itself as can be.

    >>> in_turn([1, 1, 1]), in_turn([4, 2, 0, 1])
    ([0, 1, 2], [0, 1, 0, 3, 0, 1, 0])
    """
    total = sum(weights)
    owed = [0] * len(weights)
    order = []
    for _ in range(total):
        owed = [debt + weight for debt, weight in zip(owed, weights, strict=True)]
        chosen = max(range(len(owed)), key=owed.__getitem__)
        owed[chosen] -= total
        order.append(chosen)
    return order
