"""What is saved of a task, by what kind of state it has."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol

import msgspec

from penstock.checkpoint import keyed_state
from penstock.checkpoint.delta_policy import DeltaPolicy
from penstock.checkpoint.kept_types import changed_type, refusal
from penstock.topology.bolts import BaseBolt, KeyedBolt, StatefulBolt
from penstock.topology.collecting import CollectingBolt
from penstock.transport.canonical_key import canonical_keys
from penstock.transport.values import decode_rows, decode_value, encode_rows, encode_value

__all__ = ["KeyedState", "Piece", "SavedSoFar", "StateSaver", "WholeState", "note_keys", "saver_for"]


class Piece(NamedTuple):
    """A part of a task's state."""

    payload: bytes
    is_full: bool
    """Whether it is all of the state, and not what has changed since the piece before."""


class SavedSoFar(msgspec.Struct, frozen=True, kw_only=True):
    """How far the saving of a task has come, as it travels to another worker."""

    written: tuple[int | None, int, int]
    """See `DeltaPolicy.written`."""
    touched: bytes = b""
    """The keys whose state has changed since, encoded."""
    rows: int = 0
    """How many rows are saved."""


class StateSaver(Protocol):
    """Takes a task's state apart and puts it together again."""

    def piece(self) -> Piece | None:
        """What has to be saved now; None if nothing has."""

    def start_anew(self) -> None:
        """The last piece is not in the checkpoint: the next one has to be all of the state."""

    def hand_over(self) -> SavedSoFar | None:
        """What another process has to know to go on saving; None if it has to save all of the state."""

    def go_on_from(self, saved: SavedSoFar) -> None:
        """Goes on saving, with the state of another process."""

    def restore(self, old: Sequence[Sequence[bytes]], share: tuple[int, int] | None) -> None:
        """Takes up what was saved; nothing is the state of the beginning.

        Args:
            old: the parts of each of the tasks that the state comes from.
            share: which share of it is this task's own, index and count, if there were more tasks then, or fewer.
        """


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

    def hand_over(self) -> None:
        """See StateSaver."""

    def go_on_from(self, saved: SavedSoFar) -> None:
        """See StateSaver."""

    def restore(self, old: Sequence[Sequence[bytes]], share: tuple[int, int] | None) -> None:
        """See StateSaver."""


class WholeState:
    """Of a StatefulBolt: all of it, each time."""

    def __init__(self, logic: StatefulBolt) -> None:
        self._logic = logic

    def piece(self) -> Piece:
        """See StateSaver."""
        state = self._logic.snapshot()
        payload = encode_value(state)
        kind = changed_type(state)
        if kind is not None:
            message = f"snapshot(): {refusal(kind)} there, and make what you need of it in restore()"
            raise TypeError(message)
        return Piece(payload, is_full=True)

    def start_anew(self) -> None:
        """See StateSaver."""

    def hand_over(self) -> None:
        """See StateSaver."""

    def go_on_from(self, saved: SavedSoFar) -> None:
        """See StateSaver."""

    def restore(self, old: Sequence[Sequence[bytes]], share: tuple[int, int] | None) -> None:
        """See StateSaver."""
        assert share is None, "another number of tasks is refused before the start"
        for parts in old:
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
        """These keys may have changed."""
        note_keys(self._touched, keys)

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

    def hand_over(self) -> SavedSoFar:
        """See StateSaver."""
        return SavedSoFar(written=self._policy.written, touched=encode_value([*self._touched]))

    def go_on_from(self, saved: SavedSoFar) -> None:
        """See StateSaver."""
        self._policy.go_on_from(saved.written)
        self._touched = set(canonical_keys(decode_value(saved.touched)))

    def restore(self, old: Sequence[Sequence[bytes]], share: tuple[int, int] | None) -> None:
        """See StateSaver."""
        if share is not None:
            index, count = share
            self._logic.state.update(keyed_state.share_of(old, index=index, count=count))
        else:
            for parts in old:
                self._logic.state.update(keyed_state.load(parts))


class CollectedRows:
    """Of a sink whose rows the driver fetches: the rows that are new, and now and then all of them, in their order."""

    def __init__(self, logic: CollectingBolt) -> None:
        self._logic = logic
        self._policy = DeltaPolicy()
        self._saved = 0

    def piece(self) -> Piece | None:
        """See StateSaver."""
        rows, saved = self._logic.rows, self._saved
        if len(rows) == saved:
            return None
        self._saved = len(rows)
        if self._policy.wants_full(touched=len(rows) - saved, keys=len(rows)):
            payload = encode_rows(rows)
            self._policy.wrote_full(len(payload))
            return Piece(payload, is_full=True)
        payload = encode_rows(rows[saved:])
        self._policy.wrote_delta(len(payload))
        return Piece(payload, is_full=False)

    def start_anew(self) -> None:
        """See StateSaver."""
        self._policy.start_anew()
        self._saved = 0

    def hand_over(self) -> SavedSoFar:
        """See StateSaver."""
        return SavedSoFar(written=self._policy.written, rows=self._saved)

    def go_on_from(self, saved: SavedSoFar) -> None:
        """See StateSaver."""
        self._policy.go_on_from(saved.written)
        self._saved = saved.rows

    def restore(self, old: Sequence[Sequence[bytes]], share: tuple[int, int] | None) -> None:
        """See StateSaver."""
        # Each of the old tasks has one heir, always the same: the driver counts the rows of an heir from its first.
        index, count = share or (0, 1)
        for parts in old[index::count]:
            for part in parts:
                self._logic.take_back([tuple(row) for row in decode_rows(part)])


def note_keys(touched: set[Any], keys: Sequence[Any]) -> None:
    """Adds keys. One that cannot be hashed can have no state."""
    try:
        touched.update(keys)
    except TypeError:
        touched.update(key for key in keys if _is_hashable(key))


def _is_hashable(key: Any) -> bool:
    try:
        hash(key)
    except TypeError:
        return False
    return True
