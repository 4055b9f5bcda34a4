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
            assert (gone is not None) == (tries[number] >= max_tries)
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
