"""Links: frames between workers of different nodes, over ZeroMQ with CURVE.

A worker binds one receiving socket and connects a sending one to each peer on another node. Keys are made for each run
and delivered inside the Spark task; the receiver lets in nobody else. What arrives is written into the worker's own
ring by a thread (see link_thread), so that the worker waits in one place only. What a frame looks like on its way is in
native/penstock/link_intake.hpp.
"""

from __future__ import annotations

import contextlib
import logging
import os
import secrets
import time
import weakref
from types import TracebackType
from typing import Self

import msgspec
import zmq

from penstock import _native
from penstock.transport.gate import Gate
from penstock.transport.link_thread import start_link_thread
from penstock.transport.link_window import LinkWindow
from penstock.transport.ring import RingSettings, RingWriter, Route
from penstock.transport.watched_connection import WatchedConnection

__all__ = ["LinkKeys", "LinkReceiver", "LinkSender"]

log = logging.getLogger(__name__)

# The largest frame that a ring takes, and what CURVE adds to it. Who announces more is cut off before a byte of it is
# kept; without a bound, a stranger's length prefix would be believed before he has proven who he is.
_MOST_BYTES = RingSettings().max_message_bytes + 1024
_LINGER_MS = 0


class LinkKeys(msgspec.Struct, frozen=True, kw_only=True):
    """The key pair that all workers of a run share."""

    public: bytes
    secret: bytes

    @classmethod
    def make(cls) -> LinkKeys:
        """A fresh pair."""
        public, secret = zmq.curve_keypair()
        return cls(public=public, secret=secret)


class LinkReceiver:
    """Receives frames of other nodes and writes them into this worker's own ring."""

    def __init__(self, *, host: str, ring_address: str, keys: LinkKeys, high_water_frames: int) -> None:
        with contextlib.ExitStack() as resources:
            # Its own, for the gate serves all sockets of its context.
            context: zmq.Context[zmq.Socket[bytes]] = zmq.Context()
            resources.callback(context.term)
            gate = Gate(context, keys.public)
            resources.callback(gate.close)
            socket = context.socket(zmq.PULL)
            resources.callback(socket.close)
            socket.curve_server = True
            socket.curve_publickey, socket.curve_secretkey = keys.public, keys.secret
            gate.guard(socket)
            socket.rcvhwm = high_water_frames
            socket.maxmsgsize = _MOST_BYTES
            socket.linger = _LINGER_MS
            socket.ipv6 = ":" in host
            address = f"[{host}]" if ":" in host else host
            self.endpoint = f"tcp://{address}:{socket.bind_to_random_port(f'tcp://{address}')}"
            writer = resources.enter_context(RingWriter.attach(ring_address))
            self._intake = _native.LinkIntake(writer)
            resources.callback(self._intake.close)
            self._thread = start_link_thread(self._intake, socket, gate)
            resources.callback(self._thread.close)
            self._resources = resources.pop_all()
        self._told_refusal = False
        _open_receivers.add(self)

    @property
    def error(self) -> str | None:
        """Why it receives nothing any more."""
        self._tell_refusal()
        try:
            self._thread.check()
        except Exception as error:
            return f"the link from other nodes broke down: {type(error).__name__}: {error}"
        return None

    @property
    def lost_frames(self) -> int:
        """Frames that were sent and did not arrive: ZeroMQ reconnects by itself, and loses what was under way."""
        return self._intake.lost

    @property
    def refused_frames(self) -> int:
        """Frames that were no frames, or that the ring does not take."""
        self._tell_refusal()
        return self._intake.refused

    def _tell_refusal(self) -> None:
        """The thread cannot log without the interpreter, so this is done whenever somebody looks at the link."""
        if not self._told_refusal and (why := self._intake.first_refusal) is not None:
            self._told_refusal = True
            log.warning("a frame from another node was refused; more will only be counted: %s", why)

    def close(self) -> None:
        """Stops receiving; what was not received is the sender's loss."""
        self._resources.close()
        self._tell_refusal()
        _open_receivers.discard(self)

    def abandon_after_fork(self) -> None:
        """Forgets the link in a forked child: thread, sockets and ring are the parent's."""
        self._thread.close()
        self._intake.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


_open_receivers: weakref.WeakSet[LinkReceiver] = weakref.WeakSet()


def _abandon_open_receivers() -> None:
    """In a forked child: a copied mapping would keep the parent's ring in memory after its death."""
    for receiver in list(_open_receivers):
        receiver.abandon_after_fork()
    _open_receivers.clear()


os.register_at_fork(after_in_child=_abandon_open_receivers)


class LinkSender:
    """Sends frames to one worker on another node. ZeroMQ reconnects by itself.

    Args:
        endpoint: where its receiver is.
        keys: those of the run.
        high_water_frames: how many frames ZeroMQ takes at most.
        window_ms: how much of the link's time is given to it ahead, at most (see link_window).
    """

    def __init__(self, *, endpoint: str, keys: LinkKeys, high_water_frames: int, window_ms: float = 10.0) -> None:
        # Its own, so that closing leaves nothing behind in a process that Spark goes on using.
        self._context: zmq.Context[zmq.Socket[bytes]] = zmq.Context()
        self._socket = self._context.socket(zmq.PUSH)
        self._socket.curve_serverkey = keys.public
        self._socket.curve_publickey, self._socket.curve_secretkey = keys.public, keys.secret
        self._socket.sndhwm = high_water_frames
        self._socket.linger = _LINGER_MS
        self._socket.ipv6 = "[" in endpoint
        self._connection = WatchedConnection(self._socket, endpoint)
        self._window = LinkWindow(round(window_ms * 1e6))
        self._socket.connect(endpoint)
        self._link = secrets.randbits(64)
        self._sent = 0

    def try_send(self, route: Route, payload: bytes | memoryview) -> bool:
        """Sends a frame if ZeroMQ has room for it, and the link is not behind."""
        if self._window.is_full and not self._has_made_room():
            return False
        try:
            # In one part: each is encrypted, queued and passed between threads by itself, which costs more than a copy.
            head = _native.pack_link_head(self._link, self._sent, route)
            self._socket.send(b"".join((head, payload)), flags=zmq.NOBLOCK)
        except zmq.Again:
            return False
        self._sent += 1
        self._window.given(_native.LINK_HEAD_BYTES + len(payload))
        return True

    def _has_made_room(self) -> bool:
        if self._connection.look():
            self._window.connected()
        progress = self._connection.progress()
        if progress is None:  # nobody is there, or nobody knows: ZeroMQ says when it has enough
            return True
        self._window.heard(progress, time.monotonic_ns())
        return not self._window.is_full

    def peer_is_dead(self) -> bool:
        """Never known here: ZeroMQ connects again as soon as somebody is there."""
        return False

    def close(self, linger_s: float = 0.0) -> None:
        """Lets go of the peer. What was sent may still leave for so long."""
        self._connection.close()
        self._socket.close(linger=round(linger_s * 1000))
        self._context.term()
