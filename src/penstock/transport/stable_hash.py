"""Which task a key belongs to: the same in every process, on every node, under any hash seed.

Keys that Python holds equal hash equal (1, 1.0 and True are one key), because a keyed bolt keeps its state in a dict.
"""

from __future__ import annotations

from numbers import Number

import msgspec
import xxhash

__all__ = ["stable_hash"]

_encode = msgspec.msgpack.Encoder(order="deterministic").encode


def stable_hash(key: object) -> int:
    """A 64-bit hash of `key`.

    Raises:
        TypeError: the key is of a type that cannot be told apart in another process.
    """
    try:
        return xxhash.xxh3_64_intdigest(_encode(_canonical(key)))
    except (TypeError, OverflowError, RecursionError) as error:
        message = f"a key must be made of str, bytes, numbers, None, dates and tuples of these; got {key!r} ({error})"
        raise TypeError(message) from error


def _canonical(key: object) -> object:
    """Keys that are equal become the same value, of the same type."""
    if isinstance(key, str):
        return str.__str__(key)  # of a subclass, too
    if isinstance(key, Number):
        # The hash of a number is defined by the language, for all types of numbers together, and never seeded; but for
        # that of a NaN, which equals nothing.
        number = hash(key)
        return number if key == key else None
    if isinstance(key, tuple):
        return ["tuple", *map(_canonical, key)]
    if isinstance(key, frozenset | list | dict | set | bytearray):
        message = f"{type(key).__name__} cannot be a key"
        raise TypeError(message)
    return key
