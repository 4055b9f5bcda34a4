"""Rate: what is due by the clock, and nothing else."""

from __future__ import annotations

import contextlib
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.connectors.rate import Rate
from tests.connectors.driving import context, problems, rest

SECOND_NS = 1_000_000_000


class Clock:
    def __init__(self, now_ns: int = 5 * SECOND_NS) -> None:
        self.now_ns = now_ns

    def __call__(self) -> int:
        return self.now_ns


def due_now(spout: Rate) -> list[tuple[Any, ...]]:
    """All that is due, in as many calls as it takes."""
    found: list[Any] = []
    while True:
        try:
            batch = spout.next()
        except StopIteration:
            return found
        if batch is None:
            return found
        found.extend(batch)  # type: ignore[arg-type]


@given(
    st.sampled_from([0.5, 1, 3, 1000, 44_100]),
    st.integers(1, 4),
    st.lists(st.integers(0, SECOND_NS // 20), max_size=10),
)
def test_all_tasks_together_emit_what_is_due(per_second: float, count: int, steps_ns: list[int]) -> None:
    clock = Clock()
    spouts = [Rate(per_second) for _ in range(count)]
    for index, spout in enumerate(spouts):
        spout.open(context(index, count, clock))
    began_ns = clock.now_ns
    found: list[tuple[int, int]] = []
    for step_ns in [0, *steps_ns]:
        clock.now_ns += step_ns
        for spout in spouts:
            found.extend(due_now(spout))
        assert all(at_ns <= clock.now_ns for _, at_ns in found)
    due = 0
    while began_ns + round(due * SECOND_NS / per_second) <= clock.now_ns:
        due += 1
    assert sorted(found) == [(seq, began_ns + round(seq * SECOND_NS / per_second)) for seq in range(due)]


def test_what_is_late_says_when_it_was_due() -> None:
    clock = Clock(0)
    spout = Rate(10)
    spout.open(context(now_ns=clock))
    assert due_now(spout) == [(0, 0)]
    clock.now_ns = SECOND_NS
    assert [at_ns for _, at_ns in due_now(spout)] == [SECOND_NS * tenth // 10 for tenth in range(1, 11)]


def test_the_clock_starts_with_the_first_call_and_not_before() -> None:
    clock = Clock(0)
    spout = Rate(1)
    spout.open(context(now_ns=clock))
    clock.now_ns = 10 * SECOND_NS
    assert due_now(spout) == [(0, 10 * SECOND_NS)]


def test_a_call_returns_soon_even_if_much_is_due() -> None:
    clock = Clock(0)
    spout = Rate(1_000_000)
    spout.open(context(now_ns=clock))
    spout.next()
    clock.now_ns = SECOND_NS
    assert len(spout.next()) < 1000  # type: ignore[arg-type]
    assert len(due_now(spout)) > 900_000


@pytest.mark.parametrize("per_second", [None, 700])
@pytest.mark.parametrize("limit", [0, 1, 5, 1000])
def test_the_limit_is_for_all_tasks_together(per_second: float | None, limit: int) -> None:
    found: list[int] = []
    for index in range(3):
        clock = Clock()
        spout = Rate(per_second, limit=limit)
        spout.open(context(index, 3, clock))
        with contextlib.suppress(StopIteration):
            while True:
                found.extend(seq for seq, _ in spout.next() or ())  # type: ignore[union-attr, misc]
                clock.now_ns += SECOND_NS // 10
    assert sorted(found) == list(range(limit))


def test_unthrottled_is_due_when_it_is_emitted() -> None:
    spout = Rate(None)
    spout.open(context(now_ns=Clock(7)))
    assert rest(spout, at_most=1000)[:3] == [(0, 7), (1, 7), (2, 7)]


def test_values_come_before_the_number_and_the_time() -> None:
    clock = Clock(0)
    cases: list[tuple[Rate, tuple[str, ...], list[Any]]] = [
        (Rate(None, ["a", "b"]), ("value", "seq", "at_ns"), [("a", 0, 0), ("b", 1, 0), ("a", 2, 0)]),
        (Rate(None, lambda seq: seq * 2), ("value", "seq", "at_ns"), [(0, 0, 0), (2, 1, 0), (4, 2, 0)]),
        (
            Rate(None, lambda seq: ("u", seq), fields=("user", "page")),
            ("user", "page", "seq", "at_ns"),
            [("u", 0, 0, 0), ("u", 1, 1, 0), ("u", 2, 2, 0)],
        ),
        (Rate(None), ("seq", "at_ns"), [(0, 0), (1, 0), (2, 0)]),
    ]
    for spout, fields, wanted in cases:
        assert spout.fields == fields
        spout.open(context(now_ns=clock))
        assert rest(spout, at_most=3)[:3] == wanted


@given(st.integers(1, 3), st.integers(1, 1000))
def test_it_goes_on_where_it_was(count: int, read: int) -> None:
    first, second = Rate(None, limit=2000), Rate(None, limit=2000)
    first.open(context(count - 1, count))
    before = rest(first, at_most=read)
    second.open(context(count - 1, count))
    second.seek(first.position())
    assert [seq for seq, _ in before + rest(second)] == list(range(count - 1, 2000, count))


@pytest.mark.parametrize(
    ("spout", "wanted"),
    [
        (Rate(0), "Rate: per_second: wanted a number above 0 or None, got 0"),
        (Rate("1"), "Rate: per_second: wanted a number above 0 or None, got '1'"),  # type: ignore[arg-type]
        (Rate(1, limit=-1), "Rate: limit: wanted a number of tuples or None, got -1"),
        (Rate(1, []), "Rate: make: wanted a list with values in it, got an empty one"),
        (Rate(1, "abc"), "Rate: make: wanted a function or a list of values, got 'abc'"),
        (Rate(1, lambda: 1), "Rate: make: wanted to call it with (seq), but it takes ()"),  # type: ignore[arg-type, misc]
        (Rate(1, [("a", 1)]), "Rate: make[0]: wanted 1 values, for the fields ('value',), got ('a', 1)"),
        (
            Rate(1, fields=("x",)),
            "Rate: fields: wanted none but the number and the time, because there is no make, got ('x',)",
        ),
    ],
)
def test_what_cannot_be_is_refused(spout: Rate, wanted: str) -> None:
    assert problems(spout) == [wanted]


def test_the_number_and_the_time_need_fields() -> None:
    wanted = "Rate: wanted fields for the number and the time at the end, got ('n',)"
    assert problems(Rate(1), fields=("n",)) == [wanted]
    assert problems(Rate(1), fields=("number", "time")) == []


def test_a_good_rate_passes() -> None:
    for spout in (Rate(5), Rate(None, limit=3), Rate(1, [1, 2]), Rate(1, lambda seq: (seq, seq), fields=("a", "b"))):
        assert problems(spout, tasks=2) == []
    assert Rate.is_replayable()
