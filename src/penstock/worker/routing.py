"""Groupings, compiled: from a subscription and its lanes to what puts tuples into the right ones.

Everything that can be decided once is decided here, so that what runs per tuple is a lookup and an append, in C++. What
takes more than that is a function in Python, called for each tuple.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from operator import itemgetter
from typing import Any

from penstock._native import ByFunction, ByKey, FanOut, Routing, ToEach
from penstock.flow.two_choices import TwoChoices
from penstock.topology.function_name import name_of
from penstock.topology.groupings import (
    Broadcast,
    By,
    Custom,
    CustomRoute,
    Direct,
    Gather,
    Grouping,
    PartialKey,
    ToOne,
)
from penstock.transport.canonical_key import canonical_key
from penstock.transport.stable_hash import stable_hash
from penstock.worker.lanes import Lane

__all__ = ["Values", "choose", "compile_grouping", "fan_out", "straight"]

Values = tuple[Any, ...]


MOST_CACHED_KEYS = 1 << 16
"""Keys whose lane is remembered; beyond that the memory starts anew, so that endless keys do not fill it."""


def compile_grouping(grouping: Grouping, lanes: Sequence[Lane], fields: Sequence[str], choices: TwoChoices) -> Routing:
    """Routes tuples with these fields over `lanes`, which are in the order of the target tasks.

    But for a broadcast's, of which one may lead to several tasks. `choices` are for partial keys. What is shuffled has
    an order of its own: see worker/in_turn.
    """
    match grouping:
        case By(fields=key_fields):
            return straight(lanes[0]) if len(lanes) == 1 else _by_key(lanes, _positions(key_fields, fields))
        case Gather(
            fields=key_fields
        ):  # one that nothing can be gathered by is refused, also if there is one task only
            return _by_key(lanes, _positions(key_fields, fields))
        case PartialKey(fields=key_fields):
            return _by_two_choices(lanes, _positions(key_fields, fields), choices)
        case Broadcast():
            return _to_each(lanes)
        case ToOne():
            return straight(lanes[0])
        case Custom(route=route):
            return _by_function(lanes, route)
        case Direct():
            return ByFunction(_refuse_undirected)
    message = f"no routing for grouping {grouping!r}"
    raise AssertionError(message)


def fan_out(routings: Sequence[Routing]) -> Routing:
    """Every tuple to each of them."""
    return routings[0] if len(routings) == 1 else FanOut(routings)


def straight(lane: Lane) -> Routing:
    """A routing that has one way only."""
    return _to_each([lane])


def choose(key: object, count: int) -> int:
    """The index of the task that a key belongs to."""
    return stable_hash(key) % count


def _positions(key_fields: Iterable[str], fields: Sequence[str]) -> list[int]:
    return [list(fields).index(field) for field in key_fields]


def _to_each(lanes: Sequence[Lane]) -> Routing:
    return ToEach([lane.tuples for lane in lanes])


class _RememberedKeys(dict[Any, int]):
    """From a key to the index of its task.

    What can be looked up at all is looked up as it is. Only what is not found then is made canonical.
    """

    def __init__(self, tasks: int) -> None:
        super().__init__()
        self._tasks = tasks

    def index_of(self, key: object) -> int:
        """The index of a key that is not found as it is. TypeError if it can be no key at all."""
        key = canonical_key(key)
        try:
            index = self.get(key)
        except TypeError:
            stable_hash(key)  # which says what is wrong with it
            raise
        if index is None:
            if len(self) >= MOST_CACHED_KEYS:
                self.clear()
            index = self[key] = choose(key, self._tasks)
        return index


def _by_key(lanes: Sequence[Lane], positions: Sequence[int]) -> Routing:
    remembered = _RememberedKeys(len(lanes))
    return ByKey([lane.tuples for lane in lanes], positions, remembered, remembered.index_of)


def _by_two_choices(lanes: Sequence[Lane], positions: Sequence[int], choices: TwoChoices) -> Routing:
    """Each key has two tasks; a tuple goes to the one that we have sent less to."""
    appends = [lane.append for lane in lanes]
    key_of, choose_one = itemgetter(*positions), choices.choose

    def put(values: Values) -> None:
        appends[choose_one(key_of(values))](values)

    return ByFunction(put)


def _by_function(lanes: Sequence[Lane], route: CustomRoute) -> Routing:
    append_for = {index: lane.append for index, lane in enumerate(lanes)}

    def put(values: Values) -> None:
        chosen = route(values, len(append_for))
        indices = (chosen,) if isinstance(chosen, int) or not isinstance(chosen, Sequence) else chosen
        try:
            appends = [append_for[index] for index in indices]
        except (KeyError, TypeError):
            wanted = f"wanted indices of tasks, from 0 and below {len(append_for)}"
            message = f"custom({name_of(route)}): {wanted}, got {chosen!r}"
            raise ValueError(message) from None
        for append in appends:
            append(values)

    return ByFunction(put)


def _refuse_undirected(values: Values) -> None:
    message = f"a direct() subscriber needs Emit(values, task=index); got plain values {values!r}"
    raise ValueError(message)
