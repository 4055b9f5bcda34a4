"""Who gets how much of a shuffle."""

from __future__ import annotations

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from penstock.flow.balance import NODE, OTHER_NODE, OWN_WORKER, Standing, in_turn, weights_of
from penstock.flow.spare_time import WINDOW_NS, SpareTime

standings = st.lists(
    st.builds(Standing, st.floats(0, 1.5), st.sampled_from([OWN_WORKER, NODE, OTHER_NODE]), st.booleans()),
    min_size=1,
    max_size=20,
)
shares = st.floats(0, 1)


@given(standings, shares)
def test_who_is_full_gets_nothing_while_another_is_not_and_everybody_else_something(
    given_standings: list[Standing], idle_share: float
) -> None:
    weights = weights_of(given_standings, idle_share=idle_share)
    all_full = all(standing.is_full for standing in given_standings)
    for standing, weight in zip(given_standings, weights, strict=True):
        assert (weight == 0) == (standing.is_full and not all_full)
    assert max(weights) <= 4


@given(standings, shares)
def test_who_has_less_room_never_gets_more(given_standings: list[Standing], idle_share: float) -> None:
    weights = weights_of(given_standings, idle_share=idle_share)
    able = sorted(
        (standing.load, weight)
        for standing, weight in zip(given_standings, weights, strict=True)
        if not standing.is_full and standing.load > 0.25
    )
    by_load = [weight for _, weight in able]
    assert by_load == sorted(by_load, reverse=True)


@given(st.lists(st.sampled_from([OWN_WORKER, NODE, OTHER_NODE]), min_size=1, max_size=20), st.floats(0, 0.25))
def test_the_nearer_is_preferred_with_time_to_spare_and_nobody_without(distances: list[int], load: float) -> None:
    near_and_far = [Standing(load, distance) for distance in distances]
    assert {*weights_of(near_and_far, idle_share=0.4)} == {1}

    weights = weights_of(near_and_far, idle_share=0.6)
    for one, weight in zip(distances, weights, strict=True):
        for other, other_weight in zip(distances, weights, strict=True):
            assert (weight > other_weight) == (one < other)
            assert weight <= 2 * other_weight


def test_the_nearer_is_not_preferred_when_anybody_has_less_room_or_is_full() -> None:
    idle = 1.0
    assert weights_of([Standing(0.3, OWN_WORKER), Standing(0.0, OTHER_NODE)], idle_share=idle) == (3, 4)
    full = Standing(1.0, NODE, is_full=True)
    assert weights_of([Standing(0.0, OWN_WORKER), Standing(0.0, OTHER_NODE), full], idle_share=idle) == (1, 1, 0)


@given(st.lists(st.integers(0, 4), min_size=1, max_size=12).filter(any))
def test_everybody_has_as_many_turns_as_the_weight_says_spread_over_the_round(weights: list[int]) -> None:
    order = in_turn(weights)
    assert Counter(order) == Counter({index: weight for index, weight in enumerate(weights) if weight})
    for index, weight in enumerate(weights):
        for end in range(len(order) + 1):
            due = weight * end / len(order)
            assert abs(order[:end].count(index) - due) <= len(weights)


def test_a_slow_target_is_given_what_it_can_do() -> None:
    """Of four targets, one does a quarter of what the others do: fed by weights, all are busy, and none is full."""
    speeds, waiting, done, most = [20, 20, 20, 5], [0.0] * 4, [0.0] * 4, 400
    for _ in range(1000):
        weights = weights_of([Standing(queue / most, NODE, queue >= most) for queue in waiting], idle_share=0)
        order = in_turn(weights)
        for number in range(64):  # a little less than all can do
            waiting[order[number % len(order)]] += 1
        for index, speed in enumerate(speeds):
            did = min(waiting[index], speed)
            waiting[index] -= did
            done[index] += did
    assert sum(done) + sum(waiting) == 64_000
    assert sum(done) >= 63_000


@given(st.lists(st.tuples(st.integers(0, WINDOW_NS), st.integers(0, WINDOW_NS)), min_size=1, max_size=30))
def test_spare_time_is_a_share(stretches: list[tuple[int, int]]) -> None:
    spare, now_ns = SpareTime(), 0
    for busy_ns, idle_ns in stretches:
        spare.idled(now_ns + busy_ns, now_ns + busy_ns + idle_ns)
        now_ns += busy_ns + idle_ns
        assert 0 <= spare.share(now_ns) <= 1
    assert spare.share(now_ns + 10 * WINDOW_NS) <= 0.5, "what was long ago does not count"


def test_a_worker_that_waits_half_of_the_time_has_half_of_it_to_spare() -> None:
    spare = SpareTime()
    assert spare.share(0) == 0
    for number in range(1000):
        spare.idled(2_000_000 * number, 2_000_000 * number + 1_000_000)
    assert abs(spare.share(2_000_000_000) - 0.5) < 0.01
    assert spare.share(20_000_000_000) < 0.01
