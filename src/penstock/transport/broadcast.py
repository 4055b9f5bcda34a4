"""Who passes a broadcast on to whom: trees of workers, built from which workers share a node.

All of them keep the node rule: a node takes a broadcast in once, and sends it out to at most one other node. The root's
node may send it to more, because there the streams begin, and in a binary tree each node to two.

A worker sends to its children one after another, so the last of them has waited for all the others. Hence the one rule
of order here: who has the longest way ahead is sent to first, counted in links between nodes, then in rings inside.

    >>> layout = layout_of(0, range(6), dict(enumerate("aaabbc")))
    >>> layout.nodes
    ((0, 1, 2), (3, 4), (5,))
    >>> ring(layout)
    {0: (1,), 1: (2,), 2: (3,), 3: (4,), 4: (5,)}
    >>> flat(layout)
    {0: (3, 5, 1, 2), 3: (4,)}
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import chain, pairwise
from typing import TypeAlias

import msgspec

__all__ = ["TREES", "Layout", "Tree", "binary", "flat", "layout_of", "ring", "two_way_ring"]

Tree: TypeAlias = dict[int, tuple[int, ...]]
"""The children of each worker that passes something on, in the order in which it sends to them. Leaves are left out."""


class Layout(msgspec.Struct, frozen=True):
    """The workers of a broadcast, by node. The builders follow its order: who stands first is reached first."""

    root: int
    nodes: tuple[tuple[int, ...], ...]
    """The root's node is the first and begins with the root. Others begin with their head, where a message enters."""


def layout_of(root: int, members: Iterable[int], node_of: Mapping[int, str]) -> Layout:
    """The layout for broadcasts from `root` to `members`, in whatever order they come, the root among them or not.

    Raises:
        ValueError: a worker has no node.
    """
    workers = {root, *members}
    if homeless := sorted(workers - node_of.keys()):
        message = f"a broadcast from worker {root}: wanted the node of each worker, got none for {homeless}"
        raise ValueError(message)
    by_node: dict[str, list[int]] = {}
    for worker in sorted(workers):
        by_node.setdefault(node_of[worker], []).append(worker)
    home = node_of[root]
    mates = by_node.pop(home)
    mates.remove(root)
    # Large nodes first: they have the longest way inside, and reach the most workers for one link. Equal ones follow by
    # name from the root's on, and let in another worker for each root, so that the trees of several roots burden
    # different nodes and workers.
    order = sorted(by_node, key=lambda node: (-len(by_node[node]), node < home, node))
    others = (_turned(by_node[node], root) for node in order)
    return Layout(root, ((root, *mates), *others))


def _turned(workers: Sequence[int], by: int) -> tuple[int, ...]:
    start = by % len(workers)
    return (*workers[start:], *workers[:start])


def flat(layout: Layout) -> Tree:
    """The root sends to the head of each other node and to each worker of its own; heads send to each of theirs."""
    home, *others = layout.nodes
    heads = tuple(node[0] for node in others)
    children = {layout.root: heads + home[1:]} | {node[0]: node[1:] for node in others}
    return {worker: below for worker, below in children.items() if below}


def ring(layout: Layout) -> Tree:
    """One chain from the root through all workers, node by node."""
    return _chained(tuple(chain.from_iterable(layout.nodes)))


def two_way_ring(layout: Layout) -> Tree:
    """Two chains from the root, each through half of the other nodes.

    The chains have equally many nodes or one of them one more; then as equally many workers as that allows. The root's
    own node evens out what is left: the chain with fewer workers goes through more of those first. Where nodes are
    alike and there is an odd number of others, the shorter chain has all of the root's node, else each has half of it.
    """
    home, *others = layout.nodes
    halves: tuple[list[int], list[int]] = ([], [])
    links = [0, 0]
    for node in others:
        shorter = min((0, 1), key=lambda half: (links[half], len(halves[half])))
        halves[shorter].extend(node)
        links[shorter] += 1
    mates = home[1:]
    one, other = halves
    cut = min(max((len(mates) + len(other) - len(one) + 1) // 2, 0), len(mates))
    # What is ahead of a way once the root has sent to it: a link that it does itself is behind it then.
    ahead = [links[0] - (cut == 0), links[1] - (cut == len(mates))]
    ways = [(*mates[:cut], *one), (*mates[cut:], *other)]
    if (ahead[1], len(ways[1])) > (ahead[0], len(ways[0])):
        ways.reverse()
    ways = [way for way in ways if way]
    return ({layout.root: tuple(way[0] for way in ways)} if ways else {}) | _chained(*ways)


def _chained(*ways: Sequence[int]) -> Tree:
    return {worker: (after,) for way in ways for worker, after in pairwise(way)}


def binary(layout: Layout) -> Tree:
    """A binary tree of nodes, and inside each a binary tree of its workers: nobody has more than two children.

    Node k (from 1 on) has the nodes 2k and 2k + 1 below it, so the last one is floor(log2(nodes)) links away. A node's
    head sends to one of them, and a second worker to the other, both before they serve workers that only have rings
    below them: what goes on inside a node is over long before the message has come down to the last one.
    """
    nodes = layout.nodes
    children: dict[int, list[int]] = {}
    for place, node in enumerate(nodes, start=1):
        below = [child for child in (2 * place, 2 * place + 1) if child <= len(nodes)]
        children |= _inside(node, [nodes[child - 1][0] for child in below])
        # The second worker has a ring and a link to go until the second node has it; unless there is a level more below
        # the first node, that is the longest way.
        if len(below) == 2 and len(node) > 1 and len({_levels(child, len(nodes)) for child in below}) == 1:
            children[node[0]].reverse()
    return {worker: tuple(below) for worker, below in children.items() if below}


def _inside(node: Sequence[int], heads: Sequence[int]) -> dict[int, list[int]]:
    """A node's workers as a binary tree in which the first two have the heads of other nodes below them, too."""
    children: dict[int, list[int]] = {worker: [] for worker in node}
    for number, head in enumerate(heads):
        children[node[min(number, len(node) - 1)]].append(head)
    # Each worker has its parent before it here, because only the first two have less than two places left.
    places = (worker for worker in node for _ in range(2 - len(children[worker])))
    for worker, parent in zip(node[1:], list(places), strict=False):
        children[parent].append(worker)
    return children


def _levels(place: int, nodes: int) -> int:
    """How many levels of a tree of so many nodes are at and below a place, which is the place doubled until it ends."""
    return (nodes // place).bit_length()


TREES: Mapping[str, Callable[[Layout], Tree]] = {
    "flat": flat,
    "binary": binary,
    "ring": ring,
    "two_way_ring": two_way_ring,
}
"""The builders, by the name of the algorithm."""
