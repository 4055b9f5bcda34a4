"""State by key as bytes: all of it, or what has changed since; and shared out anew over another number of tasks.

>>> first = full({"blue": 1, "red": 2})
>>> second = delta({"blue": 5, "green": 3}, touched={"blue", "green", "red"})
>>> load([first, second])
{'blue': 5, 'green': 3}
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Literal

import msgspec

from penstock.checkpoint.kept_types import changed_type, refusal
from penstock.errors import CheckpointError
from penstock.transport.canonical_key import canonical_key
from penstock.transport.stable_hash import stable_hash
from penstock.transport.values import UNREADABLE, portable, portable_rows, row_decoder

__all__ = ["apply", "delta", "full", "load", "share_of"]


class _Part(msgspec.Struct, frozen=True, array_like=True):
    """What the bytes of one part say. The layout is part of the checkpoint format: only ever append to it."""

    kind: Literal["full", "delta"]
    pairs: Any
    """Keys and values."""
    gone: Any = ()
    """Keys that a delta takes away."""


_encode = msgspec.msgpack.Encoder().encode
_decode = row_decoder(_Part)


def full(state: dict[Any, Any]) -> bytes:
    """All of a state.

    Raises:
        TypeError: a key or value is of a type that cannot be kept, or a value of one that would come back as another;
            the text names the key. A key may come back as one that it is equal to, because it came with a tuple.
    """
    return _encoded("full", [*state.items()])


def delta(state: dict[Any, Any], touched: Iterable[Any]) -> bytes:
    """What became of the keys that were touched since the last full or delta: their values, or that they are gone.

    Raises:
        TypeError: as `full` does.
    """
    pairs, gone = list[tuple[Any, ...]](), list[Any]()
    for key in touched:
        if key in state:
            pairs.append((key, state[key]))
        else:
            gone.append(key)
    return _encoded("delta", pairs, gone)


def load(parts: Sequence[bytes]) -> dict[Any, Any]:
    """The state that a full and the deltas after it amount to, in their order; an empty one of no parts.

    Raises:
        CheckpointError: a part is no part of a keyed state, or the parts do not begin with a full one.
    """
    state: dict[Any, Any] = {}
    for position, payload in enumerate(parts):
        part = _decoded(payload)
        if (part.kind == "full") != (position == 0):
            wanted = "delta" if position else "full"
            message = f"keyed state: wanted a {wanted} as part {position} of {len(parts)}, got a {part.kind}"
            raise CheckpointError(message)
        state.update(part.pairs)
        for key in part.gone:
            state.pop(key, None)
    return state


def apply(state: dict[Any, Any], payload: bytes) -> None:
    """Changes a state as one part says.

    >>> state = {"red": 2}
    >>> apply(state, delta({"blue": 5}, touched={"blue", "red"}))
    >>> state
    {'blue': 5}

    Raises:
        CheckpointError: as `load` does.
    """
    part = _decoded(payload)
    if part.kind == "full":
        state.clear()
    state.update(part.pairs)
    for key in part.gone:
        state.pop(key, None)


def share_of(old: Iterable[Sequence[bytes]], *, index: int, count: int) -> dict[Any, Any]:
    """The state of the keys that now belong to task `index` of `count`.

    Args:
        old: the parts of each of the tasks that there were.
        index: which task it is for, from 0.
        count: how many tasks there are now.

    Raises:
        CheckpointError: as `load` does; or two of the old tasks have the same key.
    """
    share: dict[Any, Any] = {}
    for parts in old:
        for key, value in load(parts).items():
            if stable_hash(key) % count != index:  # as tuples are routed
                continue
            if key in share:
                message = f"keyed state: wanted each key in one of the old tasks, got {key!r} in two"
                raise CheckpointError(message)
            share[key] = value
    return share


def _encoded(kind: Literal["full", "delta"], pairs: list[tuple[Any, ...]], gone: Sequence[Any] = ()) -> bytes:
    try:
        rows, absent = portable_rows(pairs), [*map(portable, gone)]
    except TypeError:
        raise _unportable([*pairs, *((key, None) for key in gone)]) from None
    if rows is not pairs:  # else all are plain, and of exact types
        _require_exact(pairs)
    try:
        return _encode(_Part(kind, rows, absent))
    except OverflowError:  # plain values, but an integer among them is too large to travel as one
        return _encode(_Part(kind, [(portable(key), portable(value)) for key, value in pairs], absent))


def _require_exact(pairs: Iterable[tuple[Any, ...]]) -> None:
    for key, value in pairs:
        kind = changed_type(value)
        if kind is not None:
            remedy = "or be a StatefulBolt and define snapshot() and restore()"
            message = f"keyed state, key {key!r}: {refusal(kind)}, {remedy}"
            raise TypeError(message)


def _unportable(pairs: Iterable[tuple[Any, ...]]) -> TypeError:
    """Says which key it is. Looked for only when something is wrong."""
    key, error = next(_culprits(pairs))
    return TypeError(f"keyed state, key {key!r}: {error}")


def _culprits(pairs: Iterable[tuple[Any, ...]]) -> Iterator[tuple[Any, TypeError]]:
    for key, value in pairs:
        try:
            portable(key)
            portable(value)
        except TypeError as error:
            yield key, error


def _decoded(payload: bytes) -> _Part:
    try:
        part: _Part = _decode(payload)
        pairs = {canonical_key(key): value for key, value in part.pairs}  # fails where a key can be none
        return _Part(part.kind, pairs, {*map(canonical_key, part.gone)})
    except (*UNREADABLE, TypeError) as error:
        message = f"keyed state: wanted a full or a delta, got {len(payload)} bytes that are neither ({error})"
        raise CheckpointError(message) from error
