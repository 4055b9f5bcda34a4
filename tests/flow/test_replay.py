"""What a spout skips that goes on for one that was lost: nothing that was not done, and all that was if it can."""

from __future__ import annotations

import random
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.flow.pending import Pending
from penstock.flow.replay import MOST_STRETCHES, Skips

Name = Callable[[int], Any]
NAMES: dict[str, Name] = {"numbers": lambda at: at, "pairs": lambda at: ("file", at)}


def emitted(pending: Pending, name: Name, turns: list[int]) -> tuple[int, dict[int, list[int]]]:
    """Emits the numbers from 0, so many in each turn, each a tree. Returns where that ends, and the turns."""
    position, given_in = 0, {}
    for turn, count in enumerate(turns):
        pending.begin_turn(name(position))
        given_in[turn] = [*range(position, position + count)]
        for number in given_in[turn]:
            pending.keep(number, [number])
        position += count
    return position, given_in


def replayed(pending: Pending, name: Name, now: int, sizes: list[int], successor: Pending | None = None) -> list[int]:
    """What a successor emits up to `now`, which gives so many at a time, in turn."""
    if successor is None:
        successor = Pending(most=1000, max_tries=4)
    skips = Skips(pending.done_stretches(name(now)))
    oldest = pending.oldest_position(name(now))
    place = {repr(name(at)): at for at in range(now + 1)}
    again: list[int] = []
    position, call = place[repr(oldest)], 0
    while position < now:
        stretch = skips.at(name(position))
        if stretch is not None:
            successor.skip(name(position), stretch.given)
            position = place[repr(stretch.end)]
            continue
        count = min(sizes[call % len(sizes)], now - position)
        successor.begin_turn(name(position))
        for number in range(position, position + count):
            successor.keep(number, [number])
        again += range(position, position + count)
        position, call = position + count, call + 1
    return again


@pytest.mark.parametrize("name", NAMES.values(), ids=NAMES)
@given(
    st.lists(st.integers(0, 5), max_size=40),
    st.lists(st.integers(1, 7), min_size=1, max_size=5),
    st.randoms(use_true_random=False),
)
def test_all_that_was_not_done_comes_again(name: Name, turns: list[int], sizes: list[int], draw: random.Random) -> None:
    pending = Pending(most=1000, max_tries=4)
    now, _ = emitted(pending, name, turns)
    done = {number for number in range(now) if draw.random() < 0.7}
    for number in done:
        pending.done(number)
    assert {*range(now)} - done <= {*replayed(pending, name, now, sizes)}


@pytest.mark.parametrize("name", NAMES.values(), ids=NAMES)
@given(st.lists(st.integers(0, 5), max_size=40), st.randoms(use_true_random=False))
def test_nothing_comes_again_of_a_turn_that_was_done(name: Name, turns: list[int], draw: random.Random) -> None:
    pending = Pending(most=1000, max_tries=4)
    now, given_in = emitted(pending, name, turns)
    open_turns = {turn for turn in given_in if draw.random() < 0.3}
    for turn, numbers in given_in.items():
        if turn not in open_turns:
            for number in numbers:
                pending.done(number)
    wanted = [number for turn in sorted(open_turns) for number in given_in[turn]]
    assert replayed(pending, name, now, [1]) == wanted


@pytest.mark.parametrize("name", NAMES.values(), ids=NAMES)
@given(st.lists(st.integers(1, 5), min_size=1, max_size=40), st.randoms(use_true_random=False))
def test_what_a_successor_has_skipped_the_next_one_skips_too(name: Name, turns: list[int], draw: random.Random) -> None:
    pending, successor = Pending(most=1000, max_tries=4), Pending(most=1000, max_tries=4)
    now, given_in = emitted(pending, name, turns)
    for numbers in given_in.values():
        if draw.random() < 0.7:
            for number in numbers:
                pending.done(number)
    again = replayed(pending, name, now, [1], successor)
    for number in [*again]:
        if draw.random() < 0.5:
            successor.done(number)
            again.remove(number)
    assert replayed(successor, name, now, [1]) == again


