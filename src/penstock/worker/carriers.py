"""Carriers: the way from this worker to another. A ring within the node, a link to other nodes.

A carrier never waits. What does not fit now is kept, in order, and tried again each turn; how much can pile up here is
bounded by the credit of the tasks it is for.
"""

from __future__ import annotations

from collections import deque
from typing import Protocol

from penstock._native import LargeSend
from penstock.errors import RingClosedError
from penstock.flow.credit import Channel, CreditTaker
from penstock.transport.ring import RingWriter, Route

__all__ = ["Carrier", "FrameWay", "RingWay"]


class FrameWay(Protocol):
    """The bare mechanism under a carrier."""

    def try_send(self, route: Route, payload: bytes | memoryview) -> bool:
        """Sends a frame if it can be sent now. RingClosedError if the peer has closed its end."""

    def peer_is_dead(self) -> bool:
        """Whether the peer's process is known to be dead. False also where nobody can know, as on another node."""

    def close(self) -> None:
        """Lets go of the peer."""


class RingWay:
    """Over the peer's ring, in shared memory."""

    def __init__(self, writer: RingWriter) -> None:
        self._writer = writer
        self._record_limit_bytes = writer.max_record_bytes
        self._large: LargeSend | None = None
        self.try_write = writer.try_write

    def try_send(self, route: Route, payload: bytes | memoryview) -> bool:
        """See FrameWay. A frame beyond an eighth of the ring goes in packets, over as many calls as it takes."""
        if len(payload) <= self._record_limit_bytes:
            return self.try_write(payload, route)
        if self._large is None:
            self._large = self._writer.send_large(payload, route)
        if not self._large.advance():
            return False
        self._large = None
        return True

    def peer_is_dead(self) -> bool:
        """See FrameWay. Asks the kernel, so it is not for every frame: what is written meanwhile lies in the ring."""
        return self._writer.consumer_gone

    def close(self) -> None:
        """See FrameWay."""
        self._large = None
        self._writer.close()


class Carrier:
    """Frames to one other worker, in order, with credit counted."""

    def __init__(self, way: FrameWay | None, credit: CreditTaker) -> None:
        self._way = way  # None: the peer is just being restarted, and will be met later
        self._credit = credit
        self._waiting: deque[tuple[Route, bytes, int]] = deque()
        self.lost_tuples = 0
        self.gone = False

    def send(self, route: Route, payload: bytes | memoryview, tuples: int, *, channel: Channel | None = None) -> None:
        """Sends a frame, or keeps it until it can be sent: a copy, if the payload is lent.

        Its channel is from task to task, unless it is told.
        """
        if self.gone:
            self.lost_tuples += tuples
            return
        if tuples:
            self._credit.sent(channel or (route.source, route.target), len(payload))
        if self._waiting or not self._try_send(route, payload):
            self._waiting.append((route, bytes(payload), tuples))
            self._give_up_if_gone()

    def pump(self) -> int:
        """Tries again what was kept; returns how many frames went."""
        sent = 0
        while self._waiting and self._try_send(self._waiting[0][0], self._waiting[0][1]):
            self._waiting.popleft()
            sent += 1
        self._give_up_if_gone()
        return sent

    def _try_send(self, route: Route, payload: bytes | memoryview) -> bool:
        if self._way is None:
            return False
        try:
            return self._way.try_send(route, payload)
        except RingClosedError:
            # The peer is gone. Its successor will be met by `replace`; until then nobody can take anything.
            self.gone = True
            return False

    def look_after_peer(self) -> None:
        """Finds out whether the peer's process is dead."""
        if self._way is not None and not self.gone and self._way.peer_is_dead():
            self.gone = True
            self._lose_waiting()

    def give_up(self) -> None:
        """The peer has left, and nobody will come in its place before we are told: nothing waits for it."""
        self.gone = True
        self._lose_waiting()

    def _give_up_if_gone(self) -> None:
        if self.gone:
            self._lose_waiting()

    def _lose_waiting(self) -> None:
        self.lost_tuples += sum(tuples for _, _, tuples in self._waiting)
        self._waiting.clear()

    def replace(self, way: FrameWay) -> None:
        """Meets the peer, or its successor: what was kept for a predecessor is lost, and counted."""
        if self._way is not None:
            self._lose_waiting()
            self._way.close()
        self._way = way
        self.gone = False

    @property
    def waiting_frames(self) -> int:
        """How many frames could not be sent yet."""
        return len(self._waiting)

    def close(self) -> None:
        """Lets go of the peer."""
        if self._way is not None:
            self._way.close()
