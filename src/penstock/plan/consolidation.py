"""Algorithm 1 of TurboStream: tasks that talk to each other are put together, two by two, level by level."""

from __future__ import annotations

from dataclasses import dataclass

from penstock.plan.problem import Problem

__all__ = ["Group", "consolidated", "one_level", "single_groups"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """Tasks that go to the same node: the paper's parent task."""

    tasks: tuple[int, ...]
    weight: float
    node: int
    """The node on which it must be, because one of its tasks is pinned; -1 if it may be anywhere."""
    neighbours: dict[int, float]
    """Other groups by their place in the list, and what is exchanged with them."""


def single_groups(problem: Problem, weights: list[float]) -> list[Group]:
    """Every task a group of its own."""
    nodes = problem.node_of.tolist()
    return [
        Group(
            tasks=(task,),
            weight=weights[task],
            node=nodes[problem.fixed[task]] if problem.fixed[task] >= 0 else -1,
            neighbours=dict(problem.neighbours[task]),
        )
        for task in range(len(problem.tasks))
    ]


def consolidated(groups: list[Group], *, most_groups: int, most_weight: float) -> list[Group]:
    """Level upon level, until there are few enough groups, or a level puts nothing together any more.

    The paper stops only at the number. A topology in several parts, or whose groups have all become too heavy, would
    never come to it.
    """
    while len(groups) > most_groups:
        fewer = one_level(groups, most_weight)
        if len(fewer) == len(groups):
            break
        groups = fewer
    return groups


def one_level(groups: list[Group], most_weight: float) -> list[Group]:
    """Each group that has no partner yet gets the neighbour that it talks to most, of those that have none either.

    Two that together weigh more than `most_weight`, or must be on different nodes, are not put together: the paper has
    no such limit, but what is put together is never parted again, and would be too much for any node. (Line 16 of the
    paper makes a parent for `u`; it means `v`, the one that was left alone.)
    """
    parent = [-1] * len(groups)
    couples: list[tuple[int, ...]] = []
    for number, group in enumerate(groups):
        if parent[number] >= 0:
            continue
        partner = -1
        for other, _ in sorted(group.neighbours.items(), key=lambda known: (-known[1], known[0])):
            candidate = groups[other]
            lighter = group.weight + candidate.weight <= most_weight
            if parent[other] < 0 and lighter and (group.node < 0 or candidate.node in (-1, group.node)):
                partner = other
                break
        couple = (number,) if partner < 0 else (number, partner)
        for member in couple:
            parent[member] = len(couples)
        couples.append(couple)
    return [_joined(groups, couple, own, parent) for own, couple in enumerate(couples)]


def _joined(groups: list[Group], couple: tuple[int, ...], own: int, parent: list[int]) -> Group:
    neighbours: dict[int, float] = {}
    for member in couple:
        for other, rate in groups[member].neighbours.items():
            if parent[other] != own:
                neighbours[parent[other]] = neighbours.get(parent[other], 0.0) + rate
    return Group(
        tasks=tuple(sorted(task for member in couple for task in groups[member].tasks)),
        weight=sum(groups[member].weight for member in couple),
        node=max(groups[member].node for member in couple),
        neighbours=neighbours,
    )
