"""The word that all has come from the old place of a task."""

from __future__ import annotations

from typing import Any

from penstock.transport.frames import FrameKind
from penstock.worker.clearance import Clearance


class Told:
    """A carrier that remembers."""

    def __init__(self) -> None:
        self.frames: list[tuple[int, int]] = []

    def send(self, route: Any, payload: bytes, tuples: int) -> None:  # noqa: ARG002
        self.frames.append((route.flags, route.target))


def test_the_new_place_is_told_when_all_others_have_switched() -> None:
    carriers = {1: Told(), 2: Told()}
    old = Clearance(worker=0, carriers=carriers)  # type: ignore[arg-type]
    old.heard_switched(2, 5)  # it was faster than we
    old.switch(5, [1, 2], left={7: 1}, came={})
    assert not carriers[1].frames
    old.heard_switched(1, 5)
    assert carriers[1].frames == [(FrameKind.CLEARED, 7)]
    assert not carriers[2].frames


def test_nobody_waits_for_the_word_of_the_dead() -> None:
    carriers = {1: Told(), 2: Told()}
    old = Clearance(worker=0, carriers=carriers)  # type: ignore[arg-type]
    old.switch(5, [1, 2], left={7: 1}, came={})
    old.heard_switched(1, 5)
    old.lose(2)
    assert carriers[1].frames == [(FrameKind.CLEARED, 7)]


def test_a_task_that_came_is_unclear_until_its_old_place_says_so_or_is_dead() -> None:
    new = Clearance(worker=1, carriers={})
    new.switch(5, [], left={}, came={7: 0, 8: 2})
    assert not new.is_clear(7)
    assert new.is_clear(9)
    new.heard_cleared(7)
    assert new.is_clear(7)
    new.lose(2)
    assert new.is_clear(8)
