"""Keyed state: what is loaded is what was saved, by any chain of parts and over any number of tasks."""

from __future__ import annotations

import datetime as dt
from collections import Counter, OrderedDict, defaultdict
from enum import IntEnum
from typing import Any, NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.checkpoint.keyed_state import delta, full, load, share_of
from penstock.errors import CheckpointError
from penstock.transport.stable_hash import stable_hash
from tests.checkpoint.strategies import keys, states, values

# From key to what it becomes; gone if there is nothing.
changes = st.dictionaries(keys, st.none() | values.map(lambda value: (value,)), max_size=6)


def _with_types(value: Any) -> Any:
    """A value that is equal only to one of the same types: 1 is not True."""
    if isinstance(value, dict):
        return dict, {key: _with_types(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return type(value), [_with_types(item) for item in value]
    return type(value), value


def _apply(state: dict[Any, Any], change: dict[Any, Any]) -> None:
    for key, item in change.items():
        if item is None:
            state.pop(key, None)
        else:
            state[key] = item[0]


def _chain(state: dict[Any, Any], steps: list[dict[Any, Any]]) -> list[bytes]:
    """The parts of a task whose state goes through these changes. Ends with `state` as it is after all of them."""
    parts = [full(state)]
    for change in steps:
        _apply(state, change)
        parts.append(delta(state, change))
    return parts


@given(states)
def test_a_full_one_alone_is_the_state_with_all_types(state: dict[Any, Any]) -> None:
    assert _with_types(load([full(state)])) == _with_types(state)


@given(states, st.lists(changes, max_size=5))
def test_a_chain_is_the_state_after_all_changes(state: dict[Any, Any], steps: list[dict[Any, Any]]) -> None:
    parts = _chain(state, steps)
    assert load(parts) == state


@given(states, changes)
def test_a_delta_has_only_what_was_touched(state: dict[Any, Any], change: dict[Any, Any]) -> None:
    untouched = {key: value for key, value in state.items() if key not in change}
    _apply(state, change)
    part = delta(state, change)
    assert part == delta({**state, **dict.fromkeys(untouched, "something else")}, change)


@given(states, st.lists(changes, max_size=3), st.integers(1, 5), st.integers(1, 5))
def test_shares_are_the_whole_state_each_key_where_its_tuples_go(
    state: dict[Any, Any], steps: list[dict[Any, Any]], before: int, now: int
) -> None:
    old = []
    for index in range(before):
        own = {key: value for key, value in state.items() if stable_hash(key) % before == index}
        own_steps = [{key: to for key, to in step.items() if stable_hash(key) % before == index} for step in steps]
        old.append(_chain(own, own_steps))
    for step in steps:
        _apply(state, step)

    shares = [share_of(old, index=index, count=now) for index in range(now)]

    for index, share in enumerate(shares):
        assert share == {key: value for key, value in state.items() if stable_hash(key) % now == index}
    assert sum(map(len, shares)) == len(state)


def test_no_parts_are_an_empty_state() -> None:
    assert load([]) == {}
    assert share_of([[], []], index=0, count=1) == {}


def test_one_equal_key_of_another_type_is_the_same_key() -> None:
    state: dict[Any, Any] = {1: "a"}
    parts = [full(state)]
    state[True] = "b"
    parts.append(delta(state, [1.0]))
    assert load(parts) == {1: "b"}


@pytest.mark.parametrize(
    ("parts", "complaint"),
    [
        ([delta({}, [])], "wanted a full as part 0 of 1, got a delta"),
        ([full({}), full({})], "wanted a delta as part 1 of 2, got a full"),
        ([b""], "wanted a full or a delta, got 0 bytes that are neither"),
        ([full({"a": 1})[:-1]], "got 11 bytes that are neither"),
        ([b"\xc0"], "got 1 bytes that are neither"),
        ([b"\x93\xa4full\x01\x90"], "bytes that are neither"),
        ([b"\x93\xa4full\x91\x91\x01\x90"], "bytes that are neither"),
        ([b"\x93\xa4full\x91\x92\xd4\x02\x90\x01\x90"], "bytes that are neither"),  # a set for a key
    ],
)
def test_what_is_no_chain_of_parts_is_refused(parts: list[bytes], complaint: str) -> None:
    with pytest.raises(CheckpointError, match=complaint):
        load(parts)


@given(st.binary(max_size=40))
def test_any_bytes_are_a_state_or_refused(payload: bytes) -> None:
    try:
        assert isinstance(load([payload]), dict)
    except CheckpointError as error:
        assert "keyed state" in str(error)  # noqa: PT017


def test_a_key_in_two_old_tasks_is_refused() -> None:
    with pytest.raises(CheckpointError, match="wanted each key in one of the old tasks, got 'blue' in two"):
        share_of([[full({"blue": 1})], [full({"blue": 2})]], index=0, count=1)


@pytest.mark.parametrize("encode", [full, lambda state: delta(state, state)])
def test_what_cannot_be_kept_is_named_by_its_key(encode: Any) -> None:
    with pytest.raises(TypeError, match=r"key 'red': wanted values made of .*; got one of type builtins\.object"):
        encode({"blue": 1, "red": [object()]})
    with pytest.raises(TypeError, match=r"key <object object at .*got one of type builtins\.object"):
        encode({object(): 1})


class _Color(IntEnum):
    RED = 1


class _Point(NamedTuple):
    x: int


class _Day(dt.date):
    pass


@pytest.mark.parametrize("encode", [full, lambda state: delta(state, state)])
@pytest.mark.parametrize("around", [lambda value: value, lambda value: [1, {"in": (value,)}]])
@pytest.mark.parametrize(
    ("value", "base"),
    [
        (Counter("ab"), "dict"),
        (defaultdict(int), "dict"),
        (OrderedDict(), "dict"),
        (_Point(1), "tuple"),
        (_Color.RED, "int"),
        (_Day(2024, 2, 29), "date"),
        ({_Color.RED: 1}, "int"),
    ],
)
def test_what_would_come_back_as_another_type_is_refused_by_its_key(
    encode: Any, around: Any, value: Any, base: str
) -> None:
    with pytest.raises(TypeError, match=f"key 'red': .* which would come back as {base}: keep a plain {base}"):
        encode({"blue": 1, "red": around(value)})


def test_a_key_that_came_with_a_tuple_may_come_back_as_its_equal() -> None:
    state = load([full({_Color.RED: "a", _Point(2): "b"})])
    assert (state[_Color.RED], state[_Point(2)]) == ("a", "b")
