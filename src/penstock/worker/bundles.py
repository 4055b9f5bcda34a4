"""Frames of one channel that wait behind each other leave as one: where the way out is congested, it is made use of.

Each frame on its way costs a hundred bytes beside its tuples, and those that could not be sent at once are small: they
hold what one task has emitted for another in one turn. Together they cost that once.

A frame has a number by which its tuples are counted in their trees (see flow/ledger). Whoever joins another frame is
counted by that one's number instead, before anybody was told otherwise.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import msgspec

from penstock.flow.runs import Runs
from penstock.transport.frames import FrameKind
from penstock.transport.ring import Route

__all__ = ["MOST_BUNDLE_BYTES", "Bundle", "Recount", "WaitingFrame"]

MOST_BUNDLE_BYTES = 8 << 10
"""A frame is sent whole, so others wait for it: on a link of 10 Mb/s, this long is 7 ms."""

MOST_BUNDLE_TUPLES = 1024
"""A task is done with a frame before it does anything else."""

Recount: TypeAlias = Callable[[Runs, int, int], None]
"""Counts tuples by the number of another frame: their trees, the old number, the new one."""

_decode = msgspec.msgpack.Decoder(tuple[int, int, int, list[tuple[int, int]], list[msgspec.Raw]]).decode
_encode = msgspec.msgpack.Encoder().encode


class WaitingFrame(msgspec.Struct, frozen=True, gc=False):
    """What is kept of a frame."""

    route: Route
    payload: bytes
    tuples: int
    saved_bytes: int = 0
    """By how much it is shorter than what it was made of: so much credit was taken for nothing."""


class Bundle:
    """A frame, and those that have joined it."""

    def __init__(self, frame: WaitingFrame) -> None:
        self._frame: WaitingFrame | None = frame
        self.route = frame.route
        self.tuples = frame.tuples
        self._paid_bytes = len(frame.payload)
        self._is_sealed = frame.route.flags != FrameKind.TUPLES
        self._parts: tuple[int, int, int, list[tuple[int, int]], list[msgspec.Raw]] | None = None

    def seal(self) -> None:
        """Nobody joins any more: a part of it may have left."""
        self._is_sealed = True

    def join(self, frame: WaitingFrame, recount: Recount) -> bool:
        """Takes a later frame of the same lane in; False if it does not fit."""
        if (
            self._is_sealed
            or frame.route is not self.route  # a lane has one for all its frames
            or self._paid_bytes + len(frame.payload) > MOST_BUNDLE_BYTES
            or self.tuples + frame.tuples > MOST_BUNDLE_TUPLES
        ):
            return False
        if self._parts is None:
            assert self._frame is not None
            self._parts = _decode(self._frame.payload)
        origin_ns, sent_ns, number, runs, rows = self._parts
        later_origin_ns, _, later_number, later_runs, later_rows = _decode(frame.payload)
        recount(later_runs, later_number, number)
        runs += later_runs
        rows += later_rows
        self._parts = min(origin_ns, later_origin_ns), sent_ns, number, runs, rows
        self.tuples += frame.tuples
        self._paid_bytes += len(frame.payload)
        self._frame = None
        return True

    @property
    def frame(self) -> WaitingFrame:
        """All of it as one."""
        if self._frame is None:
            payload = _encode(self._parts)
            self._frame = WaitingFrame(self.route, payload, self.tuples, self._paid_bytes - len(payload))
        return self._frame
