"""What travels between tasks: a frame is a batch of tuples from one task to one task on one edge.

A frame's header travels as the ring's record header (`Route`), or packed in front of the payload on a link (see
native/penstock/link_intake.hpp):

    target      the task that the frame is for (for a kind in `FOR_WORKERS`: the worker; of a broadcast: nobody alone)
    source      the task that it comes from (for most kinds without tuples: the worker)
    stream      the edge's number
    assignment  the number of the assignment that its channel was laid by
    flags       the frame's kind

The payload is msgpack for tuples and markers, and Arrow IPC for record batches. Never pickle.
"""

from __future__ import annotations

import struct
from enum import IntEnum
from typing import NamedTuple, assert_never

import msgspec

__all__ = [
    "CAST_HEADER_BYTES",
    "FOR_WORKERS",
    "NOTHING",
    "CastGot",
    "CastHeader",
    "CastTree",
    "FrameKind",
    "pack_cast_header",
    "unpack_cast_header",
]


class FrameKind(IntEnum):
    """What a frame's payload holds."""

    TUPLES = 0
    """msgpack of [origin_ns, sent_ns, frame, [[root, count], ...], [[value, ...], ...]], the values as in values.py.
    Where trees are not tracked, frame is 0 and there are no roots."""
    BATCH = 1
    """origin_ns, sent_ns, frame and root, 8 bytes each, then an Arrow IPC stream of one record batch"""
    MARKER = 2
    """msgpack of [epoch, ends, {task: its newest root}, switch]; the roots are empty where nobody gathers, and switch
    is 0 unless the channel is laid anew by that assignment"""
    CREDIT = 3
    """msgpack of [[[source, target], bytes, the channel's window from now on or 0], ...]"""
    NEWS = 4
    """of trees, for the task that keeps them: msgpack of [[[root, sum], ...], [[root, component, reason], ...]]"""
    PASSED = 5
    """a marker has passed all tasks of the worker that sends this: msgpack of [epoch, round]"""
    CAST = 6
    """a broadcast: a `CastHeader`, then what a frame of TUPLES, BATCH or MARKER holds, for all the target's tasks"""
    TREE = 7
    """along which way the frames of a cast travel from now on: msgpack of a `CastTree`"""
    GOT = 8
    """how far a worker is with a cast: msgpack of a `CastGot`"""
    COMBINED = 9
    """one tuple that stands for several, in the name of one of their sources, on its way to the target by way of other
    workers: msgpack of [origin_ns, sent_ns, frame, sender, [[root, count], ...], [value, ...]]"""
    MET = 10
    """the worker that sends this has met the one that gets it, and wants to hear again which tasks have ended: empty"""
    HANDOVER = 11
    """a task moves to the worker that gets this: msgpack of a `HandoverPart` (see penstock.worker.handover)"""
    TAKEN = 12
    """a task that was handed over runs: empty"""
    SWITCHED = 13
    """the worker that sends this has switched to the assignment in the header: empty (see penstock.worker.clearance)"""
    CLEARED = 14
    """all that was told to the old place of the target has come to its new one: empty"""
    PRESSURE = 15
    """a word about a task, for a worker whose tasks feed it: msgpack of [task, word, episode] (see flow/relief)"""
    ANSWER = 16
    """whether the worker that sends this helps a task that has asked for it: msgpack of [task, episode, yes]"""
    WANTED = 17
    """the worker that sends this cannot do all that it has to, and wants others' time: empty (see flow/lending)"""
    OFFER = 18
    """how many jobs at a time the worker that sends this would do for the other: msgpack of the number"""
    LOAN = 19
    """a piece of a task's queue, of tuples that came on the edge: msgpack of [job, task, [[value, ...], ...]]"""
    REPAID = 20
    """what came of it: msgpack of [job, how many at a time from now on, [[[[value, ...], stream, task], ...], ...]];
    nil in place of what came of one tuple leaves that to the lender"""
    FAILED = 21
    """user code has raised in the worker of a transform that sends this: the error as text"""


def _is_for_task(kind: FrameKind) -> bool:
    """Whether a frame of this kind is for one task, which its header names as the target."""
    match kind:
        case (
            FrameKind.TUPLES
            | FrameKind.BATCH
            | FrameKind.MARKER
            | FrameKind.COMBINED
            | FrameKind.NEWS
            | FrameKind.HANDOVER
            | FrameKind.TAKEN
            | FrameKind.CLEARED
        ):
            return True
        case (
            FrameKind.CREDIT
            | FrameKind.PASSED
            | FrameKind.CAST
            | FrameKind.TREE
            | FrameKind.GOT
            | FrameKind.MET
            | FrameKind.SWITCHED
            | FrameKind.PRESSURE
            | FrameKind.ANSWER
            | FrameKind.WANTED
            | FrameKind.OFFER
            | FrameKind.LOAN
            | FrameKind.REPAID
            | FrameKind.FAILED
        ):
            return False
        case _:
            assert_never(kind)


FOR_WORKERS = frozenset(kind for kind in FrameKind if not _is_for_task(kind))
"""The kinds whose target is a worker, or of a broadcast nobody alone: never a task, even if one has the same number."""


class CastHeader(NamedTuple):
    """What stands in front of a broadcast's payload, so that whoever passes it on need not look further.

    0        8        16      20     22     24
    │ cast   │ number │version│ kind │ asks │ payload …
    """

    cast: int
    """A random number: each task has another one for each edge, and another one after a restart."""
    number: int
    version: int
    """Of the tree that it travels along."""
    kind: int
    """What the payload is: TUPLES, BATCH or MARKER, or NOTHING."""
    asks: int
    """1: whoever receives it says so at once."""


NOTHING = 0xFFFF
"""The kind of a frame that only asks."""

_CAST_HEADER = struct.Struct("<QQIHH")
CAST_HEADER_BYTES = _CAST_HEADER.size


def pack_cast_header(header: CastHeader) -> bytes:
    """The header as it stands in front of the payload."""
    return _CAST_HEADER.pack(*header)


def unpack_cast_header(payload: bytes | memoryview) -> CastHeader:
    """The header in front of a payload; ValueError if there is none."""
    if len(payload) < CAST_HEADER_BYTES:
        message = f"a broadcast has a header of {CAST_HEADER_BYTES} bytes, got {len(payload)} bytes in all"
        raise ValueError(message)
    return CastHeader._make(_CAST_HEADER.unpack_from(payload))


class CastTree(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True):
    """The way that a cast takes from now on."""

    cast: int
    version: int
    children: dict[int, tuple[int, ...]]
    """Whom each worker sends to."""
    firsts: dict[int, tuple[int, int]]
    """For each member, the generation that it is meant for, and the number of its first frame."""


class CastGot(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True):
    """How far a member is with a cast."""

    cast: int
    generation: int
    """Which of the processes that have been this worker says so."""
    received: int
    processed: int
    complaint: int
    """The version of a tree that brought a frame too early, or came as a surprise; 0 if all is well."""
