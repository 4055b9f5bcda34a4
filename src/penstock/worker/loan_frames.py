"""What travels when pieces of a queue are lent: see flow/lending, and transport/frames for the kinds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, TypeAlias

import msgspec

from penstock.topology.emit import DEFAULT_STREAM, Emit, Output
from penstock.topology.tuples import Tuple
from penstock.transport.values import UNENCODABLE, portable, portable_rows, row_decoder

__all__ = ["Answer", "Repaid", "decode_offer", "decode_repaid", "encode_loan", "encode_offer", "encode_repaid"]

Answer: TypeAlias = list[Any] | None
"""What came of one tuple; None if whoever lent it has to find out for itself, because it failed, or cannot travel."""

Repaid: TypeAlias = tuple[int, int, list[Answer]]
"""The job, how many jobs the borrower would take from now on, and what came of each tuple."""

_Room = Annotated[int, msgspec.Meta(ge=0, le=1024)]
_Sent: TypeAlias = tuple[list[Any], str, int | None]
"""Values, the stream, and the task that is named."""

_encode = msgspec.msgpack.Encoder().encode
_decode_repaid = row_decoder(tuple[int, _Room, list[list[_Sent] | None]])

encode_offer = _encode
decode_offer = msgspec.msgpack.Decoder(_Room).decode


def encode_loan(job: int, task: int, tuples: Sequence[Any]) -> bytes:
    """A piece of a task's queue. Raises one of `UNENCODABLE` if it cannot travel."""
    return _encode((job, task, portable_rows([tuple(values) for values in tuples])))


def encode_repaid(job: int, room: int, answers: Sequence[Answer]) -> bytes:
    """What came of it. An answer that cannot travel is left to whoever has lent the tuple."""
    sent = [*map(_sent, answers)]
    try:
        return _encode((job, room, sent))
    except UNENCODABLE:
        return _encode((job, room, [one if _can_travel(one) else None for one in sent]))


def decode_repaid(payload: bytes | memoryview) -> Repaid:
    """Raises one of `UNREADABLE` if it is none."""
    job, room, sent = _decode_repaid(payload)
    return job, room, [None if one is None else [_output(*each) for each in one] for one in sent]


def _sent(answer: Answer) -> list[Any] | None:
    try:
        return None if answer is None else [*map(_sent_output, answer)]
    except UNENCODABLE:
        return None


def _sent_output(output: Output) -> Any:
    if not isinstance(output, Emit):
        return [*map(portable, output)], DEFAULT_STREAM, None
    if not isinstance(output.values, tuple | list | Tuple):
        message = f"wanted a sequence of values, got {output.values!r}"
        raise TypeError(message)
    return [*map(portable, output.values)], output.stream, output.task


def _output(values: list[Any], stream: str, task: int | None) -> Any:
    return tuple(values) if stream == DEFAULT_STREAM and task is None else Emit(tuple(values), stream, task)


def _can_travel(sent: Any) -> bool:
    try:
        _encode(sent)
    except UNENCODABLE:
        return False
    return True
