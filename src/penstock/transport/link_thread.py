"""The thread that receives what comes over links, answers at the gate, and hands frames to the intake of the ring.

It is in C++, and never needs the interpreter lock: a frame does not wait for bytecode that is at work. It calls the
libzmq that pyzmq has brought. Where a build of pyzmq does not show that, a thread of Python does the same.
"""

from __future__ import annotations

import contextlib
import functools
import logging
import os
import sys
import threading
from typing import Protocol

import zmq

from penstock import _native
from penstock.errors import RingClosedError
from penstock.transport.gate import Gate

__all__ = ["LinkThread", "start_link_thread"]

log = logging.getLogger(__name__)

# As in native/penstock/link_thread.hpp.
_MOST_AT_ONCE = 64
_LOOK_AROUND_S = 0.01


class LinkThread(Protocol):
    """From its start to its `close` it alone uses the sockets and the intake."""

    def check(self) -> None:
        """Raises what has ended it, if anything but `close` has."""

    def close(self) -> None:
        """Ends it and waits for its end; in a forked child, only closes its copies. Twice does nothing."""


def start_link_thread(intake: _native.LinkIntake, frames: zmq.Socket[bytes], gate: Gate) -> LinkThread:
    """Starts the thread, in C++ where that is possible."""
    zeromq = _zeromq_of_pyzmq()
    if zeromq is None:
        return PythonLinkThread(intake, frames, gate)
    return _native.LinkThread(zeromq, intake, frames, gate.socket, domain=gate.domain, admitted=gate.admitted)


@functools.cache
def _zeromq_of_pyzmq() -> _native.ZeroMq | None:
    """The functions of the very libzmq that pyzmq uses, if they can be found and are of that version."""
    extension = getattr(sys.modules[zmq.backend.Socket.__module__], "__file__", None)
    try:
        found = _native.ZeroMq(str(extension))
        if found.version != zmq.zmq_version_info():
            message = f"libzmq version wanted={zmq.zmq_version_info()} got={found.version}"
            raise RuntimeError(message)
    except RuntimeError as error:
        log.info("links are received by a thread of Python, for pyzmq's libzmq is out of reach: %s", error)
        return None
    return found


class PythonLinkThread:
    """The same in Python."""

    def __init__(self, intake: _native.LinkIntake, frames: zmq.Socket[bytes], gate: Gate) -> None:
        self._intake = intake
        self._frames = frames
        self._gate = gate
        self._owner = os.getpid()
        self._closing = False
        self._failure: Exception | None = None
        self._stop = os.eventfd(0, os.EFD_CLOEXEC | os.EFD_NONBLOCK)
        self._thread = threading.Thread(target=self._run, name="penstock-link", daemon=True)
        self._thread.start()

    def _run(self) -> None:
        try:
            self._receive()
        except Exception as error:
            if not (isinstance(error, RingClosedError) and self._closing):  # a ring that goes first is nothing to tell
                self._failure = error

    def _receive(self) -> None:
        poller = zmq.Poller()
        for source in (self._frames, self._gate.socket, self._stop):
            poller.register(source, zmq.POLLIN)
        while not self._closing:
            poller.poll()
            self._answer_at_gate()
            self._take_several()

    def _answer_at_gate(self) -> None:
        for _ in range(_MOST_AT_ONCE):
            if not self._gate.answer():
                return

    def _take_several(self) -> None:
        """What is there, but not so much that a stranger at the gate, or the end, has to wait for long."""
        with contextlib.suppress(zmq.Again):
            for _ in range(_MOST_AT_ONCE):
                parts = self._frames.recv_multipart(zmq.NOBLOCK, copy=False)
                if self._intake.take(parts[0].buffer, len(parts)):
                    self._deliver()

    def _deliver(self) -> None:
        """Writes a frame into the ring, however long that is full: ZeroMQ holds the senders back meanwhile."""
        while not self._closing and not self._intake.deliver(_LOOK_AROUND_S):
            # A peer that connects meanwhile must not be taken for a stranger, because nobody answers.
            self._answer_at_gate()

    def check(self) -> None:
        """Raises what has ended it, if anything but `close` has."""
        if self._failure is not None:
            raise self._failure

    def close(self) -> None:
        """Ends it and waits for its end; in a forked child, only closes its copies. Twice does nothing."""
        if self._stop < 0:
            return
        self._closing = True
        if self._owner == os.getpid():
            os.eventfd_write(self._stop, 1)
            self._thread.join()
        os.close(self._stop)
        self._stop = -1
