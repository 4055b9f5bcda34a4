"""Gathering: a group is complete when all have answered, and given up when it cannot be any more, and never both."""

from __future__ import annotations

from collections.abc import Iterable
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from penstock.flow.gathering import PATIENCE, AnsweredTwiceError, Gathering, Group
from penstock.flow.ledger import UNTRACKED, AckBook, Ledger

TASKS = 3
KEEPER = 7
FIRST = Ledger(KEEPER).begin()

keys = st.integers(0, 3)
roots = st.sampled_from([UNTRACKED, FIRST, FIRST + 1, FIRST + 2])


class Gathered(RuleBasedStateMachine):
    """Beside the gathering: who has answered what, and when the first did."""

    def __init__(self) -> None:
        super().__init__()
        self.gathering = Gathering(TASKS)
        self.open: dict[tuple[int, int], dict[int, str]] = {}
        self.begun: dict[tuple[int, int], int] = {}
        self.now = 0

    @rule(key=keys, root=roots, task=st.integers(0, TASKS - 1))
    def answer(self, key: int, root: int, task: int) -> None:
        answers = self.open.setdefault((key, root), {})
        self.begun.setdefault((key, root), self.now)
        text = f"{key} {root} {task}"
        if task in answers:
            with pytest.raises(AnsweredTwiceError):
                self.gathering.add(key, root, task, "another", 1)
            return
        answers[task] = text
        group = self.gathering.add(key, root, task, text, 10**task)
        assert (group is not None) == (len(answers) == TASKS)
        if group is not None:
            assert group.answers == [answers[task] for task in range(TASKS)]
            assert (group.key, group.root, group.frames) == (key, root, 111)
            self.forget({(key, root)})

    @rule(newest=roots, keeper=st.sampled_from([KEEPER, KEEPER + 1]))
    def marker(self, newest: int, keeper: int) -> None:
        hopeless = {(key, root) for key, root in self.open if root != UNTRACKED and keeper == KEEPER and root <= newest}
        self.check_given_up(self.gathering.give_up_trees({keeper: newest}), hopeless)

    @rule()
    def held_marker(self) -> None:
        self.check_given_up(self.gathering.give_up_all(), {*self.open})

    @rule()
    def grow_older(self) -> None:
        self.now += 1
        hopeless = {which for which in self.open if self.now - self.begun[which] > PATIENCE}
        self.check_given_up(self.gathering.grow_older(), hopeless)

    def check_given_up(self, groups: Iterable[Group], hopeless: set[tuple[int, int]]) -> None:
        assert {(group.key, group.root) for group in groups} == hopeless
        for group in groups:
            assert group.missing_tasks == sorted({*range(TASKS)} - {*self.open[group.key, group.root]})
        self.forget(hopeless)

    def forget(self, which: set[tuple[int, int]]) -> None:
        for one in which:
            del self.open[one], self.begun[one]

    @invariant()
    def nothing_else_is_kept(self) -> None:
        assert len(self.gathering) == len(self.open)


TestGathered = Gathered.TestCase


@given(st.integers(0, 2**64 - 1), st.integers(1, 50), st.randoms(use_true_random=False))
def test_the_shares_of_a_frame_add_up_to_it(frame: int, count: int, chance: Random) -> None:
    book = AckBook(lambda: chance.getrandbits(64))
    book.sent([(FIRST, 1)], frame)
    for share in book.shares(frame, count):
        book.processed([(FIRST, 1)], share)
    assert book.take() == {}
