"""Links: frames between workers of different nodes, over ZeroMQ with CURVE.

A worker binds one receiving socket and connects a sending one to each peer on another node. Keys are made for each run
and delivered inside the Spark task; the receiver lets in nobody else. What arrives is written into the worker's own
ring by a thread, so that the worker waits in one place only.
"""

from __future__ import annotations

import contextlib
import logging
import secrets
import struct
import threading
import time
from types import TracebackType
from typing import Self

import msgspec
import zmq

from penstock.errors import MessageTooLargeError, RingError
from penstock.transport.frames import HEADER_BYTES, pack_header, unpack_header
from penstock.transport.gate import Gate
from penstock.transport.link_window import LinkWindow
from penstock.transport.ring import RingSettings, RingWriter, Route
from penstock.transport.watched_connection import WatchedConnection

__all__ = ["LinkKeys", "LinkReceiver", "LinkSender"]

log = logging.getLogger(__name__)

# The largest frame that a ring takes, and what CURVE adds to it. Who announces more is cut off before a byte of it is
# kept; without a bound, a stranger's length prefix would be believed before he has proven who he is.
_MOST_BYTES = RingSettings().max_message_bytes + 1024
_LINGER_MS = 0
# In front of each frame: which link it came over, and its number on that link.
_NUMBER = struct.Struct("<QQ")
_HEAD_BYTES = _NUMBER.size + HEADER_BYTES
_MOST_AT_ONCE = 64
_RING_FULL_WAIT_S = 0.0005


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
        self._context: zmq.Context[zmq.Socket[bytes]] = zmq.Context()
        self._gate = Gate(self._context, keys.public)
        socket = self._context.socket(zmq.PULL)
        socket.curve_server = True
        socket.curve_publickey, socket.curve_secretkey = keys.public, keys.secret
        self._gate.guard(socket)
        socket.rcvhwm = high_water_frames
        socket.maxmsgsize = _MOST_BYTES
        socket.linger = _LINGER_MS
        try:
            socket.ipv6 = ":" in host
            address = f"[{host}]" if ":" in host else host
            port = socket.bind_to_random_port(f"tcp://{address}")
        except BaseException:
            socket.close()
            self._gate.close()
            self._context.term()
            raise
        self.endpoint = f"tcp://{address}:{port}"
        self._stop = self._context.socket(zmq.PAIR)
        self._stop.bind("inproc://stop")
        stop = self._context.socket(zmq.PAIR)
        stop.connect("inproc://stop")  # here and not in the thread, so that close() never finds nobody to tell
        self._thread = threading.Thread(
            target=self._receive, args=(socket, stop, ring_address), name="penstock-link", daemon=True
        )
        self.refused_frames = 0
        """Frames that were no frames, or that the ring does not take."""
        self._closing = False
        self.lost_frames = 0
        """Frames that were sent and did not arrive: ZeroMQ reconnects by itself, and loses what was under way."""
        self.error: str | None = None
        """Why it receives nothing any more."""
        self._next_numbers: dict[int, int] = {}
        self._thread.start()

    def _receive(self, socket: zmq.Socket[bytes], stop: zmq.Socket[bytes], ring_address: str) -> None:
        poller = zmq.Poller()
        for source in (socket, stop, self._gate.socket):
            poller.register(source, zmq.POLLIN)
        try:
            with RingWriter.attach(ring_address) as writer:
                while stop not in (ready := dict(poller.poll())):
                    if self._gate.socket in ready:
                        self._gate.answer()
                    if socket in ready:
                        self._take_several(socket, writer)
        except Exception as error:
            if not isinstance(error, RingError) or not self._closing:  # a ring that goes first is nothing to tell
                self.error = f"the link from other nodes broke down: {type(error).__name__}: {error}"
        finally:
            socket.close()
            self._gate.close()
            stop.close()

    def _take_several(self, socket: zmq.Socket[bytes], writer: RingWriter) -> None:
        """What is there, but not so much that a stranger at the gate, or the end, has to wait for long."""
        with contextlib.suppress(zmq.Again):
            for _ in range(_MOST_AT_ONCE):
                self._take(socket.recv_multipart(zmq.NOBLOCK, copy=False), writer)

    def _take(self, parts: list[zmq.Frame], writer: RingWriter) -> None:
        try:
            (message,) = parts  # ValueError if there are more
            whole = message.buffer
            self._count(bytes(whole[: _NUMBER.size]))
            self._deliver(writer, unpack_header(bytes(whole[_NUMBER.size : _HEAD_BYTES])), whole[_HEAD_BYTES:])
        except (ValueError, MessageTooLargeError) as error:
            if not self.refused_frames:
                log.warning("a frame from another node was refused; more will only be counted: %s", error)
            self.refused_frames += 1

    def _count(self, numbered: bytes) -> None:
        if len(numbered) != _NUMBER.size:
            message = f"a frame's number has {_NUMBER.size} bytes, got {len(numbered)}"
            raise ValueError(message)
        link, number = _NUMBER.unpack(numbered)
        wanted = self._next_numbers.get(link, 0)
        self.lost_frames += max(0, number - wanted)
        self._next_numbers[link] = number + 1

    def _deliver(self, writer: RingWriter, route: Route, payload: memoryview) -> None:
        """Writes a frame into the ring, however long that is full: ZeroMQ holds the senders back meanwhile."""
        if len(payload) <= writer.max_record_bytes:
            while not writer.try_write(payload, route) and not self._closing:
                self._wait_for_room()
            return
        large = writer.send_large(payload, route)
        while not large.advance() and not self._closing:
            self._wait_for_room()

    def _wait_for_room(self) -> None:
        self._gate.answer()  # a peer that connects meanwhile must not be taken for a stranger, because nobody answers
        time.sleep(_RING_FULL_WAIT_S)

    def close(self) -> None:
        """Stops receiving; what was not received is the sender's loss."""
        self._closing = True
        with contextlib.suppress(zmq.Again):  # the thread has ended by itself, with its ring
            self._stop.send(b"", zmq.NOBLOCK)
        self._thread.join()
        self._stop.close()
        self._context.term()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


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
            head = _NUMBER.pack(self._link, self._sent) + pack_header(route)
            self._socket.send(b"".join((head, payload)), flags=zmq.NOBLOCK)
        except zmq.Again:
            return False
        self._sent += 1
        self._window.given(_HEAD_BYTES + len(payload))
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
