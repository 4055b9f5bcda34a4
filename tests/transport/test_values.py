"""Values keep their types on the way to another process, and what cannot is refused."""

import datetime as dt
import enum
from collections import Counter, namedtuple
from dataclasses import dataclass
from decimal import Decimal
from typing import Any
from uuid import UUID

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.transport.values import decode_rows, encode_rows, portable, portable_rows

PLAIN = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text() | st.binary()
OFFSETS = st.integers(-23 * 60, 23 * 60).map(lambda minutes: dt.timezone(dt.timedelta(minutes=minutes)))
HASHABLE = st.recursive(
    PLAIN
    | st.decimals(allow_nan=False)
    | st.uuids()
    | st.dates()
    | st.times()
    | st.datetimes()
    | st.datetimes(timezones=OFFSETS)
    | st.timedeltas()
    | st.complex_numbers(allow_nan=False),
    lambda inner: st.lists(inner, max_size=4).map(tuple) | st.frozensets(inner, max_size=4),
    max_leaves=8,
)
VALUES = st.recursive(
    HASHABLE | st.binary().map(bytearray),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.lists(inner, max_size=4).map(tuple)
        | st.dictionaries(HASHABLE, inner, max_size=4)
        | st.sets(HASHABLE, max_size=4)
    ),
    max_leaves=8,
)


def travelled(value: Any) -> Any:
    [[arrived]] = decode_rows(encode_rows([(value,)]))
    return arrived


def shape(value: Any) -> Any:
    """The types of a value and of everything in it; those of what has no order, in some order."""
    if isinstance(value, tuple | list):
        return type(value), [shape(item) for item in value]
    if isinstance(value, set | frozenset):
        return type(value), sorted(repr(shape(item)) for item in value)
    if isinstance(value, dict):
        return type(value), [(shape(key), shape(item)) for key, item in value.items()]
    return type(value)


@given(VALUES)
def test_what_arrives_is_what_was_sent(value: Any) -> None:
    arrived = travelled(value)
    assert arrived == value
    assert shape(arrived) == shape(value)


def test_a_time_keeps_the_clock_of_its_zone() -> None:
    noon = dt.datetime(2024, 2, 29, 12, tzinfo=dt.timezone(dt.timedelta(hours=5, minutes=30)))
    assert travelled(noon).hour == 12
    assert travelled(noon).utcoffset() == noon.utcoffset()


class Colour(enum.StrEnum):
    BLUE = "blue"


Point = namedtuple("Point", "x y")


@pytest.mark.parametrize(
    ("sent", "wanted"),
    [
        (Point(1, 2), (1, 2)),
        (Counter("abba"), {"a": 2, "b": 2}),
        (Colour.BLUE, "blue"),
        (enum.IntEnum("Size", "SMALL").SMALL, 1),  # type: ignore[attr-defined]
    ],
    ids=repr,
)
def test_a_value_of_a_subclass_arrives_as_its_equal(sent: Any, wanted: Any) -> None:
    arrived = travelled(sent)
    assert arrived == sent == wanted
    assert type(arrived) is type(wanted)


@dataclass
class Own:
    size: int = 3


class Message(msgspec.Struct):
    size: int = 3


@pytest.mark.parametrize("value", [Own(), Message(), object(), enum.Enum("Plain", "ONE").ONE, iter(())], ids=repr)  # type: ignore[attr-defined]
def test_anything_else_is_refused_by_name_even_inside(value: Any) -> None:
    for inside in (value, [value], (1, {"key": (value,)})):
        with pytest.raises(TypeError, match=f"got one of type .*{type(value).__name__}"):
            portable(inside)


def test_what_contains_itself_is_refused() -> None:
    endless: list[Any] = []
    endless.append(endless)
    with pytest.raises(RecursionError):
        portable(endless)


def test_plain_rows_are_not_copied() -> None:
    rows = [("blue", 1, 2.5, None, True, b"x")]
    assert portable_rows(rows) is rows


def test_bytes_of_a_stranger_are_refused() -> None:
    with pytest.raises(ValueError, match="unknown msgpack extension 99"):
        decode_rows(msgspec.msgpack.encode([[msgspec.msgpack.Ext(99, b"")]]))


def test_a_key_of_any_type_stays_a_key() -> None:
    table = {(1, 2): "pair", Decimal("1.5"): "decimal", UUID(int=7): "uuid", dt.date(2024, 1, 1): "date"}
    assert travelled(table) == table
