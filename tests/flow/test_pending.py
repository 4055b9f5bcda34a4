"""What a spout has to remember, against a model that remembers everything."""

import random

from hypothesis import given
from hypothesis import strategies as st

from penstock.flow.pending import Pending


@given(st.randoms(use_true_random=False), st.lists(st.sampled_from("tdfa"), max_size=80), st.integers(1, 4))
def test_nothing_is_forgotten_before_it_is_done_and_positions_never_pass_it(
    draw: random.Random, steps: list[str], max_tries: int
) -> None:
    pending = Pending(most=1000, max_tries=max_tries)
    position, next_root = 0, 1
    open_: dict[int, int] = {}  # root: the number of the output
    queued: list[int] = []
    tries: dict[int, int] = {}
    given_up: list[int] = []
    for step in steps:
        if step == "t":
            pending.begin_turn(position)
            for _ in range(draw.randrange(4)):
                pending.keep(next_root, position)
                open_[next_root] = position
                tries[position] = 1
                next_root += 1
                position += 1
        elif step == "d" and open_:
            root = draw.choice(list(open_))
            assert pending.done(root) == open_.pop(root)
        elif step == "f" and open_:
            root = draw.choice(list(open_))
            number = open_.pop(root)
            gone = pending.failed(root)
            assert (gone is not None) == (tries[number] >= max_tries), "it fails each time, so tries are failures"
            (given_up if gone is not None else queued).append(number)
        elif step == "a":
            again = pending.take_again()
            assert (again is None) == (not queued)
            if again is not None:
                number = queued.pop(0)
                assert again.output == number
                pending.keep_again(next_root, again)
                open_[next_root] = number
                tries[number] += 1
                next_root += 1
        undone = [*open_.values(), *queued]
        assert len(pending) == len(undone)
        assert pending.room == 1000 - len(undone)
        oldest = pending.oldest_position(position)
        assert oldest <= min(undone, default=position)
        if not undone:
            assert oldest == position


def test_positions_may_be_anything() -> None:
    pending = Pending(most=10, max_tries=3)
    pending.begin_turn({"file": "a", "offset": 3})
    pending.keep(1, ("line",))
    pending.begin_turn(None)
    pending.keep(2, ("line",))
    assert pending.oldest_position("now") == {"file": "a", "offset": 3}
    pending.done(1)
    assert pending.oldest_position("now") is None
    pending.done(2)
    assert pending.oldest_position("now") == "now"


def test_what_was_lost_twice_is_tried_alone_and_only_that_counts_against_it() -> None:
    pending = Pending(most=10, max_tries=4)
    pending.begin_turn(None)
    for root in (1, 2, 3):
        pending.keep(root, f"output {root}")
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
        if pending.output_of(alone) == guilty:
            deaths += 1
            given_up = pending.failed(alone, lost=True)
            if given_up is not None:
                assert given_up.output == guilty
        else:
            done.append(pending.done(alone))
        again = pending.take_again()
        if again is not None:
            pending.keep_again(root, again)
            root += 1
    assert sorted(done) == ["output 1", "output 3"]
    assert deaths == 2
    assert pending.room == 10
