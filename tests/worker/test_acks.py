"""Who is told that a marker has passed everywhere, while tasks move."""

from __future__ import annotations

from typing import Any

import msgspec

from penstock.flow.ledger import AckBook, News
from penstock.transport.frames import FrameKind
from penstock.worker.acks import Acks

HERE, THERE = 0, 1
KEEPER = 7
ROOT = KEEPER << 40 | 1


class Told:
    """A carrier that remembers."""

    def __init__(self) -> None:
        self.frames: list[tuple[int, int, Any]] = []

    def send(self, route: Any, payload: bytes, tuples: int) -> None:  # noqa: ARG002
        self.frames.append((route.flags, route.target, msgspec.msgpack.decode(payload) if payload else None))


class Keeper:
    """A task that keeps trees, and notes what it hears."""

    task = KEEPER
    keepers_after = 0

    def __init__(self) -> None:
        self.heard: list[Any] = []

    def hear_own(self, news: News | None) -> None:
        self.hear(news) if news is not None else None

    def hear(self, news: News) -> None:
        self.heard += news.sums

    def marker_passed(self, epoch: int) -> None:
        self.heard.append(epoch)


class Stage:
    """A worker, and another one; the keeper is here, or there."""

    def __init__(self, place: int) -> None:
        self.keeper, self.other, self.worker_of = Keeper(), Told(), {KEEPER: place, 8: HERE, 9: THERE}
        self.acks = Acks(
            worker=HERE,
            book=AckBook(lambda: 1),
            worker_of=self.worker_of,
            carriers={THERE: self.other},  # type: ignore[dict-item]
            assignment=1,
            rounds=0,
        )
        if place == HERE:
            self.acks.keep(self.keeper)  # type: ignore[arg-type]

    def moves(self, place: int) -> None:
        before = self.worker_of[KEEPER]
        self.worker_of[KEEPER] = place
        left = {KEEPER: place} if before == HERE else {}
        came = {KEEPER: before} if place == HERE else {}
        self.acks.switch(assignment=2, peers={THERE}, left=left, came=came)

    def passes(self, epoch: int, *, assignment: int) -> None:
        """The marker has passed both workers."""
        self.acks.begin_epoch(epoch)
        self.acks.note_passed([])
        self.acks.heard_passed(THERE, assignment, msgspec.msgpack.encode((epoch, 0)))

    def hears(self, total: int) -> None:
        self.acks.heard(KEEPER, msgspec.msgpack.encode(News([(ROOT, total)], [])))


def test_a_keeper_that_is_about_to_leave_does_not_judge_what_is_lost() -> None:
    stage = Stage(HERE)
    stage.passes(1, assignment=1)
    assert stage.keeper.heard == [1]
    stage.moves(THERE)
    stage.passes(2, assignment=2)
    assert stage.keeper.heard == [1], "what became of its trees is told to its new place already"


def test_what_is_told_before_a_keeper_has_come_waits_for_it_and_comes_before_the_marker() -> None:
    stage = Stage(THERE)
    stage.moves(HERE)
    stage.hears(5)
    stage.passes(1, assignment=2)
    stage.acks.heard_cleared(KEEPER)
    stage.acks.keep(stage.keeper)  # type: ignore[arg-type]
    assert stage.keeper.heard == [(ROOT, 5), 1]


def test_a_keeper_hears_of_a_marker_when_all_has_come_that_was_told_to_its_old_place() -> None:
    stage = Stage(THERE)
    stage.moves(HERE)
    stage.acks.keep(stage.keeper)  # type: ignore[arg-type]
    stage.passes(1, assignment=2)
    assert stage.keeper.heard == []
    stage.hears(5)
    stage.acks.heard_cleared(KEEPER)
    assert stage.keeper.heard == [(ROOT, 5), 1]


def test_what_was_said_under_another_assignment_does_not_count() -> None:
    stage = Stage(HERE)
    stage.acks.switch(assignment=2, peers={THERE}, left={}, came={})
    stage.passes(1, assignment=1)
    assert stage.keeper.heard == []
    stage.passes(1, assignment=2)
    assert stage.keeper.heard == [1]


def test_news_for_a_worker_that_is_gone_wait_for_the_process_that_takes_its_place() -> None:
    stage = Stage(THERE)
    stage.acks.lose(THERE, has_tasks=True)
    stage.hears(5)
    assert not stage.other.frames
    stage.acks.restarted(THERE)
    assert stage.other.frames == [(FrameKind.NEWS, KEEPER, [[[ROOT, 5]], []])]


def test_a_worker_without_tasks_that_has_left_keeps_no_marker_waiting() -> None:
    stage = Stage(HERE)
    stage.worker_of.pop(9)
    stage.acks.switch(assignment=2, peers={THERE}, left={}, came={})
    stage.acks.begin_epoch(1)
    stage.acks.note_passed([])
    assert stage.keeper.heard == [], "it may still have to tell of what it did"
    stage.acks.lose(THERE, has_tasks=False)
    assert stage.keeper.heard == [1]
