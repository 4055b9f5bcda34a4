"""The ledger, against a model that follows every tuple by name."""

import random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.flow.ledger import UNTRACKED, AckBook, Ledger, News, keeper_of
from penstock.flow.runs import runs_of

SPOUT = 7


class Play:
    """Tasks that send frames of tuples to each other, on some workers, and tell their news in any order."""

    def __init__(self, draw: random.Random, workers: int) -> None:
        self.draw = draw
        self.ledger = Ledger(SPOUT)
        numbers = random.Random(1)  # random indeed: hypothesis would find numbers that cancel out
        self.books = [AckBook(lambda: numbers.getrandbits(64)) for _ in range(workers)]
        self.frames: list[tuple[int, int, list[int]]] = []  # worker, number, roots
        self.news: list[News] = []
        self.alive: dict[int, int] = {}  # by root: tuples under way
        self.complete: list[int] = []

    def emit(self, trees: int) -> None:
        roots = [self.ledger.begin() for _ in range(trees)]
        for root in roots:
            self.alive[root] = 0
        self.send(0, [root for root in roots for _ in range(self.draw.randrange(3))])
        self.tell(0)

    def send(self, worker: int, roots: list[int]) -> None:
        self.draw.shuffle(roots)
        while roots:
            size = self.draw.randrange(1, 5)
            part, roots = roots[:size], roots[size:]
            frame = self.books[worker].new_frame()
            self.books[worker].sent(runs_of(part), frame)
            self.frames.append((self.draw.randrange(len(self.books)), frame, part))
            for root in part:
                self.alive[root] += 1

    def process(self) -> None:
        if not self.frames:
            return
        worker, number, roots = self.frames.pop(self.draw.randrange(len(self.frames)))
        self.send(worker, [root for root in roots for _ in range(self.draw.choice([0, 0, 1, 2]))])
        self.books[worker].processed(runs_of(roots), number)
        for root in roots:
            self.alive[root] -= 1

    def tell(self, worker: int) -> None:
        told = self.books[worker].take().get(SPOUT)
        if worker == 0:  # the spout's own worker
            self.complete += self.ledger.hear_own(told.sums if told else [])
        elif told is not None:
            self.news.append(told)

    def hear(self) -> None:
        if self.news:
            told = self.news.pop(self.draw.randrange(len(self.news)))
            self.complete += self.ledger.hear(told.sums)

    def check(self) -> None:
        for root in self.complete:
            assert self.alive[root] == 0, "complete, yet some of its tuples are under way"

    def finish(self) -> None:
        while self.frames:
            self.process()
        for worker in range(len(self.books)):
            self.tell(worker)
        while self.news:
            self.hear()


@given(st.randoms(use_true_random=False), st.integers(1, 4), st.lists(st.sampled_from("epth"), max_size=60))
def test_a_tree_is_complete_when_all_its_tuples_are_processed_and_never_before(
    draw: random.Random, workers: int, steps: str
) -> None:
    play = Play(draw, workers)
    for step in steps:
        if step == "e":
            play.emit(draw.randrange(1, 4))
        elif step == "p":
            play.process()
        elif step == "t":
            play.tell(draw.randrange(workers))
        else:
            play.hear()
        play.check()
    play.finish()
    play.check()
    assert sorted(play.complete) == sorted(play.alive)
    assert len(play.ledger) == 0


@given(st.randoms(use_true_random=False), st.integers(1, 20), st.integers(0, 20))
def test_what_is_lost_is_found_when_the_marker_has_passed(draw: random.Random, before: int, after: int) -> None:
    play = Play(draw, 2)
    play.emit(before)
    early = set(play.alive)
    play.ledger.mark(1)
    lost = {root for _, _, roots in play.frames[::2] for root in roots}
    del play.frames[::2]
    play.finish()
    play.emit(after)
    assert set(play.ledger.passed(1)) == lost & early
    play.finish()
    assert sorted(play.complete) == sorted(set(play.alive) - lost)


def test_a_later_marker_speaks_for_those_before_it() -> None:
    ledger = Ledger(SPOUT)
    first = ledger.begin()
    ledger.mark(1)
    second = ledger.begin()
    ledger.mark(2)
    third = ledger.begin()
    assert ledger.passed(2) == [first, second]
    assert ledger.passed(1) == []
    assert ledger.give_up(third)
    assert not ledger.give_up(third)


def test_what_a_worker_sends_to_itself_is_no_news() -> None:
    book = AckBook(lambda: 12)
    root = Ledger(SPOUT).begin()
    frame = book.new_frame()
    book.sent([(root, 2)], frame)
    assert frame == 13
    book.processed([(root, 1)], frame)
    book.processed([(root, 1)], frame)
    assert book.take() == {}


def test_a_failure_says_where_and_why_once() -> None:
    book = AckBook(lambda: 5)
    root = Ledger(SPOUT).begin()
    book.sent([(root, 1)], book.new_frame())
    book.failed(root, "parse", "ValueError")
    book.failed(root, "count", "KeyError")
    news: Any = book.take()[SPOUT]
    assert news.sums == []
    assert [(tree.root, tree.component, tree.reason) for tree in news.failed] == [(root, "parse", "ValueError")]
    assert book.take() == {}


def test_what_belongs_to_no_tree_is_not_counted() -> None:
    book = AckBook(lambda: 5)
    book.sent([(UNTRACKED, 3)], book.new_frame())
    book.failed(UNTRACKED, "tick", "ValueError")
    assert book.take() == {}


@pytest.mark.parametrize("task", [0, 1, 65_000])
def test_a_root_tells_who_keeps_it(task: int) -> None:
    ledger = Ledger(task)
    assert {keeper_of(ledger.begin()) for _ in range(10)} == {task}
