"""Keys that Spark holds for one are one: to dicts, to routing, and behind a journey."""

from __future__ import annotations

import copy
import datetime as dt
import pickle
from collections.abc import Callable
from decimal import Decimal
from numbers import Number
from typing import Any, NamedTuple
from zoneinfo import ZoneInfo

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.transport.canonical_key import NAN, FrozenDict, canonical_key, canonical_keys
from penstock.transport.stable_hash import stable_hash
from penstock.transport.values import decode_value, encode_value


def fresh_nan() -> float:
    """Another object each time."""
    return float("nan")


class Point(NamedTuple):
    x: Any
    y: Any


# Few different values, so that two keys are often one.
scalars = (
    st.sampled_from([0, 1, True, 0.0, -0.0, 1.0, 0.5, None, "", "a", b"a", Decimal("0.5"), Decimal("-0")])
    | st.builds(fresh_nan)
    | st.builds(lambda: Decimal("NaN"))
    | st.builds(lambda: complex(fresh_nan(), 1))
)
keys = st.recursive(
    scalars,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.lists(inner, max_size=3).map(tuple)
        | st.dictionaries(st.sampled_from("ab"), inner, max_size=2)
    ),
    max_leaves=5,
)


def is_one(one: Any, other: Any) -> bool:
    """Spark's rule, spelled out."""
    if isinstance(one, Number) and isinstance(other, Number):
        return bool(one == other or (one != one and other != other))
    if isinstance(one, list | tuple) and isinstance(other, list | tuple):
        return len(one) == len(other) and all(map(is_one, one, other))
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(is_one(one[name], other[name]) for name in one)
    return bool(one == other)


@given(keys, keys)
def test_two_keys_are_found_as_one_if_and_only_if_spark_holds_them_for_one(one: Any, other: Any) -> None:
    first, second = canonical_key(one), canonical_key(other)

    assert ({first: True}.get(second) is not None) == is_one(one, other)
    assert (first == second or first is second) == is_one(one, other)
    if is_one(one, other):
        assert stable_hash(one) == stable_hash(other)


@given(keys)
def test_a_canonical_key_stays_what_it_is_and_is_found_again_behind_a_journey(key: Any) -> None:
    made = canonical_key(key)

    assert stable_hash(made) == stable_hash(key)
    for again in (
        canonical_key(made),
        canonical_key(copy.deepcopy(key)),
        canonical_key(decode_value(encode_value(made))),
        canonical_key(pickle.loads(pickle.dumps(made))),
    ):
        assert {made: True}.get(again)
        assert repr(again) == repr(made)


@given(st.lists(keys | st.text() | st.integers(), max_size=5))
def test_many_keys_are_made_canonical_as_one_is(several: list[Any]) -> None:
    assert list(map(repr, canonical_keys(several))) == [repr(canonical_key(key)) for key in several]


@pytest.mark.parametrize(
    "nan",
    [float("nan"), -float("nan"), np.float64("nan"), np.float32("nan"), Decimal("NaN"), Decimal("sNaN")],
    ids=repr,
)
def test_every_nan_is_the_same_key(nan: Any) -> None:
    assert canonical_key(nan) is NAN
    assert canonical_key(("a", [nan])) == ("a", (NAN,))
    assert stable_hash(nan) == stable_hash(NAN)


@pytest.mark.parametrize("zero", [-0.0, np.float64(-0.0)], ids=repr)
def test_negative_zero_is_zero(zero: Any) -> None:
    assert repr(canonical_key(zero)) == "0.0"
    assert repr(canonical_key((1, zero))) == "(1, 0.0)"


@pytest.mark.parametrize("key", ["a", 7, b"", None, 0.5, ("a", 1), Point("a", 2.5), Decimal("0.10"), {1}, object()])
def test_what_needs_no_change_stays_the_same_object(key: Any) -> None:
    assert canonical_key(key) is key


def test_what_contains_itself_is_left_alone() -> None:
    endless: list[Any] = []
    endless.append(endless)
    canonical_key(endless)
    with pytest.raises(TypeError, match="a key must be made of"):
        stable_hash(endless)


def test_a_frozen_dict_is_a_dict_that_cannot_be_changed() -> None:
    frozen = FrozenDict({"a": 1})
    assert frozen == {"a": 1}
    changes: list[Callable[[], Any]] = [
        lambda: frozen.update(b=2),
        lambda: frozen.setdefault("b", 2),
        lambda: frozen.pop("a"),
        lambda: frozen.__setitem__("b", 2),
        frozen.popitem,
        frozen.clear,
    ]
    for change in changes:
        with pytest.raises(TypeError, match=r"a FrozenDict cannot be changed, .*: change a copy"):
            change()
    assert frozen == {"a": 1}
    assert {**frozen, "b": 2} == {"a": 1, "b": 2}


BERLIN = ZoneInfo("Europe/Berlin")
# An hour in which clocks are put back shows the same twice, and one in which they are put forward does not come at all.
HOURS = [dt.datetime(2024, 10, 27, 2, 30), dt.datetime(2024, 3, 31, 2, 30), dt.datetime(2024, 6, 1, 2, 30)]  # noqa: DTZ001


@pytest.mark.parametrize("hour", HOURS, ids=str)
@pytest.mark.parametrize("around", [lambda key: key, lambda key: [1, key], lambda key: {"at": (key,)}])
def test_points_in_time_are_one_key_if_they_are_the_same_point(hour: dt.datetime, around: Callable[[Any], Any]) -> None:
    moments = [hour.replace(tzinfo=BERLIN, fold=fold) for fold in (0, 1)]
    moments += [moment.astimezone(dt.UTC) for moment in moments]
    for one in moments:
        for other in moments:
            is_one_key = canonical_key(around(one)) == canonical_key(around(other))
            assert is_one_key == (one.timestamp() == other.timestamp())
            if is_one_key:
                assert hash(canonical_key(around(one))) == hash(canonical_key(around(other)))


def test_a_time_that_comes_once_keeps_its_zone() -> None:
    usual = HOURS[-1].replace(tzinfo=BERLIN)
    assert canonical_key(usual) is usual
    assert canonical_key(HOURS[0]) is HOURS[0], "without a zone there is nothing to tell"
