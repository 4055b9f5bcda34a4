"""What travels between tasks: a frame is a batch of tuples from one task to one task on one edge.

A frame's header travels as the ring's record header (`Route`), or packed in front of the payload on a link:

    target      the task that the frame is for (for credit and passed: the worker)
    source      the task that it comes from (for credit, news and passed: the worker)
    stream      the edge's number
    assignment  the number of the assignment that it was routed by
    flags       the frame's kind

The payload is msgpack for tuples and markers, and Arrow IPC for record batches. Never pickle.
"""

from __future__ import annotations

import struct
from enum import IntEnum

from penstock.transport.ring import Route

__all__ = ["HEADER_BYTES", "FrameKind", "pack_header", "unpack_header"]


class FrameKind(IntEnum):
    """What a frame's payload holds."""

    TUPLES = 0
    """msgpack of [origin_ns, sent_ns, frame, [[value, ..., root], ...]], the values as in values.py.
    Where trees are not tracked, frame is 0 and there is no root."""
    BATCH = 1
    """origin_ns, sent_ns, frame and root, 8 bytes each, then an Arrow IPC stream of one record batch"""
    MARKER = 2
    """msgpack of [epoch, ends]"""
    CREDIT = 3
    """msgpack of [[[source, target], bytes], ...]"""
    NEWS = 4
    """of trees, for the task that keeps them: msgpack of [[[root, sum], ...], [[root, component, reason], ...]]"""
    PASSED = 5
    """a marker has passed all tasks of the worker that sends this: msgpack of [epoch, round]"""


_HEADER = struct.Struct("<5I")
HEADER_BYTES = _HEADER.size


def pack_header(route: Route) -> bytes:
    """The header as a link carries it."""
    return _HEADER.pack(route.target, route.source, route.stream, route.assignment, route.flags)


def unpack_header(header: bytes) -> Route:
    """The header as a link carried it; ValueError if it is not one."""
    if len(header) != HEADER_BYTES:
        message = f"frame header must have {HEADER_BYTES} bytes, got {len(header)}"
        raise ValueError(message)
    target, source, stream, assignment, flags = _HEADER.unpack(header)
    return Route(target=target, source=source, stream=stream, assignment=assignment, flags=flags)
