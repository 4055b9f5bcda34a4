"""Carriers: the way from this worker to another. A ring within the node, a link to other nodes.

A carrier never waits. What does not fit now is kept and tried again each turn, by the policy for what goes out (see
waiting_frames); how much can pile up here is bounded by the credit of the tasks it is for.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Protocol

from penstock._native import LargeSend
from penstock.errors import RingClosedError
from penstock.flow.credit import Channel, CreditTaker
from penstock.transport.board import BoardSlot
from penstock.transport.links import LinkSender
from penstock.transport.ring import RingWriter, Route
from penstock.worker.bundles import WaitingFrame
from penstock.worker.lanes import DirectWrite
from penstock.worker.waiting_frames import InOneLine, WaitingFrames

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
        self.writer = writer
        self._record_limit_bytes = writer.max_record_bytes
        self._large: LargeSend | None = None
        self.try_write = writer.try_write
        self.slot = BoardSlot(writer.memory_fd)
        """What the peer has to send."""

    def try_send(self, route: Route, payload: bytes | memoryview) -> bool:
        """See FrameWay. A frame beyond an eighth of the ring goes in packets, over as many calls as it takes."""
        if len(payload) <= self._record_limit_bytes:
            return self.try_write(payload, route)
        if self._large is None:
            self._large = self.writer.send_large(payload, route)
        if not self._large.advance():
            return False
        self._large = None
        return True

    @property
    def door(self) -> int:
        """The descriptor of the peer's door, which the kernel closes when the peer is dead."""
        return self.writer.door_fd

    def peer_is_dead(self) -> bool:
        """See FrameWay. Asks the kernel, so it is not for every frame: what is written meanwhile lies in the ring."""
        return self.writer.consumer_gone

    def close(self) -> None:
        """See FrameWay."""
        self._large = None
        self.slot.close()
        self.writer.close()


class Carrier:
    """Frames to one other worker, with credit counted.

    Args:
        way: to it. None: the peer is just being restarted, and will be met later.
        credit: what is under way.
        waiting: what is kept, and in which order it leaves.
        congested: the carriers of the worker that keep anything; it puts itself there.
    """

    def __init__(
        self,
        way: FrameWay | None,
        credit: CreditTaker,
        waiting: WaitingFrames | None = None,
        congested: dict[Carrier, None] | None = None,
    ) -> None:
        self._way = way
        self._credit = credit
        self._direct = self._direct_over(way)
        self.waiting = InOneLine() if waiting is None else waiting
        self._congested: dict[Carrier, None] = {} if congested is None else congested
        self.lost_tuples = 0
        self.gone = False

    def _direct_over(self, way: FrameWay | None) -> DirectWrite | None:
        return DirectWrite(way.writer, self._credit.sent) if isinstance(way, RingWay) else None

    @property
    def direct(self) -> DirectWrite | None:
        """See Sender. None while this carrier keeps frames: what a lane wrote would overtake them."""
        if self.gone or (self._congested and self in self._congested):
            return None
        return self._direct

    def send(self, route: Route, payload: bytes | memoryview, tuples: int, *, channel: Channel | None = None) -> None:
        """Sends a frame, or keeps it until it can be sent: a copy, if the payload is lent.

        Its channel is from task to task, unless it is told.
        """
        if self.gone:
            self.lost_tuples += tuples
            return
        if tuples:
            self._credit.sent(channel or (route.source, route.target), len(payload))
        if self.waiting:
            self.waiting.add(WaitingFrame(route, bytes(payload), tuples))
        elif not self._try_send(route, payload):
            self.waiting.add(WaitingFrame(route, bytes(payload), tuples), tried=True)
            self._congested[self] = None
            self._give_up_if_gone()

    def pump(self, held: Collection[int] = ()) -> int:
        """Tries again what was kept; returns how many frames went. Operators that are `held` wait, if it is a link.

        Over a ring, a part of what was tried may have left: it stays the next. Over a link it is chosen anew each time.
        """
        sent = 0
        leaves_node = self.leaves_node
        if not leaves_node:
            held = ()
        while (frame := self.waiting.next(held, anew=leaves_node)) is not None:
            if not self._try_send(frame.route, frame.payload):
                break
            self.waiting.gone()
            if frame.saved_bytes:
                route = frame.route
                self._credit.returned((route.source, route.target), frame.saved_bytes, route.assignment)
            sent += 1
        self._give_up_if_gone()
        if not self.waiting:
            self._congested.pop(self, None)
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
        self.lost_tuples += self.waiting.clear()
        self._congested.pop(self, None)

    def replace(self, way: FrameWay) -> None:
        """Meets the peer, or its successor: what was kept for a predecessor is lost, and counted."""
        if self._way is not None:
            self._lose_waiting()
            self._way.close()
        self._way = way
        self._direct = self._direct_over(way)
        self.gone = False

    @property
    def waiting_frames(self) -> int:
        """How many frames could not be sent yet."""
        return len(self.waiting)

    @property
    def leaves_node(self) -> bool:
        """Whether it leads to another node, by the way out that all workers of this node share."""
        return isinstance(self._way, LinkSender)

    @property
    def slot(self) -> BoardSlot | None:
        """Where the peer says what it has to send, if it is on this node."""
        return self._way.slot if isinstance(self._way, RingWay) else None

    @property
    def ring_way(self) -> RingWay | None:
        """The way to a peer of this node; None if it is elsewhere, or known to be gone."""
        return self._way if isinstance(self._way, RingWay) and not self.gone else None

    def close(self) -> None:
        """Lets go of the peer."""
        if self._way is not None:
            self._way.close()
