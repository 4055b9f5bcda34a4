"""Who goes next: never nobody, never somebody for ever, and with lbf never far from the best there is."""

from collections.abc import Sequence
from itertools import product
from math import ceil, log2

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.flow.backlog import (
    PASSED_OVER_AT_MOST,
    LargestBacklogFirst,
    OutgoingPolicy,
    Policy,
    RoundRobin,
    policy_of,
)

NAMES: tuple[OutgoingPolicy, ...] = ("fifo", "round_robin", "lbf")

slots = st.lists(st.lists(st.integers(0, 4), max_size=4), min_size=1, max_size=40)
"""For each slot, the queues that tuples arrive at."""


def serve(policy: Policy, arrivals: Sequence[Sequence[int]], most: int = 1000) -> tuple[list[tuple[int, int]], int]:
    """What goes in which order, (queue, arrival), one in each slot as long as there is any; and the worst backlog."""
    waiting: dict[int, list[int]] = {}
    gone, worst, arrived, slot = [], 0, 0, 0
    while slot < len(arrivals) or any(waiting.values()):
        for queue in arrivals[slot] if slot < len(arrivals) else ():
            waiting.setdefault(queue, []).append(arrived)
            arrived += 1
        backlog = {queue: len(waits) for queue, waits in waiting.items() if waits}
        if backlog:
            chosen = policy.choose(backlog, {queue: waiting[queue][0] for queue in backlog}, slot)
            gone.append((chosen, waiting[chosen].pop(0)))
        worst = max([worst, *map(len, waiting.values())])
        slot += 1
        assert slot < most
    return gone, worst


def best_possible(arrivals: Sequence[Sequence[int]]) -> int:
    """The smallest worst backlog that anybody could reach who knew all arrivals: the first bound that can be kept."""
    return next(bound for bound in range(1000) if can_be_kept(arrivals, bound))


def can_be_kept(arrivals: Sequence[Sequence[int]], bound: int) -> bool:
    """Whether no queue has to hold more than `bound`.

    Each tuple must have gone in the slot in which another arrives that is `bound` behind it. With jobs of one slot and
    deadlines, whoever takes the earliest deadline first misses none that could be met.
    """
    arrived: dict[int, list[int]] = {}
    for slot, queues in enumerate(arrivals):
        for queue in queues:
            arrived.setdefault(queue, []).append(slot)
    deadlines = {
        (queue, number): at[number + bound] for queue, at in arrived.items() for number in range(len(at) - bound)
    }
    for slot in range(len(arrivals)):
        there = [key for key in deadlines if arrived[key[0]][key[1]] <= slot]
        if there:
            first = min(there, key=lambda key: (deadlines[key], key))
            if deadlines.pop(first) < slot:
                return False
    return all(deadline >= len(arrivals) for deadline in deadlines.values())


def best_by_trying(arrivals: Sequence[Sequence[int]], queues: int) -> int:
    """The same, by trying everything."""
    best = 1000
    for choices in product(range(queues), repeat=len(arrivals)):
        backlog, worst = [0] * queues, 0
        for chosen, arriving in zip(choices, arrivals, strict=True):
            for queue in arriving:
                backlog[queue] += 1
            backlog[chosen] = max(0, backlog[chosen] - 1)
            worst = max(worst, *backlog)
        best = min(best, worst)
    return best


@given(slots, st.sampled_from(NAMES), st.integers(0, 5))
def test_no_slot_is_wasted_and_each_queue_keeps_its_order(
    arrivals: list[list[int]], name: OutgoingPolicy, interval: int
) -> None:
    gone, _ = serve(policy_of(name, interval_ns=interval), arrivals)

    assert sorted(arrival for _, arrival in gone) == list(range(sum(map(len, arrivals))))  # all of them, once
    for queue in {queue for queue, _ in gone}:
        mine = [arrival for which, arrival in gone if which == queue]
        assert mine == sorted(mine)
    busy, left = 0, 0  # work-conserving: as many slots with something to send as for any other such policy
    for slot in range(1000):
        left += len(arrivals[slot]) if slot < len(arrivals) else 0
        if left:
            left, busy = left - 1, busy + 1
    assert len(gone) == busy


@given(slots)
def test_fifo_is_the_order_of_arrival(arrivals: list[list[int]]) -> None:
    gone, _ = serve(policy_of("fifo", interval_ns=7), arrivals)
    assert [arrival for _, arrival in gone] == list(range(len(gone)))


@given(st.lists(st.lists(st.integers(0, 2), max_size=3), min_size=1, max_size=6))
def test_the_optimum_is_the_optimum(arrivals: list[list[int]]) -> None:
    assert best_possible(arrivals) == best_by_trying(arrivals, queues=3)


@given(slots)
def test_lbf_keeps_the_competitive_bound(arrivals: list[list[int]]) -> None:
    queues = max((queue for slot in arrivals for queue in slot), default=0) + 1
    _, worst = serve(LargestBacklogFirst(), arrivals)
    assert worst <= (3 + ceil(log2(queues))) * best_possible(arrivals)


@given(slots, st.sampled_from(NAMES))
def test_the_same_arrivals_are_served_in_the_same_order(arrivals: list[list[int]], name: OutgoingPolicy) -> None:
    assert serve(policy_of(name, interval_ns=2), arrivals) == serve(policy_of(name, interval_ns=2), arrivals)


def test_round_robin_leaves_out_empty_queues() -> None:
    policy = RoundRobin()
    backlog, since = {1: 5, 3: 1, 8: 2}, {1: 0, 3: 1, 8: 2}
    assert [policy.choose(backlog, since, 0) for _ in range(5)] == [1, 3, 8, 1, 3]
    assert policy.choose({1: 5, 8: 2}, since, 0) == 8


def test_among_equal_backlogs_the_longest_wait_goes_first() -> None:
    assert LargestBacklogFirst().choose({0: 3, 1: 3, 2: 1}, {0: 9, 1: 4, 2: 0}, 0) == 1


@pytest.mark.parametrize("others", [1, 3])
def test_a_small_queue_does_not_wait_for_ever(others: int) -> None:
    policy = LargestBacklogFirst()
    backlog = {0: 1} | dict.fromkeys(range(1, others + 1), 100)
    served = [
        policy.choose(backlog, {queue: 0 if queue == 0 else turn + queue for queue in backlog}, 0)
        for turn in range(200)
    ]
    assert served.index(0) == PASSED_OVER_AT_MOST * len(backlog)


def test_who_was_chosen_goes_on_for_an_interval_or_until_nothing_is_left() -> None:
    policy = policy_of("lbf", interval_ns=100)
    since = {1: 0, 2: 1}
    assert policy.choose({1: 5, 2: 9}, since, 1000) == 2
    assert policy.choose({1: 50, 2: 9}, since, 1099) == 2
    assert policy.choose({1: 50, 2: 9}, since, 1100) == 1
    assert policy.choose({2: 9}, since, 1110) == 2
