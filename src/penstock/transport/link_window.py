"""How much of what is sent to another node may be out of our hands.

What ZeroMQ and the kernel have taken leaves in the order in which they took it. So as soon as a link is slower than
those who use it, nothing more is given to it than it carries in some milliseconds; the rest waits where the worker
decides whose turn it is (see flow/backlog).

    what tasks emit ──▶ outgoing queues ──▶ │ ZeroMQ ──▶ kernel ──▶ wire │ ──▶ acknowledged by the peer's kernel
                        here the policy     └─────── the window ─────────┘
                        decides
"""

from __future__ import annotations

import socket
import struct
from typing import NamedTuple

__all__ = ["LEAST_WINDOW_BYTES", "LinkWindow", "TcpProgress", "progress_of"]

LEAST_WINDOW_BYTES = 4 << 10
"""Three packets on most networks: a peer acknowledges every other one at once, and the last one later."""

_FIRST_WINDOW_BYTES = 64 << 10
_LOOK_AGAIN_NS = 2_000_000
_STUCK_NS = 50_000_000
# What CURVE puts around a message: the word MESSAGE, a nonce, flags, and a code that proves it. ZeroMQ puts its length
# in front of that, in one byte or eight, and flags.
_CURVE_BYTES = 33
_SHORT_BYTES = 255

# From linux/tcp.h: struct tcp_info has grown at its end only, since Linux 2.4.
_TCP_INFO_BYTES = 152
_UNACKED = struct.Struct("=I"), 24
_BYTES_ACKED = struct.Struct("=Q"), 120
_NOT_SENT_AND_LEAST_RTT_US = struct.Struct("=II"), 144


class TcpProgress(NamedTuple):
    """How far a connection is."""

    acknowledged_bytes: int
    """Since it was made."""
    is_idle: bool
    """Whether all that the kernel was given has arrived."""
    least_round_trip_ns: int


def progress_of(connection: socket.socket) -> TcpProgress:
    """Asks the kernel; OSError if that knows nothing."""
    info = connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, _TCP_INFO_BYTES)
    if len(info) < _TCP_INFO_BYTES:
        message = (
            f"the kernel tells {len(info)} bytes about a connection, wanted {_TCP_INFO_BYTES}: older than Linux 4.6"
        )
        raise OSError(message)
    (unacked,) = _UNACKED[0].unpack_from(info, _UNACKED[1])
    (acknowledged,) = _BYTES_ACKED[0].unpack_from(info, _BYTES_ACKED[1])
    not_sent, least_rtt_us = _NOT_SENT_AND_LEAST_RTT_US[0].unpack_from(info, _NOT_SENT_AND_LEAST_RTT_US[1])
    return TcpProgress(acknowledged, unacked == 0 and not_sent == 0, least_rtt_us * 1000)


class LinkWindow:
    """Counts what was given to one connection and has not arrived. Pure: it is told what the kernel says.

    Args:
        ahead_ns: how much of the link's time may be given ahead, beside a round trip.
    """

    def __init__(self, ahead_ns: int) -> None:
        self._ahead_ns = ahead_ns
        self._window = _FIRST_WINDOW_BYTES
        self._given = 0
        self._acknowledged = 0
        self._measured_at: tuple[int, int] | None = None
        self._idle_since_ns: int | None = None

    @property
    def is_full(self) -> bool:
        """Whether nothing more should be given, as far as it is known here: what is not known may make room."""
        return self._given - self._acknowledged >= self._window

    @property
    def window_bytes(self) -> int:
        """What may be out of our hands."""
        return self._window

    def given(self, size_bytes: int) -> None:
        """A message of this size was given to ZeroMQ."""
        message = size_bytes + _CURVE_BYTES
        self._given += message + (2 if message <= _SHORT_BYTES else 9)

    def heard(self, progress: TcpProgress, now_ns: int) -> None:
        """What the kernel says, asked because the window was full. So the rate since the last time is the link's."""
        self._put_right(progress, now_ns)
        self._acknowledged = progress.acknowledged_bytes
        if self._measured_at is None:
            self._measured_at = now_ns, progress.acknowledged_bytes
            return
        since_ns, before = self._measured_at
        if now_ns - since_ns >= _LOOK_AGAIN_NS:
            carried = (progress.acknowledged_bytes - before) / (now_ns - since_ns)
            wanted = round(carried * (self._ahead_ns + progress.least_round_trip_ns))
            self._window = max(LEAST_WINDOW_BYTES, wanted)
            self._measured_at = now_ns, progress.acknowledged_bytes

    def _put_right(self, progress: TcpProgress, now_ns: int) -> None:
        """If the window is full and yet nothing moves, something was counted that was never sent: a miscount, or lost.

        Not at once: what ZeroMQ has not given to the kernel yet is under way, too.
        """
        if not progress.is_idle or progress.acknowledged_bytes != self._acknowledged:
            self._idle_since_ns = None
        elif self._idle_since_ns is None:
            self._idle_since_ns = now_ns
        elif now_ns - self._idle_since_ns >= _STUCK_NS:
            self._given = progress.acknowledged_bytes
            self._idle_since_ns = None

    def connected(self) -> None:
        """There is another connection: it counts from nothing. What was given before the first is sent on that."""
        if self._acknowledged:
            self._given = self._acknowledged = 0
        self._measured_at = self._idle_since_ns = None
