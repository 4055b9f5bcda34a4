"""What is saved of a task, by what kind of state it has."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol

from penstock.checkpoint import keyed_state
from penstock.checkpoint.delta_policy import DeltaPolicy
from penstock.topology.bolts import BaseBolt, KeyedBolt, StatefulBolt
from penstock.topology.collecting import CollectingBolt
from penstock.transport.values import decode_rows, decode_value, encode_rows, encode_value

__all__ = ["KeyedState", "Piece", "StateSaver", "saver_for"]


class Piece(NamedTuple):
    """A part of a task's state."""

    payload: bytes
    is_full: bool
    """Whether it is all of the state, and not what has changed since the piece before."""


class StateSaver(Protocol):
    """Takes a task's state apart and puts it together again."""

    def piece(self) -> Piece | None:
        """What has to be saved now; None if nothing has."""

    def start_anew(self) -> None:
        """The last piece is not in the checkpoint: the next one has to be all of the state."""

    def restore(self, parts: Sequence[bytes]) -> None:
        """Takes up the state that these parts amount to; none is the state of the beginning."""


def saver_for(logic: Any) -> StateSaver:
    """The one for a spout or a bolt."""
    if isinstance(logic, KeyedBolt):
        return KeyedState(logic)
    if isinstance(logic, CollectingBolt):
        return CollectedRows(logic)
    if isinstance(logic, StatefulBolt):
        return WholeState(logic)
    return NoState()


class NoState:
    """Of a task that has none."""

    def piece(self) -> None:
        """See StateSaver."""

    def start_anew(self) -> None:
        """See StateSaver."""

    def restore(self, parts: Sequence[bytes]) -> None:
        """See StateSaver."""


class WholeState:
    """Of a StatefulBolt: all of it, each time."""

    def __init__(self, logic: StatefulBolt) -> None:
        self._logic = logic

    def piece(self) -> Piece:
        """See StateSaver."""
        return Piece(encode_value(self._logic.snapshot()), is_full=True)

    def start_anew(self) -> None:
        """See StateSaver."""

    def restore(self, parts: Sequence[bytes]) -> None:
        """See StateSaver."""
        if parts:
            self._logic.restore(decode_value(parts[-1]))


class KeyedState:
    """Of a KeyedBolt: the keys that were touched, and now and then all of them."""

    def __init__(self, logic: KeyedBolt) -> None:
        self._logic = logic
        self._policy = DeltaPolicy()
        self._touched: set[Any] = set()
        # Between tuples a bolt may change the state of any key.
        self._ticks = type(logic).tick is not BaseBolt.tick

    def touch(self, keys: Sequence[Any]) -> None:
        """These keys may have changed. One that cannot be hashed can have no state."""
        try:
            self._touched.update(keys)
        except TypeError:
            self._touched.update(key for key in keys if _is_hashable(key))

    def piece(self) -> Piece | None:
        """See StateSaver."""
        state, touched = self._logic.state, self._touched
        self._touched = set()
        if self._ticks or self._policy.wants_full(touched=len(touched), keys=len(state)):
            payload = keyed_state.full(state)
            self._policy.wrote_full(len(payload))
            return Piece(payload, is_full=True)
        if not touched:
            return None
        payload = keyed_state.delta(state, touched)
        self._policy.wrote_delta(len(payload))
        return Piece(payload, is_full=False)

    def start_anew(self) -> None:
        """See StateSaver."""
        self._policy.start_anew()

    def restore(self, parts: Sequence[bytes]) -> None:
        """See StateSaver."""
        self._logic.state.update(keyed_state.load(parts))


class CollectedRows:
    """Of a sink whose rows the driver fetches: the rows that came, in the order in which they came."""

    def __init__(self, logic: CollectingBolt) -> None:
        self._logic = logic
        self._saved = 0

    def piece(self) -> Piece | None:
        """See StateSaver."""
        rows = self._logic.rows
        fresh = rows[self._saved :]
        is_full = self._saved == 0
        if not fresh:
            return None
        self._saved = len(rows)
        return Piece(encode_rows(fresh), is_full=is_full)

    def start_anew(self) -> None:
        """See StateSaver."""
        self._saved = 0

    def restore(self, parts: Sequence[bytes]) -> None:
        """See StateSaver."""
        for part in parts:
            self._logic.take_back([tuple(row) for row in decode_rows(part)])


def _is_hashable(key: Any) -> bool:
    try:
        hash(key)
    except TypeError:
        return False
    return True
