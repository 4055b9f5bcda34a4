"""How the state of a task gets to another worker: most of it ahead, while the task works on, and the rest at the end.

So what a task stops for is what has changed since, and not all that it has.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from typing import Any, Protocol

from penstock.checkpoint import keyed_state
from penstock.topology.bolts import BaseBolt, KeyedBolt, StatefulBolt
from penstock.topology.collecting import CollectingBolt
from penstock.transport.stable_hash import stable_hash
from penstock.transport.values import decode_rows, decode_value, encode_rows
from penstock.worker.state_savers import WholeState, note_keys

__all__ = ["Share", "StateMover", "mover_for"]

KEYS_AT_ONCE = 500
"""How much is taken ahead between two turns: half a millisecond's work or so."""

Share = tuple[int, int]
"""Index and count: which share of the state goes, where it is shared out over another number of tasks."""


class StateMover(Protocol):
    """Takes a task's state apart, or puts it together again at its new place."""

    def ahead(self) -> Iterator[bytes]:
        """Pieces that can be sent while the task works on, from the first. TypeError if its state cannot travel."""

    def rest(self) -> Iterator[bytes]:
        """What has still to be sent, when the task works no more."""

    def begin(self) -> None:
        """At the new place: nothing has come yet, or everything comes again."""

    def take(self, piece: bytes) -> None:
        """At the new place: takes in a piece."""


def mover_for(logic: Any, share: Share | None = None) -> StateMover:
    """The one for a spout or a bolt."""
    if isinstance(logic, KeyedBolt):
        return KeyedMover(logic, share)
    if isinstance(logic, CollectingBolt):
        return RowsMover(logic)
    if isinstance(logic, StatefulBolt):
        return WholeMover(logic)
    return NothingMover()


class NothingMover:
    """Of a task without state."""

    def ahead(self) -> Iterator[bytes]:
        """See StateMover."""
        return iter(())

    def rest(self) -> Iterator[bytes]:
        """See StateMover."""
        return iter(())

    def begin(self) -> None:
        """See StateMover."""

    def take(self, piece: bytes) -> None:
        """See StateMover."""
        message = f"a task without state was handed {len(piece)} bytes of it"
        raise ValueError(message)


class KeyedMover:
    """Of a KeyedBolt: all keys ahead, and at the end those that were touched since."""

    def __init__(self, logic: KeyedBolt, share: Share | None = None) -> None:
        self._logic = logic
        self._owns = _owner(share)
        self._touched: set[Any] = set()
        self._listed: set[Any] = set()
        """The keys that were there when they were sent ahead, if any of them may be gone since without a word."""
        # Between tuples a bolt may change the state of any key.
        self._ticks = type(logic).tick is not BaseBolt.tick

    def touch(self, keys: Sequence[Any]) -> None:
        """These keys may have changed."""
        note_keys(self._touched, keys)

    def ahead(self) -> Iterator[bytes]:
        """See StateMover. The state changes meanwhile, so its keys are listed at first."""
        owned = [*filter(self._owns, [*self._logic.state])]
        if self._ticks:
            self._listed.update(owned)
        keys = iter(owned)
        while some := [*islice(keys, KEYS_AT_ONCE)]:
            yield keyed_state.delta(self._logic.state, some)

    def rest(self) -> Iterator[bytes]:
        """See StateMover. Only what became of single keys: others may bring the same task theirs."""
        state = self._logic.state
        if self._ticks:
            yield keyed_state.delta(state, self._listed.union(filter(self._owns, state)))
        elif touched := [*filter(self._owns, self._touched)]:
            yield keyed_state.delta(state, touched)

    def begin(self) -> None:
        """See StateMover."""
        self._logic.state.clear()

    def take(self, piece: bytes) -> None:
        """See StateMover."""
        keyed_state.apply(self._logic.state, piece)


class WholeMover:
    """Of a StatefulBolt: its snapshot."""

    def __init__(self, logic: StatefulBolt) -> None:
        self._logic = logic

    def ahead(self) -> Iterator[bytes]:
        """See StateMover. Nothing can go ahead; but that it cannot travel is better known now."""
        WholeState(self._logic).piece()
        return iter(())

    def rest(self) -> Iterator[bytes]:
        """See StateMover."""
        yield WholeState(self._logic).piece().payload

    def begin(self) -> None:
        """See StateMover."""

    def take(self, piece: bytes) -> None:
        """See StateMover."""
        self._logic.restore(decode_value(piece))


class RowsMover:
    """Of a sink whose rows the driver fetches: where rows are kept, they are only ever added, and go ahead."""

    def __init__(self, logic: CollectingBolt) -> None:
        self._logic = logic
        self._sent = 0

    def ahead(self) -> Iterator[bytes]:
        """See StateMover. Rows that are not kept are fetched any moment: there is nothing to take ahead."""
        self._sent = 0
        while self._logic.by_epochs and self._sent < len(self._logic.rows):
            yield self._piece(KEYS_AT_ONCE)

    def rest(self) -> Iterator[bytes]:
        """See StateMover."""
        while self._sent < len(self._logic.rows):
            yield self._piece(KEYS_AT_ONCE)

    def _piece(self, most: int) -> bytes:
        rows = self._logic.rows[self._sent : self._sent + most]
        self._sent += len(rows)
        return encode_rows(rows)

    def begin(self) -> None:
        """See StateMover."""
        self._logic.rows.clear()

    def take(self, piece: bytes) -> None:
        """See StateMover."""
        self._logic.rows.extend(tuple(row) for row in decode_rows(piece))


def _owner(share: Share | None) -> Callable[[Any], bool]:
    if share is None:
        return lambda _: True
    index, count = share
    return lambda key: stable_hash(key) % count == index  # as tuples are routed
