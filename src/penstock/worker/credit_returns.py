"""Credit on its way back: to whom, and when, a worker says that what they have sent is done with."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping

import msgspec

from penstock.flow.credit import Channel, CreditGiver
from penstock.transport.frames import FrameKind
from penstock.transport.ring import Route
from penstock.worker.arrival import LOCAL
from penstock.worker.carriers import Carrier

__all__ = ["CreditReturns"]

EVERYTHING_BYTES = 1 << 62

_encode = msgspec.msgpack.Encoder().encode


class CreditReturns:
    """What one worker gives back.

    Args:
        worker: its number.
        carriers: the ways to the others.
        window_bytes: what a channel may have under way at most.
        window_of: what a channel into a task here may have under way now; 0 if nothing is to be said about it.
    """

    def __init__(
        self, *, worker: int, carriers: Mapping[int, Carrier], window_bytes: int, window_of: Callable[[int], int]
    ) -> None:
        self._worker = worker
        self._carriers = carriers
        self._given = CreditGiver(window_bytes=window_bytes)
        self._window_of = window_of
        self._due: defaultdict[tuple[int, int], Counter[Channel]] = defaultdict(Counter)

    def processed(self, sender: int, channel: Channel, size_bytes: int, assignment: int) -> None:
        """What a worker has sent on a channel, and routed by an assignment, is done with."""
        if sender == LOCAL or sender == self._worker:
            return
        due = self._given.processed(sender, channel, size_bytes, assignment)
        if due:
            self._due[sender, assignment][channel] += due

    def bytes_until_due(self, sender: int, channel: Channel, assignment: int) -> int:
        """How much more has to be done before credit goes back."""
        if sender == LOCAL or sender == self._worker:
            return EVERYTHING_BYTES
        return self._given.bytes_until_due(sender, channel, assignment)

    def meet(self, peer: int, channels: Iterable[Channel], assignment: int) -> None:
        """Another process is this worker, and may have sent before we met it: credit for that went to the one before.

        So it is told that all of it is done with, however much that was: a frame may be larger than a window. What is
        too much is forgotten by whoever gets it, and a window more than usual may be under way for once.
        """
        self._given.forget(peer)
        for channel in channels:
            self._due[peer, assignment][channel] = EVERYTHING_BYTES

    def send(self) -> None:
        """Gives back all that is due, and tells each sender how large its window is to be."""
        if not self._due:
            return
        for (sender, assignment), due in self._due.items():
            route = Route(target=sender, source=self._worker, assignment=assignment, flags=FrameKind.CREDIT)
            told = [
                (channel, size_bytes + self._given.take(sender, channel, assignment), self._window_of(channel[1]))
                for channel, size_bytes in due.items()
            ]
            self._carriers[sender].send(route, _encode(told), 0)
            for channel, _, window_bytes in told:
                if window_bytes:
                    self._given.told(sender, channel, window_bytes, assignment)
        self._due.clear()
