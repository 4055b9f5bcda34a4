"""Tuples: by name, by position, over the wire, and as values."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.topology.tuples import RESERVED_FIELDS, Tuple, tuple_class

Word = tuple_class("split", "default", ("word", "count"))

field_names = st.lists(
    st.from_regex(r"[a-z][a-z0-9_]{0,8}", fullmatch=True).filter(lambda name: name not in RESERVED_FIELDS),
    min_size=1,
    max_size=8,
    unique=True,
)
plain_values = st.none() | st.booleans() | st.integers(-(2**63), 2**64 - 1) | st.text() | st.binary()


@given(field_names, st.data())
def test_every_way_to_a_value_gives_the_same(fields: list[str], data: st.DataObject) -> None:
    values = tuple(data.draw(plain_values) for _ in fields)
    tup = tuple_class("source", "default", tuple(fields))(*values)
    assert tuple(getattr(tup, field) for field in fields) == values
    assert tuple(tup[field] for field in fields) == values
    assert tuple(tup[position] for position in range(len(fields))) == values
    assert tuple(tup[position - len(fields)] for position in range(len(fields))) == values
    assert tuple(tup) == values
    assert len(tup) == len(values)


@given(field_names, st.data())
def test_the_wire_gives_back_what_was_sent(fields: list[str], data: st.DataObject) -> None:
    cls = tuple_class("source", "default", tuple(fields))
    values = tuple(data.draw(plain_values) for _ in fields)
    sent = msgspec.msgpack.encode([values, cls(*values)])
    assert msgspec.msgpack.decode(sent, type=list[cls]) == [cls(*values)] * 2  # type: ignore[valid-type]


def test_a_tuple_knows_where_it_comes_from() -> None:
    tup = tuple_class("parse", "errors", ("line", "why"))("x", "y")
    assert (tup.source, tup.stream, tup.fields) == ("parse", "errors", ("line", "why"))
    assert isinstance(tup, Tuple)


def test_the_class_of_a_stream_is_made_once() -> None:
    assert tuple_class("split", "default", ("word", "count")) is Word
    assert tuple_class("other", "default", ("word", "count")) is not Word


def test_tuples_are_values() -> None:
    assert Word("a", 1) == Word("a", 1)
    assert Word("a", 1) != Word("a", 2)
    assert Word("a", 1) != tuple_class("other", "default", ("word", "count"))("a", 1)
    assert len({Word("a", 1), Word("a", 1)}) == 1
    with pytest.raises(AttributeError):
        Word("a", 1).word = "b"  # type: ignore[attr-defined]


@pytest.mark.parametrize("duplicate", [copy.copy, copy.deepcopy, lambda tup: pickle.loads(pickle.dumps(tup))])
def test_a_copy_is_equal(duplicate: Any) -> None:
    tup = Word("a", [1, 2])
    assert duplicate(tup) == tup
    assert type(duplicate(tup)) is Word


def test_a_tuple_shows_its_fields_and_source() -> None:
    assert repr(Word("a", 1)) == "Tuple('split', word='a', count=1)"
    assert repr(tuple_class("parse", "errors", ("why",))("x")) == "Tuple('parse.errors', why='x')"


def test_a_field_that_is_not_there_is_named() -> None:
    with pytest.raises(KeyError, match=r"a tuple of 'split': wanted one of its fields \('word', 'count'\), got 'wrod'"):
        Word("a", 1)["wrod"]
    with pytest.raises(IndexError, match="a tuple of 'split': wanted a position below 2, got 2"):
        Word("a", 1)[2]
    with pytest.raises(TypeError, match="wanted the name or the position of a field, got slice"):
        Word("a", 1)[0:1]  # type: ignore[index]
    with pytest.raises(AttributeError, match="wrod"):
        Word("a", 1).wrod  # noqa: B018


@pytest.mark.parametrize("values", [(), ("a",), ("a", 1, 2)])
def test_as_many_values_as_fields_are_wanted(values: tuple[Any, ...]) -> None:
    with pytest.raises(TypeError):
        Word(*values)


def test_what_every_tuple_has_is_reserved() -> None:
    assert {"source", "stream", "fields"} == RESERVED_FIELDS


def test_a_tuple_can_be_of_any_width() -> None:
    fields = tuple(f"f{number}" for number in range(300))
    tup = tuple_class("wide", "default", fields)(*range(300))
    assert tup.f299 == tup[299] == tup[-1] == 299