def test_what_is_done_between_turns_is_one_stretch_however_many_turns_that_were() -> None:
    pending = Pending(most=1000, max_tries=4)
    for number in range(500):
        pending.begin_turn(number)
        pending.keep(number, [number])
        if number:
            pending.done(number)
    (stretch,) = pending.done_stretches(500)
    assert (stretch.start, stretch.end, stretch.given) == (1, 500, 499)
    assert len(pending._turns) < 200


def test_of_many_stretches_the_longest_are_told_in_their_order() -> None:
    pending = Pending(most=10_000, max_tries=4)
    now, given_in = emitted(pending, NAMES["numbers"], [1 + turn % 3 for turn in range(4 * MOST_STRETCHES)])
    for turn, numbers in given_in.items():
        if turn % 2:
            for number in numbers:
                pending.done(number)
    stretches = pending.done_stretches(now)
    assert len(stretches) == MOST_STRETCHES
    assert stretches == sorted(stretches, key=lambda stretch: stretch.start)
    assert sum(stretch.given for stretch in stretches) > 2 * MOST_STRETCHES


@given(
    st.lists(st.tuples(st.integers(0, 6), st.integers(1, 3)), max_size=40),
    st.randoms(use_true_random=False),
)
def test_positions_that_come_again_lose_nothing(turns: list[tuple[int, int]], draw: random.Random) -> None:
    """A spout may give a block bit by bit at one position, go round, or go back."""
    pending = Pending(most=1000, max_tries=4)
    number, where = 0, []
    for position, count in turns:
        pending.begin_turn(position)
        for _ in range(count):
            pending.keep(number, [number])
            where.append(position)
            number += 1
    open_ones = {one for one in range(number) if draw.random() < 0.4}
    for one in range(number):
        if one not in open_ones:
            pending.done(one)
    stretches = pending.done_stretches(99)
    if open_ones and any(before >= after for before, after in pairwise(position for position, _ in turns)):
        # Whoever comes to the start of a stretch for the first time skips all from there on.
        for stretch in stretches:
            first = where.index(stretch.start, min(open_ones))
            assert not {*range(first, first + stretch.given)} & open_ones


def test_a_block_that_is_given_bit_by_bit_is_not_skipped() -> None:
    pending = Pending(most=10, max_tries=4)
    for number, position in enumerate([0, 0, 1, 2]):
        pending.begin_turn(position)
        pending.keep(number, [number])
    pending.done(1)
    pending.done(2)
    assert pending.done_stretches(3) == []
    pending.done(0)
    pending.done(3)
    for number, position in enumerate([3, 4, 5], 4):
        pending.begin_turn(position)
        pending.keep(number, [number])
    pending.done(5)
    assert [*map(repr, pending.done_stretches(6))] == ["Stretch(4, 5, 1)"], "the block is over"


def test_turns_that_are_done_do_not_pile_up() -> None:
    pending = Pending(most=10, max_tries=4)
    pending.begin_turn(0)
    pending.keep(0, [0])
    for number in range(1, 5000):
        pending.begin_turn(number)
        pending.keep(number, [number])
        if number > 3:
            pending.done(number - 3)
    assert len(pending._turns) < 200
    assert pending.given_since_oldest == 5000
    assert [*map(repr, pending.done_stretches(5000))] == ["Stretch(1, 4997, 4996)"]


@pytest.mark.parametrize("elsewhere", [False, True])
def test_a_turn_of_which_nothing_came_is_no_second_one_at_its_place(elsewhere: bool) -> None:
    """One that leaves is asked once more and gives nothing; where it goes on, many turns are joined at once."""
    pending = Pending(most=1000, max_tries=3)
    for number in range(500):
        pending.begin_turn(number)
        pending.keep(number + 1, [number])
        if number:
            pending.done(number + 1)
    pending.begin_turn(500)
    if elsewhere:
        left, pending = pending, Pending(most=1000, max_tries=3)
        pending.restore(left.state(str), int)
    for number in range(500, 1000):
        pending.begin_turn(number)
        pending.begin_turn(number)
        pending.keep(number + 1, [number])
        pending.done(number + 1)
    assert [*map(repr, pending.done_stretches(1000))] == ["Stretch(1, 1000, 999)"]
