"""Two choices against one, on keys of which some are much more frequent than others."""

from __future__ import annotations

import random
from collections import Counter
from itertools import accumulate

from hypothesis import given
from hypothesis import strategies as st

from penstock.flow import two_choices
from penstock.flow.two_choices import TwoChoices, pair_of

keys = st.integers() | st.text() | st.tuples(st.text(), st.integers()) | st.none()
counts = st.integers(1, 40)
TUPLES = 6000


def zipf(seed: int, exponent: float, different: int, tuples: int = TUPLES) -> list[int]:
    weights = [*accumulate(1 / rank**exponent for rank in range(1, different + 1))]
    return random.Random(seed).choices(range(different), cum_weights=weights, k=tuples)


def sent_by(sources: int, count: int, stream: list[int]) -> Counter[int]:
    """How much each task was sent by sources that know nothing of each other."""
    choices = [TwoChoices(count) for _ in range(sources)]
    return Counter(choices[position % sources].choose(key) for position, key in enumerate(stream))


@given(keys, counts)
def test_a_key_has_two_tasks_that_differ_where_there_are_two(key: object, count: int) -> None:
    first, second = pair_of(key, count)
    assert {first, second} <= {*range(count)}
    assert (first == second) == (count == 1)


def test_every_two_tasks_are_the_pair_of_some_key() -> None:
    pairs = {frozenset(pair_of(key, 5)) for key in range(500)}
    assert len(pairs) == 10


@given(
    seed=st.integers(0, 1000),
    exponent=st.floats(0.3, 1.6),
    different=st.integers(200, 20_000),
    count=st.integers(2, 12),
    sources=st.integers(1, 5),
)
def test_it_is_balanced_where_that_is_possible_and_never_worse_than_one_choice(
    seed: int, exponent: float, different: int, count: int, sources: int
) -> None:
    stream = zipf(seed, exponent, different)
    sent = sent_by(sources, count, stream)
    hashed = Counter(pair_of(key, count)[0] for key in stream)
    most_frequent = Counter(stream).most_common(1)[0][1]

    even = TUPLES / count
    # Two tasks share the most frequent key: nothing can be more even than that, whoever chooses.
    possible = max(even, most_frequent / 2)
    assert max(sent.values()) <= max(hashed.values()) + 5 * sources
    if most_frequent <= even / 2:
        assert max(sent.values()) <= 1.1 * possible + 5 * sources


@given(st.lists(st.integers(0, 5), max_size=50), counts)
def test_the_same_stream_is_sent_the_same_way(stream: list[int], count: int) -> None:
    first, second = TwoChoices(count), TwoChoices(count)
    assert [*map(first.choose, stream)] == [*map(second.choose, stream)]


def test_what_was_sent_long_ago_is_forgotten() -> None:
    choices = TwoChoices(3)
    hot = next(key for key in range(100) if {*pair_of(key, 3)} == {0, 1})
    other = next(key for key in range(100) if {*pair_of(key, 3)} == {1, 2})
    for _ in range(50_000):
        choices.choose(hot)
    assert max(choices.sent) < two_choices.WINDOW_TUPLES

    sent = Counter(choices.choose(other) for _ in range(4 * two_choices.WINDOW_TUPLES))
    # The first window at most makes up for what was sent before.
    assert sent[1] >= two_choices.WINDOW_TUPLES


def test_endless_keys_do_not_fill_the_memory() -> None:
    choices = TwoChoices(4)
    most = two_choices.MOST_REMEMBERED_KEYS
    for key in range(most + 10):
        choices.choose(key)
    assert len(choices._pairs) <= most
    assert choices.choose(3) in pair_of(3, 4)
