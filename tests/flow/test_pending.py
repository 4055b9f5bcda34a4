"""What a spout has to remember, against a model that remembers everything."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.flow.pending import Pending


@given(st.randoms(use_true_random=False), st.lists(st.sampled_from("tdfla"), max_size=80), st.integers(1, 4))
def test_nothing_is_forgotten_before_it_is_done_and_positions_never_pass_it(
    draw: random.Random, steps: list[str], max_tries: int
) -> None:
    pending = Pending(most=1000, max_tries=max_tries)
    position, next_root = 0, 1
    open_: dict[int, list[int]] = {}  # root: the numbers of the outputs
    queued: set[int] = set()
    given_up: list[int] = []
    for step in steps:
        if step == "t":
            pending.begin_turn(position)
            for _ in range(draw.randrange(4)):
                open_[next_root] = []
                for _ in range(draw.randrange(1, 3)):
                    some = [*range(position, position + draw.randrange(1, 4))]
                    pending.keep(next_root, some)
                    open_[next_root] += some
                    position += len(some)
                next_root += 1
        elif step == "d" and open_:
            root = draw.choice(list(open_))
            assert pending.done(root) == open_.pop(root)
        elif step in "fl" and open_:
            root = draw.choice(list(open_))
            numbers = open_.pop(root)
            gone = pending.failed(root, lost=step == "l")
            if gone is not None:
                assert gone.outputs == numbers
                assert len(numbers) == 1, "among several, nobody knows which one failed"
                assert max(gone.failures, gone.losses) >= max_tries
                given_up += numbers
            else:
                queued |= set(numbers)
        elif step == "a":
            again = pending.take_again()
            if again is None:
                assert not queued or open_, "suspects wait until nothing is under way, and nothing else waits"
            else:
                (number,) = again.outputs
                queued.remove(number)
                pending.keep_again(next_root, again)
                open_[next_root] = [number]
                next_root += 1
        undone = sorted([*(number for numbers in open_.values() for number in numbers), *queued])
        assert undone == sorted(set(range(position)) & set(undone))
        assert len(pending) == len(undone)
        assert pending.room in (0, 1000 - len(undone))
        oldest = pending.oldest_position(position)
        assert oldest <= min(undone, default=position)
        if not undone:
            assert oldest == position
            assert pending.room == 1000


@pytest.mark.parametrize("max_tries", [1, 2, 4])
def test_of_those_that_failed_together_only_who_fails_alone_is_given_up(max_tries: int) -> None:
    pending = Pending(most=10, max_tries=max_tries)
    pending.begin_turn(None)
    pending.keep(1, ["good", "bad", "fine"])
    assert pending.failed(1) is None
    root, tries, done = 1, 1, []
    while (again := pending.take_again()) is not None:
        root += 1
        pending.keep_again(root, again)
        if again.outputs != ["bad"]:
            done += pending.done(root)
            continue
        tries += 1
        given_up = pending.failed(root)
        if given_up is not None:
            assert given_up.outputs == ["bad"]
            assert given_up.tries == tries == max(2, max_tries)
    assert sorted(done) == ["fine", "good"]
    assert len(pending) == 0


def test_positions_may_be_anything() -> None:
    pending = Pending(most=10, max_tries=3)
    pending.begin_turn({"file": "a", "offset": 3})
    pending.keep(1, [("line",)])
    pending.begin_turn(None)
    pending.keep(2, [("line",)])
    assert pending.oldest_position("now") == {"file": "a", "offset": 3}
    pending.done(1)
    assert pending.oldest_position("now") is None
    pending.done(2)
    assert pending.oldest_position("now") == "now"


def test_what_was_lost_twice_is_tried_alone_and_only_that_counts_against_it() -> None:
    pending = Pending(most=10, max_tries=4)
    pending.begin_turn(None)
    for root in (1, 2, 3):
        pending.keep(root, [f"output {root}"])
    root = 4
    for _ in range(2):  # all are lost, twice
        for lost in sorted(pending.roots):
            assert pending.failed(lost, lost=True) is None
        while (again := pending.take_again()) is not None:
            pending.keep_again(root, again)
            root += 1
    assert pending.room == 0, "nothing new while there are suspects"
    assert len(pending.roots) == 1, "one at a time"

    deaths, guilty = 0, "output 2"
    done = []
    while pending.roots:
        (alone,) = pending.roots
        if pending.outputs_of(alone) == [guilty]:
            deaths += 1
            given_up = pending.failed(alone, lost=True)
            if given_up is not None:
                assert given_up.outputs == [guilty]
        else:
            done += pending.done(alone)
        again = pending.take_again()
        if again is not None:
            pending.keep_again(root, again)
            root += 1
    assert sorted(done) == ["output 1", "output 3"]
    assert deaths == 2
    assert pending.room == 10
