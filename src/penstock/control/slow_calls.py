"""Tells the controller which call of user code a worker is in, when its duty cycle has not turned for a while.

A thread looks once a second whether the worker has come round. If not, it looks at the worker's stack and says what it
sees, over a connection of its own. That costs a worker whose calls are short nothing, and needs Python's lock: of a
call that holds it for all its time nothing can be said but that it is there.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from pathlib import Path
from types import FrameType, TracebackType
from typing import Self

import zmq

from penstock.control.codec import encode
from penstock.control.membership import CALLS
from penstock.control.numbering import Numbering
from penstock.control.protocol import InCall
from penstock.control.ticket import Ticket
from penstock.control.wire import connected_dealer
from penstock.worker.bolt_task import BoltTask
from penstock.worker.fast_path import FastPath
from penstock.worker.spout_task import SpoutTask

__all__ = ["SlowCalls"]

_LOOK_EVERY_S = 1.0
_TASK_TURNS = (BoltTask.run.__code__, SpoutTask.run.__code__, FastPath.read.__code__)


class SlowCalls:
    """Watches the thread that makes it. `turns` is a number that grows as long as that thread's duty cycle turns."""

    def __init__(
        self, ticket: Ticket, name: bytes, turns: Callable[[], int], *, look_every_s: float = _LOOK_EVERY_S
    ) -> None:
        self._ticket = ticket
        self._name = name
        self._turns = turns
        self._look_every_s = look_every_s
        self._watched = threading.get_ident()
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="penstock-slow-calls", daemon=True)
        self._thread.start()

    def _watch(self) -> None:
        numbering = Numbering()
        with zmq.Context() as context:
            socket: zmq.Socket[bytes] | None = None
            seen = -1
            while not self._over.wait(self._look_every_s):
                before, seen = seen, self._turns()
                call = call_of(sys._current_frames().get(self._watched)) if seen == before else None
                if call is None:
                    continue
                if socket is None:  # for most workers never
                    socket = self._connected(context)
                if socket.poll(0, zmq.POLLOUT):
                    socket.send_multipart([numbering.stamp(call), encode(call)])
            if socket is not None:
                socket.close(linger=0)

    def _connected(self, context: zmq.Context[zmq.Socket[bytes]]) -> zmq.Socket[bytes]:
        ticket = self._ticket
        return connected_dealer(
            context,
            endpoint=ticket.endpoint,
            server_public=ticket.server_public,
            keys=ticket.keys,
            name=self._name + CALLS,
        )

    def close(self) -> None:
        """Ends the thread."""
        self._over.set()
        self._thread.join()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def call_of(frame: FrameType | None) -> InCall | None:
    """What a thread is at, if it is in a task's turn: the task, and the innermost function in Python."""
    innermost = frame
    while frame is not None and frame.f_code not in _TASK_TURNS:
        frame = frame.f_back
    if frame is None or innermost is None:
        return None
    running = frame.f_locals["self"]
    if isinstance(running, FastPath):
        running = running.current
        if running is None:  # it waits for frames
            return None
    code = innermost.f_code
    place = f"{code.co_qualname} ({Path(code.co_filename).name}:{innermost.f_lineno})"
    return InCall(component=running.component, task=running.task, place=place)
