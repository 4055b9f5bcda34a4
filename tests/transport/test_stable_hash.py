"""The same key reaches the same task: in every process, under any hash seed, whatever its type."""

import os
import subprocess
import sys
from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal
from enum import IntEnum, StrEnum
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.transport.stable_hash import stable_hash


class Colour(StrEnum):
    BLUE = "blue"


class Number(IntEnum):
    ONE = 1


class Point(NamedTuple):
    x: int
    y: int


class Name(str):
    __slots__ = ()


EQUAL_KEYS: list[tuple[Any, ...]] = [
    (1, 1.0, True, Number.ONE, np.int64(1), np.float64(1.0), Decimal(1), Decimal("1.0"), Fraction(1)),
    (0, 0.0, -0.0, False, Decimal(0)),
    (0.5, Decimal("0.5"), Fraction(1, 2), np.float64(0.5)),
    (2**80, float(2**80), Decimal(2**80)),
    ("blue", Colour.BLUE, Name("blue"), np.str_("blue")),
    ((1, 2), Point(1, 2), (1.0, 2.0)),
    ({"a": 1, "b": (2.0, None)}, {"b": (2, None), "a": True}),
    (
        datetime(2026, 1, 1, 12, tzinfo=UTC),
        datetime(2026, 1, 1, 14, tzinfo=timezone(timedelta(hours=2))),
    ),
]


@pytest.mark.parametrize("keys", EQUAL_KEYS, ids=lambda keys: repr(keys[0]))
def test_keys_that_python_holds_equal_hash_equal(keys: tuple[Any, ...]) -> None:
    assert all(keys[0] == key for key in keys), "these are no equal keys"
    assert len({stable_hash(key) for key in keys}) == 1


scalars = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False)
    | st.text(st.characters(exclude_categories=["Cs"]))
    | st.binary()
    | st.dates()
    | st.datetimes()
    | st.datetimes(timezones=st.timezones())
    | st.decimals(allow_nan=False)
    | st.fractions()
    | st.uuids()
)
keys = scalars | st.tuples(scalars, scalars) | st.tuples(scalars, st.tuples(scalars))


@given(keys, keys)
def test_any_two_equal_keys_hash_equal(one: Any, other: Any) -> None:
    if one == other and hash(one) == hash(other):
        assert stable_hash(one) == stable_hash(other)


@given(st.fractions(), st.sampled_from([float, int, Decimal]))
def test_a_number_hashes_the_same_in_each_type_that_can_hold_it(number: Fraction, other: Any) -> None:
    try:
        converted = other(number) if other is not Decimal else Decimal(number.numerator) / Decimal(number.denominator)
    except OverflowError:
        return
    if converted == number:
        assert stable_hash(converted) == stable_hash(number)


def test_different_keys_spread() -> None:
    spread = [stable_hash(f"key {number}") % 8 for number in range(8000)]
    counts = [spread.count(index) for index in range(8)]

    assert min(counts) > 800
    assert max(counts) < 1200


def test_a_str_is_not_its_bytes_and_a_tuple_is_not_its_only_value() -> None:
    assert len({stable_hash("a"), stable_hash(b"a"), stable_hash(("a",)), stable_hash((("a",),))}) == 4


SAMPLE = """
import sys
from datetime import UTC, datetime
from penstock.transport.stable_hash import stable_hash
keys = ["blue", b"blue", 7, 2**70, -1, 0.25, None, True, ("a", 1, (2.5, None)), datetime(2026, 1, 1, tzinfo=UTC)]
print(*(stable_hash(key) for key in keys))
"""


def test_processes_with_different_hash_seeds_agree() -> None:
    said = {
        subprocess.run(
            [sys.executable, "-c", SAMPLE],
            env=os.environ | {"PYTHONHASHSEED": seed},
            check=True,
            capture_output=True,
            text=True,
        ).stdout
        for seed in ("0", "1", "4711")
    }
    assert len(said) == 1
    assert len(said.pop().split()) == 10


def test_the_hash_is_the_same_for_ever() -> None:
    """State that was saved by one version is found by the next: these may never change."""
    assert stable_hash("blue") == 14020618243984198397
    assert stable_hash(("blue", 7)) == 13492753407839513439
    assert stable_hash(7) == 5502495245947142431


@pytest.mark.parametrize("key", [{1}, frozenset({1}), bytearray(b"a"), object(), ("a", [{1}]), {"a": {1}}], ids=repr)
def test_what_cannot_be_a_key_is_refused_and_named(key: Any) -> None:
    with pytest.raises(TypeError, match="a key must be made of") as caught:
        stable_hash(key)
    assert repr(key) in str(caught.value)


def test_dates_and_datetimes_are_keys() -> None:
    assert stable_hash(date(2026, 1, 1)) != stable_hash(date(2026, 1, 2))
