"""What stands in for rings and links: bounded inboxes in ordinary memory, and ways to them.

>>> from penstock.transport.ring import Route
>>> inbox = MemoryInbox(capacity_bytes=10)
>>> way = MemoryWay(inbox)
>>> way.try_send(Route(target=7), b"12345678"), way.try_send(Route(target=8), b"12345678")
(True, False)
>>> [(record.target, record.payload) for record in inbox.read_many()]
[(7, b'12345678')]
>>> way.try_send(Route(target=8), b"12345678")
True
"""

from __future__ import annotations

from collections import deque
from random import Random

from penstock._native import FastPath
from penstock.errors import RingClosedError
from penstock.transport.ring import Route

__all__ = ["MemoryInbox", "MemoryRecord", "MemoryWay"]

FAST_FRAMES = (0, 0, 1, 2, 8)
"""How many frames may be worked on where they are read, each as likely as the other."""


class MemoryRecord:
    """A frame as it lies in an inbox."""

    __slots__ = ("assignment", "flags", "payload", "route", "source", "stream", "target")

    def __init__(self, route: Route, payload: bytes | memoryview) -> None:
        self.route = route
        self.target = route.target
        self.source = route.source
        self.stream = route.stream
        self.assignment = route.assignment
        self.flags = route.flags
        self.payload = bytes(payload)


class MemoryInbox:
    """Where frames for one worker arrive. Like a ring it has a capacity, and frames of any size pass it.

    With `random`, some of them are worked on where they are read; without, all of them are handed out.
    """

    def __init__(self, *, capacity_bytes: int, random: Random | None = None) -> None:
        self._capacity_bytes = capacity_bytes
        self._random = random
        self._used_bytes = 0
        self._records: deque[MemoryRecord] = deque()
        self.closed = False
        """Whether its worker is gone."""

    def read_many(self, max_records: int = 256, timeout_s: float | None = None) -> list[MemoryRecord]:  # noqa: ARG002
        """Takes what has arrived. Never waits: in a test, who would send meanwhile?"""
        taken = [self._records.popleft() for _ in range(min(max_records, len(self._records)))]
        self._used_bytes -= sum(len(record.payload) for record in taken)
        return taken

    def read_fast(
        self, fast_path: FastPath, max_records: int = 256, timeout_s: float | None = None
    ) -> list[MemoryRecord]:
        """As a ring does, but it works on a few frames at most, by chance: the rest waits as in a flood."""
        fast_path.begin()
        most = 0 if self._random is None else self._random.choice(FAST_FRAMES)
        for _ in range(min(max_records, len(self._records), most)):
            if fast_path.wants_python:
                break
            record = self._records.popleft()
            if not fast_path.take(record.route, record.payload):
                self._records.appendleft(record)
                break
            self._used_bytes -= len(record.payload)
        fast_path.flush()
        return self.read_many(max_records, timeout_s)

    def ring_bell(self, bits: int) -> None:
        """See Inbox. Nobody sleeps here."""

    def put(self, record: MemoryRecord) -> bool:
        """Takes a frame if there is room for it; one that is larger than the inbox needs all of it.

        Raises:
            RingClosedError: nobody will read it any more.
        """
        if self.closed:
            message = "the inbox is closed: its worker is gone"
            raise RingClosedError(message)
        if self._records and self._used_bytes + len(record.payload) > self._capacity_bytes:
            return False
        self._records.append(record)
        self._used_bytes += len(record.payload)
        return True

    def close(self) -> None:
        """Its worker is gone, with all that it had not read."""
        self.closed = True
        self._records.clear()
        self._used_bytes = 0

    def __len__(self) -> int:
        """How many frames wait to be read."""
        return len(self._records)


class MemoryWay:
    """To the inbox of another worker."""

    def __init__(self, inbox: MemoryInbox) -> None:
        self._inbox = inbox

    def try_send(self, route: Route, payload: bytes | memoryview) -> bool:
        """Sends a frame if there is room for it. RingClosedError if the peer is gone."""
        return self._inbox.put(MemoryRecord(route, payload))

    def peer_is_dead(self) -> bool:
        """Whether its inbox is closed."""
        return self._inbox.closed

    def close(self) -> None:
        """Lets go of the peer; there is nothing to let go of."""
