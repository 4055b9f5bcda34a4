"""Which tuple is given up, because it kills its worker: the one that does so, and no other."""

from __future__ import annotations

import random

from hypothesis import given
from hypothesis import strategies as st

from penstock.control.peers import PeerGone
from penstock.control.protocol import Noted, Ready, Tried, Trying
from penstock.control.suspicions import CAREFUL_EPOCHS, Suspicions
from penstock.worker.care import Care
from tests.control.stage import TASKS, kinds, sent
from tests.control.test_rewinds import deploys, stage_of

SPLIT = 1


def given_up(care: Care | None) -> set[int]:
    assert care is not None
    return {digest for tuples in care.given_up.values() for digest in tuples}


def trying(*tuples: int, alone: bool = False) -> Trying:
    return Trying(task=SPLIT, tuples=tuples, alone=alone)


def test_nobody_is_careful_before_a_worker_has_died() -> None:
    suspicions = Suspicions(TASKS)
    assert suspicions.care is None
    suspicions.trying(0, trying(1, 2))
    suspicions.forget(0)
    assert suspicions.care is None
    suspicions.died(0)
    assert suspicions.care == Care(epochs=CAREFUL_EPOCHS)


def test_care_ends_when_enough_epochs_are_committed() -> None:
    suspicions = Suspicions(TASKS)
    suspicions.died(0)
    suspicions.trying(1, trying(1, 2))
    suspicions.died(1)
    for left in range(CAREFUL_EPOCHS - 1, 0, -1):
        suspicions.committed()
        assert suspicions.care == Care(epochs=left, suspects={"split": (1, 2)})
    suspicions.committed()
    assert suspicions.care is None
    suspicions.died(0)
    assert suspicions.care == Care(epochs=CAREFUL_EPOCHS), "the suspects of that time have been survived"


def test_what_kills_alone_and_again_is_given_up_for_good() -> None:
    suspicions = Suspicions(TASKS)
    suspicions.died(0)
    suspicions.trying(1, trying(1, 2, 3))
    assert suspicions.died(1) is None
    for worker in (0, 1):
        suspicions.trying(worker, trying(2, alone=True))
        assert suspicions.died(worker) is None
    suspicions.trying(0, trying(2, alone=True))
    assert suspicions.died(0) == "split"
    care = suspicions.care
    assert care is not None
    assert care.given_up == {"split": {2: 5}}
    for _ in range(CAREFUL_EPOCHS):
        suspicions.committed()
    suspicions.died(0)
    assert given_up(suspicions.care) == {2}, "the same values kill again, later in the stream"


def test_what_was_survived_is_innocent_whatever_was_before() -> None:
    suspicions = Suspicions(TASKS)
    for _ in range(20):
        for _ in range(2):
            suspicions.trying(0, trying(7, alone=True))
            assert suspicions.died(0) is None
        suspicions.trying(1, trying(7, alone=True))
        suspicions.tried(1)
    assert given_up(suspicions.care) == set()
    assert suspicions.care == Care(epochs=CAREFUL_EPOCHS, suspects={"split": ()})


def test_what_makes_no_sense_is_passed_over() -> None:
    suspicions = Suspicions(TASKS)
    for message in (Trying(task=99, tuples=(1,), alone=True), trying(1, 2, alone=True), trying(alone=True)):
        for _ in range(5):
            suspicions.trying(0, message)
            assert suspicions.died(0) is None
    suspicions.tried(3)
    assert given_up(suspicions.care) == set()


@given(
    stream=st.lists(st.integers(0, 30), min_size=1, max_size=60),
    poison=st.sets(st.integers(0, 30), max_size=3),
    piece=st.integers(1, 8),
    seed=st.integers(0, 2**32),
)
def test_whatever_else_is_killed_what_is_poison_is_given_up_and_nothing_else(
    stream: list[int], poison: set[int], piece: int, seed: int
) -> None:
    """One worker after the other works through a stream, and some are killed by chance before they are done."""
    chance = random.Random(seed)
    suspicions = Suspicions(TASKS)
    # Killed by chance at most twice in a row, at whatever it is at. A third time in a row at the same tuple would be as
    # good as a proof.
    by_chance = 0
    lives = 0
    while True:
        lives += 1
        assert lives < 1000, "it never got through"
        fate = chance.randrange(3 * len(stream)) if by_chance < 2 else len(stream) * 3
        how = work_through(stream, poison, piece, suspicions, fate, worker=lives % 3)
        if how == "done":
            break
        by_chance = by_chance + 1 if how == "chance" else 0
    assert (given_up(suspicions.care) if suspicions.care else set()) == poison & {*stream}


def work_through(
    stream: list[int], poison: set[int], piece: int, suspicions: Suspicions, fate: int, *, worker: int
) -> str:
    """As the careful runner does; returns how it ended."""
    care = suspicions.care
    suspects = set(care.suspects.get("split", ())) if care else set()
    skipped = given_up(care) if care else set()
    survived: set[int] = set()
    rest = [digest for digest in stream if digest not in skipped]
    while rest:
        suspicious = [position for position, digest in enumerate(rest) if digest in suspects - survived]
        count = min(piece, len(rest), suspicious[0] or 1 if suspicious else piece)
        now, rest = rest[:count], rest[count:]
        fresh = {*now} - survived
        if care is not None and fresh:
            suspicions.trying(worker, Trying(task=SPLIT, tuples=tuple(fresh), alone=count == 1))
        fate -= count
        if poison & {*now}:
            suspicions.died(worker)
            return "poison"
        if fate < 0:
            suspicions.died(worker)
            return "chance"
        suspicions.tried(worker)
        survived |= fresh
    return "done"


def test_the_controller_answers_and_tells_the_next_ones() -> None:
    stage = stage_of(workers=2)
    first, second = stage.runs()
    said = stage.says(second, trying(1, 2, 3))
    assert sent(said, second) == [Noted()]
    said = stage.says(first, PeerGone(worker=1, generation=1))
    (again,) = deploys(said, first)
    assert again.care == Care(epochs=CAREFUL_EPOCHS, suspects={"split": (1, 2, 3)})
    stage.says(first, Ready(assignment=2))
    assert kinds(stage.says(first, Tried()), first) == []
    assert kinds(stage.says(second, trying(1)), second) == ["Refuse"], "it does not wait for ever"
