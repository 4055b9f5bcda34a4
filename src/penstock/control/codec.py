"""Control messages as bytes: a prefix that says "Penstock control, version n", then msgpack. Never pickle.

Each direction has a decoder of its own, so that nobody can be made to accept what is not meant for him.
"""

from __future__ import annotations

from typing import Generic, TypeVar

import msgspec

from penstock.control.protocol import Answer, FromController, FromWorker, Question
from penstock.errors import ProtocolError

__all__ = ["decode_answer", "decode_from_controller", "decode_to_controller", "encode"]

_MAGIC = b"PNSTK"
_VERSION = 1
_PREFIX = _MAGIC + bytes([_VERSION])

_encode = msgspec.msgpack.Encoder().encode
_Decoded = TypeVar("_Decoded")


def encode(message: FromWorker | FromController | Question | Answer) -> bytes:
    """A message as it travels."""
    return _PREFIX + _encode(message)


class _Direction(Generic[_Decoded]):
    """The messages that one side takes."""

    def __init__(self, decoder: msgspec.msgpack.Decoder[_Decoded], meant: str) -> None:
        self._decoder = decoder
        self._meant = meant

    def decode(self, data: bytes) -> _Decoded:
        """The message; ProtocolError if these bytes are none that this side takes."""
        if not data.startswith(_MAGIC):
            message = f"{len(data)} bytes that are no Penstock control message: they begin with {data[:8]!r}"
            raise ProtocolError(message)
        version = data[len(_MAGIC) : len(_PREFIX)]
        if version != bytes([_VERSION]):
            got = version[0] if version else "none"
            message = f"control protocol version wanted={_VERSION} got={got}: different versions of Penstock"
            raise ProtocolError(message)
        try:
            return self._decoder.decode(memoryview(data)[len(_PREFIX) :])
        except (msgspec.DecodeError, RecursionError, UnicodeDecodeError) as error:
            message = f"{len(data)} bytes that are no {self._meant}: {error}"
            raise ProtocolError(message) from error


_to_controller: msgspec.msgpack.Decoder[FromWorker | Question] = msgspec.msgpack.Decoder(FromWorker | Question)
_from_controller: msgspec.msgpack.Decoder[FromController] = msgspec.msgpack.Decoder(FromController)
_answers: msgspec.msgpack.Decoder[Answer] = msgspec.msgpack.Decoder(Answer)

decode_to_controller = _Direction(_to_controller, "message of a worker, nor a question").decode
decode_from_controller = _Direction(_from_controller, "message to a worker").decode
decode_answer = _Direction(_answers, "answer to a question").decode
