"""The one rule for what a component hands over."""

from __future__ import annotations

from typing import Any, NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.topology.emit import Emit, outputs
from penstock.topology.tuples import tuple_class

single = st.tuples(st.integers()) | st.builds(Emit, st.tuples(st.integers()), stream=st.just("errors"))


class Pair(NamedTuple):
    left: int
    right: int


@given(single)
def test_one_output_is_one(one: Any) -> None:
    assert list(outputs(one)) == [one]


@given(st.lists(st.none() | single))
def test_many_are_many_and_none_is_nothing(many: list[Any]) -> None:
    wanted = [one for one in many if one is not None]
    assert list(outputs(many)) == wanted
    assert list(outputs(iter(many))) == wanted
    assert list(outputs(one for one in many)) == wanted


def test_nothing_is_nothing() -> None:
    assert list(outputs(None)) == []


def test_what_came_in_can_be_passed_on() -> None:
    tup = tuple_class("split", "default", ("word", "count"))("a", 1)
    assert list(outputs(tup)) == [tup]
    assert list(outputs([tup])) == [tup]


def test_a_named_tuple_is_a_tuple() -> None:
    assert list(outputs(Pair(1, 2))) == [(1, 2)]


@pytest.mark.parametrize("wrong", ["word", b"word", 5, {"word": 1}, object])
def test_what_is_no_output_is_refused(wrong: Any) -> None:
    with pytest.raises(TypeError, match=rf"wanted a tuple, an Emit, None, .*, got the {type(wrong).__name__} "):
        list(outputs(wrong))
    with pytest.raises(TypeError, match=rf"wanted a tuple, an Emit, None, .*, got the {type(wrong).__name__} "):
        list(outputs([wrong]))


def test_the_comma_that_was_forgotten_is_named() -> None:
    with pytest.raises(TypeError, match=r"got the str 'blue': write \('blue',\)"):
        list(outputs("blue"))


def test_an_emit_shows_what_was_said() -> None:
    assert repr(Emit((1,))) == "Emit((1,))"
    assert repr(Emit((1,), "errors", task=0, id=7)) == "Emit((1,), stream='errors', task=0, id=7)"
