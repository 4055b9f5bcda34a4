"""The worker's end of control. It never blocks: the worker looks at it between two turns of its duty cycle."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from types import TracebackType
from typing import Self

import zmq

from penstock.control.attention import AttentiveClock
from penstock.control.codec import decode_from_controller, encode
from penstock.control.numbering import Numbering
from penstock.control.protocol import Admit, FromController, FromWorker, Heartbeat, Noted, Refuse
from penstock.control.wire import connected_dealer, new_name
from penstock.errors import ProtocolError, RunError
from penstock.transport.links import LinkKeys

__all__ = ["ControlClient"]

_HEARTBEAT_EVERY_S = 0.5
# While the driver owes an answer, at most this much of a pause between two polls counts as its silence.
_ATTENTION_S = 0.5
# What the driver has not taken yet, beside what ZeroMQ holds. Far more than a driver that lives lets pile up.
_MOST_WAITING = 10_000
_FLUSH_STEP_S = 0.01


class ControlClient:
    """Speaks with the controller, and notices when it is gone. For one thread.

    Nothing that is sent gets lost without a word: it waits here until ZeroMQ takes it, and a loss on the way is noticed
    at the other end, which then refuses this worker.
    """

    def __init__(
        self,
        *,
        endpoint: str,
        server_public: bytes,
        keys: LinkKeys,
        driver_silence_s: float = 10.0,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._endpoint = endpoint
        self._driver_silence_s = driver_silence_s
        self._clock = AttentiveClock(most_s=_ATTENTION_S, clock=clock)
        self._context: zmq.Context[zmq.Socket[bytes]] = zmq.Context()
        self.name = new_name()
        """What the controller knows this connection by. Those beside it (see membership) are named after it."""
        self._socket = connected_dealer(
            self._context, endpoint=endpoint, server_public=server_public, keys=keys, name=self.name
        )
        self._numbering = Numbering()
        self._waiting: deque[tuple[bytes, bytes]] = deque()
        self._heard_early: list[FromController] = []
        """What was heard while an answer was waited for."""
        self.turns = 0
        """How often `poll` was called: it grows for as long as the worker's duty cycle turns."""
        self._admitted = False
        self._asked_at_s: float | None = None
        """Since when the driver owes us an answer; None if it owes none."""
        self._heartbeat_at_s = 0.0
        self._gone: str | None = None
        self._closed = False
        self._has_sent = False

    @property
    def descriptor(self) -> int:
        """Readable when the controller may have said something; `wants_poll` says when it may be quiet about that."""
        return int(self._socket.get(zmq.FD))

    @property
    def wants_poll(self) -> bool:
        """Whether `poll` has something to do of which the descriptor says nothing.

        ZeroMQ looks at what has come also when it sends, and is quiet about it from then on. So whoever has sent
        something polls before it sleeps.
        """
        return self._has_sent or bool(self._heard_early)

    @property
    def is_backed_up(self) -> bool:
        """Whether messages wait until the driver takes more: `poll` tries them again."""
        return bool(self._waiting)

    @property
    def driver_gone(self) -> str | None:
        """Why this worker must leave, because nobody leads it any more; None if all is well."""
        return self._gone

    def send(self, message: FromWorker) -> None:
        """Sends a message, now or when there is room. The first must be Register, which is owed an answer."""
        if self._asked_at_s is None and not self._admitted:
            self._asked_at_s = self._clock.now_s()
        if len(self._waiting) >= _MOST_WAITING:
            text = f"the driver at {self._endpoint} does not keep up: {len(self._waiting)} messages wait for it"
            raise RunError(text)
        self._waiting.append((self._numbering.stamp(message), encode(message)))
        self._has_sent = True  # also if there is no room: the look for it is as good as a send
        self._push()

    def poll(self) -> list[FromController]:
        """What the controller said since the last time. Also sends what waited, and heartbeats when they are due."""
        self.turns += 1
        self._has_sent = False
        now_s = self._clock.now_s()
        heard, self._heard_early = self._heard_early, []
        while self._gone is None and self._events() & zmq.POLLIN:
            self._take(heard)
        if heard:
            self._asked_at_s = None
        elif self._asked_at_s is not None and now_s - self._asked_at_s >= self._driver_silence_s:
            self._gone = f"the driver at {self._endpoint} has not answered for {self._driver_silence_s:g} s"
        if self._admitted and now_s >= self._heartbeat_at_s:
            self._heartbeat_at_s = now_s + _HEARTBEAT_EVERY_S
            if self._asked_at_s is None:
                self._asked_at_s = now_s
            self.send(Heartbeat())
        else:
            self._push()
        return heard

    def confirm(self, message: FromWorker) -> None:
        """Sends a message, and waits until the controller has it: it says Noted. Or that we are not wanted any more.

        Gives up waiting when the driver is silent for so long that `poll` will notice.
        """
        self.send(message)
        deadline_s = time.monotonic() + self._driver_silence_s
        answered = False
        while not answered and self._gone is None and time.monotonic() < deadline_s:
            self._push()
            if self._socket.poll(round(_FLUSH_STEP_S * 1000)):
                heard: list[FromController] = []
                self._take(heard)
                answered = any(isinstance(word, Noted | Refuse) for word in heard)
                self._heard_early += [word for word in heard if not isinstance(word, Noted)]

    def _take(self, heard: list[FromController]) -> None:
        parts = self._socket.recv_multipart()
        try:
            stamp, payload = parts
            message = decode_from_controller(payload)
            objection = self._numbering.objection(stamp, message)
            if objection is None:
                self._admitted |= isinstance(message, Admit)
                heard.append(message)
        except (ProtocolError, ValueError) as error:
            objection = str(error)
        if objection is not None:
            self._gone = f"what the driver at {self._endpoint} says cannot be relied on: {objection}"

    def wait(self, timeout_s: float) -> bool:
        """Waits until the controller says something; False if it did not in time."""
        return bool(self._socket.poll(round(timeout_s * 1000)))

    def flush(self, timeout_s: float = 2.0) -> bool:
        """Hands everything that waits to ZeroMQ; False if the driver did not take it in time."""
        deadline_s = time.monotonic() + timeout_s
        while not self._push() and time.monotonic() < deadline_s:
            self._socket.poll(round(_FLUSH_STEP_S * 1000), zmq.POLLOUT)
        return not self._waiting

    def _push(self) -> bool:
        try:
            while self._waiting and self._events() & zmq.POLLOUT:
                self._socket.send_multipart(self._waiting[0], zmq.NOBLOCK)
                self._waiting.popleft()
                self._has_sent = True  # it was looked for room, and what has come meanwhile is not told of again
        except zmq.Again:  # it said that there was room, and lost its connection the moment after
            pass
        return not self._waiting

    def _events(self) -> int:
        return int(self._socket.get(zmq.EVENTS))

    def close(self, linger_s: float = 2.0) -> None:
        """Closes the connection; what was sent may still leave for so long, unless the driver is gone."""
        if self._closed:
            return
        self._closed = True
        linger_ms = 0 if self._gone is not None else round(linger_s * 1000)
        if self._gone is None:
            self.flush(linger_s)
        self._socket.close(linger=linger_ms)
        self._context.term()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
