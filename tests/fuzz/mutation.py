"""Inputs that are nearly right: real messages, cut, glued and scribbled on; with lengths that lie."""

from __future__ import annotations

import random
import struct
from collections.abc import Callable, Sequence

__all__ = ["mutated"]

MOST_BYTES = 1 << 16

# Heads of msgpack arrays, maps, texts, bytes and extensions that announce far more than there is; deep nesting; numbers
# at the edges of their types, in both byte orders.
LIES = [
    *(bytes([head]) + b"\xff\xff\xff\xff" for head in (0xDD, 0xDF, 0xDB, 0xC6)),
    *(bytes([head]) + b"\x10\x00\x00\x00" for head in (0xDD, 0xDF, 0xDB, 0xC6)),
    *(b"\xc9\xff\xff\xff\xff" + bytes([code]) for code in range(15)),
    *(bytes([0xC7, 5, code]) + b"\xce\x7f\xff\xff\xff" for code in range(15)),
    *(bytes([0xC7, 1, code]) + b"\x90" for code in range(15)),
    b"\x91" * 2000,
    b"\x81\xc0" * 2000,
    b"\xff\xff\xff\xff",
    b"\x00\x00\x00\x80",
    b"\xcf" + b"\xff" * 8,
    b"\xd3\x80" + bytes(7),
    b"\xcb\x7f\xf8" + bytes(6),
]


def _place(rng: random.Random, data: bytearray) -> int:
    return rng.randrange(len(data) + 1)


def _flip(rng: random.Random, data: bytearray) -> None:
    if data:
        data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)


def _set(rng: random.Random, data: bytearray) -> None:
    if data:
        data[rng.randrange(len(data))] = rng.choice((0, 0x7F, 0x80, 0xFF, rng.randrange(256)))


def _number(rng: random.Random, data: bytearray) -> None:
    at, form = _place(rng, data), rng.choice(["<i", ">i", "<q", ">q", "<h", ">h"])
    bits = struct.calcsize(form) * 8
    number = rng.choice((0, 1, -1, 2 ** (bits - 1) - 1, -(2 ** (bits - 1)), 2 ** (bits // 2), len(data)))
    data[at : at + bits // 8] = struct.pack(form, min(number, 2 ** (bits - 1) - 1))


def _lie(rng: random.Random, data: bytearray) -> None:
    at, lie = _place(rng, data), rng.choice(LIES)
    data[at : at + rng.choice((0, 1, len(lie)))] = lie


def _cut(rng: random.Random, data: bytearray) -> None:
    at = _place(rng, data)
    del data[at : at + rng.choice((1, 2, 4, 8, len(data)))]


def _repeat(rng: random.Random, data: bytearray) -> None:
    at = _place(rng, data)
    data[at:at] = data[at : at + rng.randrange(1, 64)] * rng.choice((1, 2, 50))


def _noise(rng: random.Random, data: bytearray) -> None:
    at = _place(rng, data)
    data[at:at] = rng.randbytes(rng.choice((1, 4, 32)))


_CHANGES: Sequence[Callable[[random.Random, bytearray], None]] = (_flip, _set, _number, _lie, _cut, _repeat, _noise)


def mutated(rng: random.Random, corpus: Sequence[bytes]) -> bytes:
    """One of the corpus, or two glued together, changed in one to eight places."""
    data = bytearray(rng.choice(corpus))
    if rng.random() < 0.1:
        other = rng.choice(corpus)
        data[_place(rng, data) :] = other[rng.randrange(len(other) + 1) :]
    for _ in range(rng.choice((1, 1, 2, 3, 8))):
        rng.choice(_CHANGES)(rng, data)
    return bytes(data[:MOST_BYTES])
