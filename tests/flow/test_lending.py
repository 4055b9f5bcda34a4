"""The rules of lending, driven through whatever may happen."""

from __future__ import annotations

from collections import Counter
from itertools import count
from typing import Any

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from penstock.flow.lending import ASK_EVERY_NS, Lender
from tests.tries import tried

TASKS, WORKERS = st.integers(0, 2), st.integers(1, 4)


class Lent(RuleBasedStateMachine):
    """A lender with pieces that are numbers, and borrowers that do, forget, repeat and mix up everything."""

    def __init__(self) -> None:
        super().__init__()
        self.lender = Lender()
        self.numbers = count(1)
        self.now_ns = 0
        self.offered: dict[int, int] = {}
        self.lent: dict[int, tuple[int, int, int]] = {}
        self.ever_lent: dict[int, int] = {}
        self.ended: Counter[int] = Counter()
        """How often each job came to an end."""

    def take_back(self, jobs: list[int]) -> None:
        for job in jobs:
            del self.lent[job]
            self.ended[job] += 1

    @rule(task=TASKS)
    def call(self, task: int) -> None:
        self.lender.call(task)

    @rule(task=TASKS)
    def recall(self, task: int) -> None:
        back = self.lender.recall(task)
        assert back == [job for job, (of, _, _) in self.lent.items() if of == task]
        self.take_back(back)
        if not self.lender.called:
            self.offered.clear()

    @rule(worker=WORKERS, room=st.integers(0, 3))
    def offer(self, worker: int, room: int) -> None:
        self.lender.offered(worker, room)
        self.offered[worker] = room if self.lender.called else 0

    @rule(data=st.data(), patience_ns=st.integers(1, 100), most=st.integers(1, 3))
    def lend(self, data: Any, patience_ns: int, most: int) -> None:
        borrower = self.lender.borrower(most)
        assert borrower is None or sum(worker == borrower for _, worker, _ in self.lent.values()) < most
        if borrower is None or not self.lender.called:
            return
        task = data.draw(st.sampled_from(sorted(self.lender.called)))
        job = next(self.numbers)
        self.lender.lend(job, task, borrower, self.now_ns + patience_ns)
        self.lent[job] = (task, borrower, self.now_ns + patience_ns)
        self.ever_lent[job] = borrower

    @precondition(lambda self: self.ever_lent)
    @rule(data=st.data(), room=st.integers(0, 3))
    def repay(self, data: Any, room: int) -> None:
        """Any job that ever was, also again, also one that was taken back."""
        job = data.draw(st.sampled_from(sorted(self.ever_lent)))
        counts = self.lender.repaid(job, self.ever_lent[job], room)
        assert counts == (job in self.lent)
        if counts:
            self.offered[self.ever_lent[job]] = room
            self.take_back([job])

    @precondition(lambda self: self.lent)
    @rule(data=st.data(), worker=WORKERS)
    def repay_what_another_has(self, data: Any, worker: int) -> None:
        job = data.draw(st.sampled_from(sorted(self.lent)))
        if self.lent[job][1] != worker:
            assert not self.lender.repaid(job, worker, 3)

    @rule(worker=WORKERS)
    def lose(self, worker: int) -> None:
        self.offered[worker] = 0
        self.take_back(self.lender.lost(worker))
        assert all(borrower != worker for _, borrower, _ in self.lent.values())

    @rule(passed_ns=st.integers(0, 80))
    def time_passes(self, passed_ns: int) -> None:
        self.now_ns += passed_ns
        late = self.lender.late(self.now_ns)
        for job in late:
            self.offered[self.lent[job][1]] = 0
        self.take_back(late)
        assert all(due_ns > self.now_ns for _, _, due_ns in self.lent.values())

    @rule()
    def move(self) -> None:
        self.offered.clear()
        self.take_back(self.lender.all_back())
        assert not self.lent
        assert self.lender.borrower(3) is None

    @invariant()
    def every_job_ends_once_or_is_lent(self) -> None:
        assert len(self.lender) == len(self.lent)
        for job in self.ever_lent:
            assert self.ended[job] + (job in self.lent) == 1

    @invariant()
    def nobody_has_more_than_was_offered_when_it_was_lent(self) -> None:
        borrower = self.lender.borrower(3)
        if borrower is not None:
            having = Counter(worker for _, worker, _ in self.lent.values())
            assert having[borrower] < self.offered[borrower]
        due = [due_ns for _, _, due_ns in self.lent.values()]
        assert self.lender.next_due_ns == (min(due) if due else None)


TestLent = Lent.TestCase
TestLent.settings = tried(60, steps=40)


def test_everybody_is_asked_now_and_then_while_somebody_calls() -> None:
    lender = Lender()
    assert not lender.is_to_ask(0)
    lender.call(7)
    assert [lender.is_to_ask(now_ns) for now_ns in (0, 1, ASK_EVERY_NS - 1, ASK_EVERY_NS)] == [True, False, False, True]
    lender.recall(7)
    assert not lender.is_to_ask(10 * ASK_EVERY_NS)


def test_an_offer_that_nobody_asked_for_any_more_is_forgotten() -> None:
    lender = Lender()
    lender.offered(1, 2)
    lender.call(7)
    assert lender.borrower(3) is None


def test_whoever_has_the_least_to_do_is_lent_the_next_piece() -> None:
    lender = Lender()
    lender.call(7)
    lender.offered(1, 2)
    lender.offered(2, 2)
    for job in range(4):
        borrower = lender.borrower(3)
        assert borrower == 1 + job % 2
        lender.lend(job, 7, borrower, 100)
    assert lender.borrower(3) is None
