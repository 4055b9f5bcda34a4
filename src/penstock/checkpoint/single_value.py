"""One value as bytes: snapshots, positions and tokens. msgpack with the types kept, as on the wire, and never pickle.

>>> decode_value(encode_value({("blue", 1): {2.5}}))
{('blue', 1): {2.5}}
"""

from __future__ import annotations

from typing import Any

import msgspec

from penstock.transport.values import portable, row_decoder

__all__ = ["decode_value", "encode_value"]

_encode = msgspec.msgpack.Encoder().encode
_decode = row_decoder(Any)


def encode_value(value: Any) -> bytes:
    """A value as bytes.

    Raises:
        TypeError: the value, or something in it, is of a type that cannot be kept.
    """
    return _encode(portable(value))


def decode_value(payload: bytes | memoryview) -> Any:
    """What `encode_value` was given."""
    return _decode(payload)
