"""Assignments, and the way from one to another."""

from hypothesis import given
from hypothesis import strategies as st

from penstock.plan.assignment import Assignment, Move

places = st.dictionaries(st.integers(0, 20), st.integers(0, 5))


def test_tasks_and_workers_are_listed_in_order() -> None:
    assignment = Assignment(number=1, worker_of={3: 7, 1: 2, 0: 7})

    assert assignment.tasks_on(7) == (0, 3)
    assert assignment.tasks_on(4) == ()
    assert assignment.workers() == (2, 7)


def test_a_move_says_from_where_to_where() -> None:
    old = Assignment(number=1, worker_of={0: 0, 1: 0, 2: 1})
    new = Assignment(number=2, worker_of={0: 0, 1: 1, 3: 2})

    assert old.moved(new) == (
        Move(task=1, source=0, target=1),
        Move(task=2, source=1, target=None),
        Move(task=3, source=None, target=2),
    )


@given(places, places)
def test_following_the_moves_leads_from_one_assignment_to_the_other(old: dict[int, int], new: dict[int, int]) -> None:
    followed = dict(old)
    for move in Assignment(number=1, worker_of=old).moved(Assignment(number=2, worker_of=new)):
        assert followed.pop(move.task, None) == move.source
        if move.target is not None:
            followed[move.task] = move.target

    assert followed == new
