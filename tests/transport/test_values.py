"""Values keep their types on the way to another process, and what cannot is refused."""

import datetime as dt
import enum
import re
from collections import Counter, namedtuple
from dataclasses import dataclass
from decimal import Decimal
from importlib import resources
from typing import Any
from uuid import UUID
from zoneinfo import ZoneInfo

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.transport.values import (
    UNREADABLE,
    decode_rows,
    decode_value,
    encode_rows,
    encode_value,
    portable,
    portable_rows,
    unpack_extension,
    why_it_stays,
)

# Most integers that are drawn are small: those around the edges of 64 bits are what msgpack has no room for.
INTEGERS = (
    st.integers() | st.integers(-(2**65), 2**65) | st.sampled_from([2**63, 2**64 - 1, 2**64, -(2**63), -(2**63) - 1])
)
PLAIN = st.none() | st.booleans() | INTEGERS | st.floats(allow_nan=False) | st.text() | st.binary()
OFFSETS = st.integers(-23 * 60, 23 * 60).map(lambda minutes: dt.timezone(dt.timedelta(minutes=minutes)))
ZONES = st.timezone_keys().map(ZoneInfo)
ZONED = st.datetimes(timezones=ZONES) | st.times(timezones=ZONES)
HASHABLE = st.recursive(
    PLAIN
    | st.decimals(allow_nan=False)
    | st.uuids()
    | st.dates()
    | st.times()
    | st.datetimes()
    | st.datetimes(timezones=OFFSETS)
    | ZONED
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
    for arrived in (travelled(value), decode_value(encode_value(value))):
        assert arrived == value
        assert shape(arrived) == shape(value)


@given(st.dictionaries(INTEGERS, VALUES, max_size=4))
def test_integers_of_any_size_can_be_keys(table: dict[int, Any]) -> None:
    assert travelled(table) == table
    assert shape(travelled([table])) == shape([table])


@given(ZONED, st.sampled_from([0, 1]))
def test_a_zone_keeps_its_name_and_an_hour_that_comes_twice_stays_the_one_it_is(value: Any, fold: int) -> None:
    sent = value.replace(fold=fold)
    arrived = travelled(sent)
    assert type(arrived.tzinfo) is ZoneInfo
    assert (arrived.tzinfo.key, arrived.fold) == (sent.tzinfo.key, fold)
    assert arrived.replace(tzinfo=None) == sent.replace(tzinfo=None)
    assert arrived.utcoffset() == sent.utcoffset()


def test_the_hour_that_comes_twice() -> None:
    first = dt.datetime(2024, 10, 27, 2, 30, tzinfo=ZoneInfo("Europe/Berlin"))
    second = first.replace(fold=1)
    assert travelled(first).utcoffset() == dt.timedelta(hours=2)
    assert travelled(second).utcoffset() == dt.timedelta(hours=1)


def test_a_zone_without_a_name_is_refused() -> None:
    with resources.files("tzdata").joinpath("zoneinfo/Europe/Berlin").open("rb") as file:
        nameless = ZoneInfo.from_file(file)
    for value in (dt.datetime(2024, 1, 1, tzinfo=nameless), dt.time(12, tzinfo=nameless)):
        with pytest.raises(TypeError, match="wanted a ZoneInfo with a key"):
            portable(value)


@pytest.mark.parametrize(
    "zone", ["Nowhere/Atlantis", "../../etc/passwd", "/etc/passwd", "Europe", "", "zone.tab", "a\0b"]
)
@pytest.mark.parametrize("code", [14, 15])
def test_a_zone_that_is_none_is_unreadable(zone: str, code: int) -> None:
    shown = "2024-01-01T12:00:00" if code == 14 else "12:00:00"
    with pytest.raises(UNREADABLE):
        unpack_extension(code, memoryview(msgspec.msgpack.encode([shown, zone, 0])))


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
        with pytest.raises(TypeError, match=f"got one of type .*{type(value).__name__}: send "):
            portable(inside)


@pytest.mark.parametrize(
    ("value", "remedy"),
    [
        (Own(), r"Own: send dataclasses\.asdict\(value\)"),
        (Message(), r"Message: send msgspec\.structs\.asdict\(value\)"),
        (enum.Enum("Plain", "ONE").ONE, r"Plain: send its \.value"),  # type: ignore[attr-defined]
        (np.int64(3), r"numpy\.int64: send value\.tolist\(\)"),
        (np.arange(3), r"numpy\.ndarray: send value\.tolist\(\)"),
        (iter([1]), r"list_iterator: send list\(value\)"),
        (object(), r"builtins\.object: send what it is made of"),
        ("\ud800", "text that is no Unicode"),
    ],
    ids=repr,
)
def test_a_refusal_says_in_a_line_what_would_do(value: Any, remedy: str) -> None:
    for inside in (value, [value], {"key": (value,)}):
        why = why_it_stays(inside)
        assert why is not None
        assert re.search(remedy, why)
        assert "\n" not in why


@given(VALUES)
def test_what_can_travel_is_held_back_by_nothing(value: Any) -> None:
    assert why_it_stays(value) is None


def test_what_contains_itself_is_refused() -> None:
    endless: list[Any] = []
    endless.append(endless)
    with pytest.raises(RecursionError):
        portable(endless)
    assert why_it_stays(endless) == "a list contains itself, or is nested too deeply"


def test_plain_rows_are_not_copied() -> None:
    rows = [("blue", 1, 2.5, None, True, b"x")]
    assert portable_rows(rows) is rows


def test_bytes_of_a_stranger_are_refused() -> None:
    with pytest.raises(ValueError, match="unknown msgpack extension 99"):
        decode_rows(msgspec.msgpack.encode([[msgspec.msgpack.Ext(99, b"")]]))


def test_a_key_of_any_type_stays_a_key() -> None:
    table = {(1, 2): "pair", Decimal("1.5"): "decimal", UUID(int=7): "uuid", dt.date(2024, 1, 1): "date"}
    assert travelled(table) == table
