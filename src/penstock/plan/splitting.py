"""Algorithm 2 of TurboStream: groups are split in two breadth-first, again and again, until each part has one node."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence, Set
from typing import TypeAlias

from penstock.plan.consolidation import Group

__all__ = ["by_traffic", "nodes_of_groups", "split"]

Known: TypeAlias = dict[int, list[tuple[int, float]]]
"""Groups by their place in the list, ascending, and the others among them that each exchanges something with."""

# How many neighbours are looked at to split one set of groups, over all starts. Unlimited, trying every start is what
# makes the algorithm cubic: of a large set only every nth group is one.
_MOST_STEPS = 60_000
_FEWEST_STARTS = 4


def by_traffic(groups: Sequence[Group]) -> Known:
    """The neighbours of each group, those first that it exchanges most with."""
    return {
        number: sorted(group.neighbours.items(), key=lambda found: (-found[1], found[0]))
        for number, group in enumerate(groups)
    }


def nodes_of_groups(
    groups: Sequence[Group], nodes: Sequence[int], capacity: Sequence[float], factor: float
) -> list[int]:
    """The node of each group; `capacity` says how much of the whole each node is to have."""
    found = [-1] * len(groups)
    waiting: list[tuple[Known, list[int]]] = [(by_traffic(groups), list(nodes))]
    while waiting:
        known, own = waiting.pop()
        if len(own) == 1:
            for member in known:
                found[member] = own[0]
            continue
        first, second = own[: (len(own) + 1) // 2], own[(len(own) + 1) // 2 :]
        share = sum(capacity[node] for node in first) / sum(capacity[node] for node in own)
        gathered = split(groups, known, share, factor, first, second)
        waiting.append((_part(known, gathered), first))
        waiting.append((_part(known, known.keys() - gathered), second))
    return found


def _part(known: Known, members: Set[int]) -> Known:
    """Some members, and what they exchange among themselves: in the same order, which is dear to find."""
    return {
        member: [found for found in neighbours if found[0] in members]
        for member, neighbours in known.items()
        if member in members
    }


def split(
    groups: Sequence[Group],
    known: Known,
    target: float,
    factor: float,
    first: Sequence[int] = (),
    second: Sequence[int] = (),
) -> set[int]:
    """The groups of those known that go to the first part, which is to have the share `target` of the weight.

    From every start the groups are gathered breadth-first, and of the sets within `factor` of the target that with the
    least traffic across is taken. The paper does not say what is to be if no set is so close: then it is the closest. A
    group that must be on a node of one part is in it from the beginning.
    """
    weights = {member: groups[member].weight for member in known}
    total = sum(weights.values())
    forced = {member for member in known if groups[member].node in first}
    barred = {member for member in known if groups[member].node in second}
    starts = [member for member in known if member not in forced and member not in barred]
    stride = _stride(len(starts), sum(map(len, known.values())))
    best, best_rank = forced, (2, 0.0, 0.0)
    for start in starts[::stride]:
        gathered, weight, cut = _gathered_from(start, known, weights, forced, barred, target * total, factor * total)
        off = abs(weight - target * total)
        rank = (0, cut, off) if off < factor * total else (1, off, cut)
        if rank < best_rank:
            best, best_rank = gathered, rank
    return best


def _stride(starts: int, steps: int) -> int:
    return max(1, starts // max(_FEWEST_STARTS, _MOST_STEPS // max(1, steps)))


def _gathered_from(
    start: int,
    known: Known,
    weights: dict[int, float],
    forced: set[int],
    barred: set[int],
    wanted: float,
    slack: float,
) -> tuple[set[int], float, float]:
    """One turn of the paper's loop: what is gathered breadth-first from a start, its weight, and the traffic across."""
    gathered: set[int] = set()
    visited = forced | barred | {start}
    queue = deque([start])
    rest = iter(known)
    weight = cut = 0.0

    def gather(member: int) -> None:
        nonlocal weight, cut
        gathered.add(member)
        weight += weights[member]
        for other, rate in known[member]:
            cut += -rate if other in gathered else rate

    for member in sorted(forced):
        gather(member)
    while queue and weight < wanted:
        member = queue.popleft()
        if abs(weight + weights[member] - wanted) < abs(weight - wanted):
            gather(member)
            new = [other for other, _ in known[member] if other not in visited]
            queue.extend(new)
            visited.update(new)
        if not queue and abs(weight - wanted) > slack:
            # The topology is in parts, or what was next was too heavy: go on somewhere else.
            elsewhere = next((other for other in rest if other not in visited), None)
            if elsewhere is not None:
                queue.append(elsewhere)
                visited.add(elsewhere)
    return gathered, weight, cut
