"""Who is to blame when tasks stop each other: those at the ends of the chains."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from penstock.flow.relief import culprits

TASKS = 8
Stops = dict[int, set[int]]


def downstream(tasks: int) -> st.SearchStrategy[Stops]:
    """As in a topology: who stops a task is behind it."""
    return st.fixed_dictionaries(
        {task: st.sets(st.integers(task + 1, tasks)) if task < tasks else st.just(set()) for task in range(tasks)}
    )


def anyhow(tasks: int) -> st.SearchStrategy[Stops]:
    """As in reports of different moments: there may be circles."""
    return st.dictionaries(st.integers(0, tasks), st.sets(st.integers(0, tasks)))


def reached(stops: Stops, task: int) -> set[int]:
    """By the powers of the relation, one step after the other."""
    pairs = {(one, by) for one, all_by in stops.items() for by in all_by}
    closure = set(pairs)
    for _ in range(TASKS + 1):
        closure |= {(first, last) for first, middle in closure for again, last in pairs if middle == again}
    return {by for one, by in closure if one == task}


@given(downstream(TASKS))
def test_they_are_those_that_can_be_reached_and_are_not_stopped(stops: Stops) -> None:
    found = culprits(stops)
    stopped = {task for task, by in stops.items() if by}
    assert found.keys() == stopped, "who is not stopped waits for nobody"
    for task, blamed in found.items():
        assert blamed == reached(stops, task) - stopped
        assert blamed, "somebody is to blame"


@given(anyhow(TASKS))
def test_a_circle_is_to_blame_as_a_whole_and_nobody_is_forgotten(stops: Stops) -> None:
    stopped = {task for task, by in stops.items() if by}
    for task, blamed in culprits(stops).items():
        free = reached(stops, task) - stopped
        assert blamed == (free or reached(stops, task))
        assert blamed
