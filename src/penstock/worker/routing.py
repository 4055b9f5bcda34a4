"""Groupings, compiled: from a subscription and its lanes to functions that put tuples into the right ones.

Everything that can be decided once is decided here, so that what runs per tuple is a lookup and an append. A call per
tuple would cost more than all of that together: so each grouping also has a loop of its own, `put_all`, which takes
whatever a task emits in a turn.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Sequence
from operator import itemgetter
from typing import Any, NamedTuple, Protocol

from penstock._native import all_tuples
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

__all__ = ["Outlet", "Routing", "Values", "choose", "compile_grouping", "fan_out", "one_by_one", "straight"]

Values = tuple[Any, ...]
Put = Callable[[Values], object]


class Outlet(Protocol):
    """Who emits: it counts, and it knows what to do with an output that is not a plain tuple."""

    emitted: int

    def emit_other(self, output: Any) -> None:
        """Emits an Emit, or a Tuple passed on; refuses anything else."""


class Routing(NamedTuple):
    """How tuples get into lanes."""

    put: Put
    """Puts one tuple where it belongs."""
    put_all: Callable[[Iterable[Any], Outlet], None]
    """Puts all of them, and hands what is no plain tuple to the outlet. Counts also when the iterable raises."""


MOST_CACHED_KEYS = 1 << 16
"""Keys whose lane is remembered; beyond that the memory starts anew, so that endless keys do not fill it."""


def compile_grouping(grouping: Grouping, lanes: Sequence[Lane], fields: Sequence[str], choices: TwoChoices) -> Routing:
    """Routes tuples with these fields over `lanes`, which are in the order of the target tasks.

    But for a broadcast's, of which one may lead to several tasks. `choices` are for partial keys. What is shuffled has
    an order of its own: see worker/in_turn.
    """
    match grouping:
        case By(fields=key_fields):
            return _by_key(lanes, [list(fields).index(field) for field in key_fields])
        case Gather(fields=key_fields):
            return _by_checked_key(lanes, [list(fields).index(field) for field in key_fields])
        case PartialKey(fields=key_fields):
            return _by_two_choices(lanes, [list(fields).index(field) for field in key_fields], choices)
        case Broadcast():
            return _to_all(lanes)
        case ToOne():
            return straight(lanes[0])
        case Custom(route=route):
            return _by_function(lanes, route)
        case Direct():
            return one_by_one(_refuse_undirected)
    message = f"no routing for grouping {grouping!r}"
    raise AssertionError(message)


def fan_out(routings: Sequence[Routing]) -> Routing:
    """Every tuple to each of them."""
    if len(routings) == 1:
        return routings[0]
    if not routings:
        return one_by_one(deque[Values](maxlen=0).append)  # nobody listens: the cheapest way to do nothing
    puts = [routing.put for routing in routings]

    def put(values: Values) -> None:
        for one in puts:
            one(values)

    return one_by_one(put)


def choose(key: object, count: int) -> int:
    """The index of the task that a key belongs to."""
    return stable_hash(key) % count


def one_by_one(put: Put) -> Routing:
    """A routing that calls `put` for each tuple."""

    def put_all(outputs: Iterable[Any], outlet: Outlet) -> None:
        count = 0
        try:
            for values in outputs:
                if values.__class__ is tuple:
                    put(values)
                    count += 1
                else:
                    outlet.emit_other(values)
        finally:
            outlet.emitted += count

    return Routing(put, put_all)


def straight(lane: Lane) -> Routing:
    """A routing that has one way only."""
    put, put_each = one_by_one(lane.append)

    def put_all(outputs: Iterable[Any], outlet: Outlet) -> None:
        if outputs.__class__ is list and all_tuples(outputs):
            lane.tuples.extend(outputs)
            outlet.emitted += len(outputs)
        else:
            put_each(outputs, outlet)

    return Routing(put, put_all)


def _to_all(lanes: Sequence[Lane]) -> Routing:
    if len(lanes) == 1:
        return straight(lanes[0])
    put, put_each = fan_out([straight(lane) for lane in lanes])

    def put_all(outputs: Iterable[Any], outlet: Outlet) -> None:
        if outputs.__class__ is list and all_tuples(outputs):
            for lane in lanes:
                lane.tuples.extend(outputs)
            outlet.emitted += len(outputs)
        else:
            put_each(outputs, outlet)

    return Routing(put, put_all)


class _RememberedKeys(dict[Any, Callable[[Any], None]]):
    """From a key to its lane's append; a key that is not remembered is hashed.

    What can be looked up at all is looked up as it is. Only what is not found then is made canonical.
    """

    def __init__(self, appends: Sequence[Callable[[Any], None]]) -> None:
        super().__init__()
        self._appends = appends

    def __missing__(self, key: object) -> Callable[[Any], None]:
        key = canonical_key(key)
        append = self.get(key)
        if append is None:
            if len(self) >= MOST_CACHED_KEYS:
                self.clear()
            append = self[key] = self._appends[choose(key, len(self._appends))]
        return append

    def of_unhashable(self, key: object) -> Callable[[Any], None]:
        """The same of a key that no dict takes as it is, such as a list. TypeError if it can be no key at all."""
        key = canonical_key(key)
        try:
            return self[key]
        except TypeError:
            stable_hash(key)  # which says what is wrong with it
            raise


def _by_key(lanes: Sequence[Lane], positions: Sequence[int]) -> Routing:
    if len(lanes) == 1:
        return straight(lanes[0])
    append_for = _RememberedKeys([lane.append for lane in lanes])
    if len(positions) > 1:
        return one_by_one(_putting(append_for, positions))
    position = positions[0]

    # Nearly one_by_one, with the call per tuple taken out: this is the loop that word counts run through.
    def put_all(outputs: Iterable[Any], outlet: Outlet) -> None:
        count = 0
        try:
            for values in outputs:
                if values.__class__ is tuple:
                    try:
                        append = append_for[values[position]]
                    except TypeError:
                        append = append_for.of_unhashable(values[position])
                    append(values)
                    count += 1
                else:
                    outlet.emit_other(values)
        finally:
            outlet.emitted += count

    return Routing(_putting(append_for, positions), put_all)


def _putting(append_for: _RememberedKeys, positions: Sequence[int]) -> Put:
    key_of = itemgetter(*positions)

    def put(values: Values) -> None:
        key = key_of(values)
        try:
            append = append_for[key]
        except TypeError:
            append = append_for.of_unhashable(key)
        append(values)

    return put


def _by_checked_key(lanes: Sequence[Lane], positions: Sequence[int]) -> Routing:
    """As by key, but it refuses one that nothing can be gathered by, also if there is only one task to send it to."""
    return one_by_one(_putting(_RememberedKeys([lane.append for lane in lanes]), positions))


def _by_two_choices(lanes: Sequence[Lane], positions: Sequence[int], choices: TwoChoices) -> Routing:
    """Each key has two tasks; a tuple goes to the one that we have sent less to."""
    appends = [lane.append for lane in lanes]
    key_of, choose_one = itemgetter(*positions), choices.choose

    def put(values: Values) -> None:
        appends[choose_one(key_of(values))](values)

    # As in _by_key: one call less per tuple.
    def put_all(outputs: Iterable[Any], outlet: Outlet) -> None:
        count = 0
        try:
            for values in outputs:
                if values.__class__ is tuple:
                    appends[choose_one(key_of(values))](values)
                    count += 1
                else:
                    outlet.emit_other(values)
        finally:
            outlet.emitted += count

    return Routing(put, put_all)


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

    return one_by_one(put)


def _refuse_undirected(values: Values) -> None:
    message = f"a direct() subscriber needs Emit(values, task=index); got plain values {values!r}"
    raise ValueError(message)
