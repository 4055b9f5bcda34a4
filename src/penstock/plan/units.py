"""What a local search moves: tasks, or bunches of tasks that are on one worker and move together."""

from __future__ import annotations

from dataclasses import dataclass

from penstock.plan.problem import Problem

__all__ = ["Unit", "bunched", "by_worker", "single_units"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Unit:
    """Some tasks that move as one."""

    tasks: tuple[int, ...]
    busy: float
    movable: bool
    neighbours: tuple[tuple[int, float], ...]
    """Other units and what is exchanged with them, ascending."""
    at_home: dict[int, float]
    """Workers on which some of the tasks are now, and what is saved if those are not moved."""


def single_units(problem: Problem) -> list[Unit]:
    """Every task for itself."""
    moving, busy = problem.moving.tolist(), problem.busy.tolist()
    return [
        Unit(
            tasks=(task,),
            busy=busy[task],
            movable=problem.fixed[task] < 0,
            neighbours=problem.neighbours[task],
            at_home={problem.current[task]: moving[task]} if problem.current[task] >= 0 else {},
        )
        for task in range(len(problem.tasks))
    ]


def bunched(units: list[Unit], place: list[int]) -> list[Unit]:
    """Two by two, those of one worker that exchange most; who finds nobody stays alone."""
    bunch = [-1] * len(units)
    couples: list[list[int]] = []
    for number, unit in enumerate(units):
        if bunch[number] >= 0:
            continue
        free = [
            (rate, -other)
            for other, rate in unit.neighbours
            if bunch[other] < 0 and place[other] == place[number] and units[other].movable == unit.movable
        ]
        couple = [number, -max(free)[1]] if free else [number]
        for member in couple:
            bunch[member] = len(couples)
        couples.append(couple)
    return [_joined(units, couple, own, bunch) for own, couple in enumerate(couples)]


def by_worker(units: list[Unit], place: list[int]) -> list[Unit]:
    """All that may move of each worker as one; what may not stays as it is."""
    couples: list[list[int]] = []
    bunch = [-1] * len(units)
    of_worker: dict[int, int] = {}
    for number, unit in enumerate(units):
        if unit.movable and place[number] in of_worker:
            bunch[number] = of_worker[place[number]]
            couples[bunch[number]].append(number)
            continue
        bunch[number] = len(couples)
        couples.append([number])
        if unit.movable:
            of_worker[place[number]] = bunch[number]
    return [_joined(units, couple, own, bunch) for own, couple in enumerate(couples)]


def _joined(units: list[Unit], couple: list[int], own: int, bunch: list[int]) -> Unit:
    if len(couple) == 1:
        (member,) = couple
        tasks, busy, home = units[member].tasks, units[member].busy, units[member].at_home
    else:
        tasks = tuple(sorted(task for member in couple for task in units[member].tasks))
        busy = sum(units[member].busy for member in couple)
        home = {}
        for member in couple:
            for worker, saved in units[member].at_home.items():
                home[worker] = home.get(worker, 0.0) + saved
    neighbours: dict[int, float] = {}
    for member in couple:
        for other, rate in units[member].neighbours:
            if bunch[other] != own:
                neighbours[bunch[other]] = neighbours.get(bunch[other], 0.0) + rate
    return Unit(
        tasks=tasks,
        busy=busy,
        movable=units[couple[0]].movable,
        neighbours=tuple(sorted(neighbours.items())),
        at_home=home,
    )
