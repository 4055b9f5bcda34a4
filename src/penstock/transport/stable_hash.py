"""Which task a key belongs to: the same in every process, on every node, under any hash seed.

Keys that are one key hash equal (see canonical_key), because a keyed bolt keeps its state in a dict. Groupings take the
hash of a short text in C++ (native/penstock/short_text_hash.hpp), and have all others from here.
"""

from __future__ import annotations

from numbers import Number

import msgspec
import xxhash

from penstock.transport.canonical_key import NAN, canonical_key

__all__ = ["stable_hash"]

_encode = msgspec.msgpack.Encoder(order="deterministic").encode


def stable_hash(key: object) -> int:
    """A 64-bit hash of `key`.

    Raises:
        TypeError: the key is of a type that cannot be told apart in another process.
    """
    try:
        return xxhash.xxh3_64_intdigest(_encode(_encodable(canonical_key(key))))
    except (TypeError, OverflowError, RecursionError) as error:
        wanted = "a key must be made of str, bytes, numbers, None, dates, and tuples, lists and dicts of these"
        message = f"{wanted}; got {key!r} ({error})"
        raise TypeError(message) from error


def _encodable(key: object) -> object:
    """Canonical keys that are equal become the same value, of the same type."""
    if isinstance(key, str):
        return str.__str__(key)  # of a subclass, too
    if key is NAN:
        return None
    if isinstance(key, Number):
        # The hash of a number is defined by the language, for all types of numbers together, and never seeded.
        return hash(key)
    if isinstance(key, tuple):
        return ["tuple", *map(_encodable, key)]
    if isinstance(key, dict):
        # In the order of their bytes: dicts are equal in whatever order their items are.
        return ["dict", *sorted(_encode((_encodable(name), _encodable(value))) for name, value in key.items())]
    if isinstance(key, frozenset | set | bytearray):
        message = f"{type(key).__name__} cannot be a key"
        raise TypeError(message)
    return key
