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


def test_who_switches_again_before_all_have_switched_has_still_to_say_it() -> None:
    carriers = {1: Told(), 2: Told()}
    old = Clearance(worker=0, carriers=carriers)  # type: ignore[arg-type]
    old.switch(5, [1, 2], left={7: 1}, came={})
    old.switch(6, [1, 2], left={8: 2}, came={})
    old.heard_switched(1, 6)
    old.heard_switched(2, 6)
    assert carriers[1].frames == [(FrameKind.CLEARED, 7)]
    assert carriers[2].frames == [(FrameKind.CLEARED, 8)]


def test_a_task_that_leaves_before_it_is_clear_is_clear_at_its_next_place_only_when_it_is() -> None:
    carriers = {0: Told(), 2: Told()}
    between = Clearance(worker=1, carriers=carriers)  # type: ignore[arg-type]
    between.switch(5, [0, 2], left={}, came={7: 0})
    between.switch(6, [0, 2], left={7: 2}, came={})
    between.heard_switched(0, 6)
    between.heard_switched(2, 6)
    assert not carriers[2].frames, "what was told to its first place may still be on the way"
    between.heard_cleared(7)
    assert carriers[2].frames == [(FrameKind.CLEARED, 7)]
