"""Lines: every item once, by one task."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.connectors.lines import Lines
from tests.connectors.driving import context, problems, rest, share

items = st.lists(st.text(max_size=3), max_size=200)


@given(items, st.integers(1, 5), st.integers(0, 3))
def test_the_tasks_share_a_list(items: list[str], count: int, repeat: int) -> None:
    shares = [share(Lines(items, repeat=repeat), index, count) for index in range(count)]
    assert sorted(itertools.chain(*shares)) == sorted([(item,) for item in items] * repeat)


@given(items)
def test_one_task_keeps_the_order(items: list[str]) -> None:
    assert share(Lines(items)) == [(item,) for item in items]
    assert share(Lines(iter(items))) == [(item,) for item in items]


@given(items, st.integers(1, 3), st.integers(0, 3), st.integers(0, 500), st.booleans())
def test_it_goes_on_where_it_was(items: list[str], count: int, repeat: int, read: int, listed: bool) -> None:
    if not listed:
        count = repeat = 1
    source = items if listed else (item for item in items)
    first = Lines(source, repeat=repeat)
    first.open(context(count - 1, count))
    before = rest(first, at_most=read) if read else []
    position = first.position()
    second = Lines(items if listed else iter(items), repeat=repeat)
    second.open(context(count - 1, count))
    second.seek(position)
    assert before + rest(second) == share(Lines(items, repeat=repeat), count - 1, count)


def test_a_list_can_be_repeated_for_ever() -> None:
    spout = Lines(["a", "b"], repeat=None)
    spout.open(context())
    assert rest(spout, at_most=1000)[:5] == [("a",), ("b",), ("a",), ("b",), ("a",)]


def test_an_empty_share_ends_even_if_repeated_for_ever() -> None:
    assert share(Lines(["a"], repeat=1), 1, 2) == []
    assert share(Lines([], repeat=None)) == []
    assert share(Lines(["a"], repeat=0)) == []


def test_tuples_have_several_fields() -> None:
    spout = Lines([("a", 1), ("b", 2)], fields=("word", "count"))
    assert problems(spout) == []
    assert share(spout) == [("a", 1), ("b", 2)]
    assert problems(Lines([("a", 1)]), fields=("word", "count")) == []


@pytest.mark.parametrize(
    ("items", "settings", "tasks", "wanted"),
    [
        ("text", {}, 1, "Lines: wanted a list or an iterator, got one str: split it into lines, with .splitlines()"),
        (5, {}, 1, "Lines: wanted a list or an iterator, got 5"),
        (
            iter("ab"),
            {},
            2,
            "Lines: wanted tasks=1, because only a list can be shared out, got an iterator and tasks=2",
        ),
        (iter("ab"), {"repeat": 2}, 1, "Lines: wanted repeat=1, because only a list can be repeated, got repeat=2"),
        (["a"], {"repeat": -1}, 1, "Lines: repeat: wanted a number of times or None, got -1"),
        (["a", ("b", 1)], {}, 1, "Lines: item 1: wanted 1 values, for the fields ('line',), got ('b', 1)"),
    ],
)
def test_what_cannot_be_emitted_is_refused(items: Any, settings: dict[str, Any], tasks: int, wanted: str) -> None:
    assert problems(Lines(items, **settings), tasks) == [wanted]


def test_a_generator_cannot_be_shipped() -> None:
    (problem,) = problems(Lines(item for item in "ab"))
    assert problem.startswith("attribute items of type generator cannot be shipped to a worker")


def test_it_can_be_replayed() -> None:
    assert Lines.is_replayable()
