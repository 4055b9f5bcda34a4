"""Casts: how the frames of a broadcast reach many workers, each of them once and in order. Pure.

A cast is what one task broadcasts on one edge. Its frames are numbered from 0 and travel along a tree of workers, from
its origin down; whoever gets one passes it on. The tree may change at any time: because a worker came or went, because
one does not pass anything on any more, or because another shape is faster. Three rules keep every frame from being lost
or doubled by that:

    1. A worker takes a frame only if it is the next one.
    2. It passes on what travels along the newest tree that it knows, taken or not, and nothing else.
    3. With a new tree, the origin sends everything again that not all members are known to have.

Why they are enough: each hop keeps the order, so along each tree a worker is offered consecutive frames, and by rule 3
the first of them is one that it has, or the next. However the trees' frames mix, none is offered too early. A gap means
that something was lost between two workers, as when a link breaks: the worker then complains, which is one more reason
for a new tree. Nothing that may have to be sent again is forgotten before all members have it.

A frame counts as received when it is in the queues of the worker's tasks, and as processed when all of them are done
with it. What is not processed is bounded by a window, like everything that travels (see penstock.flow.credit).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Iterator
from typing import Generic, NamedTuple, TypeVar

__all__ = ["IncomingCast", "OutgoingCast", "Progress", "Verdict"]

Frame = TypeVar("Frame")

FRAME_BYTES = 256
"""What the origin keeps of a frame beside what it holds. Markers hold next to nothing, but there is no end of them."""


class Progress:
    """How far one member is: the numbers of the first frames that it has not received, and not processed."""

    __slots__ = ("first", "processed", "received")

    def __init__(self, first: int) -> None:
        self.first = self.received = self.processed = first


class OutgoingCast(Generic[Frame]):
    """The origin's side.

    Args:
        window_bytes: how much may be under way, or wait to be processed, until the origin should pause.
    """

    def __init__(self, *, window_bytes: int) -> None:
        self._window_bytes = window_bytes
        self._kept: deque[tuple[Frame, int]] = deque()
        self._kept_bytes = 0
        self._first_kept = 0
        self.next_number = 0
        self.version = 0
        """Of the tree that frames travel along now."""
        self.members: dict[int, Progress] = {}

    def send(self, frame: Frame, size_bytes: int) -> int:
        """Counts a frame that is about to be sent, and keeps it until all members are done with it; its number."""
        number = self.next_number
        self.next_number += 1
        self._kept.append((frame, size_bytes))
        self._kept_bytes += size_bytes
        if not self.members:
            self._forget_processed()
        return number

    @property
    def is_full(self) -> bool:
        """Whether so much is not processed yet that the origin should pause."""
        return self._kept_bytes >= self._window_bytes

    @property
    def unreceived_bytes(self) -> int:
        """How much would have to be sent again along a new tree."""
        received = self.received
        return sum(size for number, (_, size) in enumerate(self._kept, self._first_kept) if number >= received)

    @property
    def received(self) -> int:
        """Everything before this number has been received by all members."""
        return min((member.received for member in self.members.values()), default=self.next_number)

    def join(self, worker: int) -> None:
        """From the next frame on, this worker is a member. One that was a member before begins anew."""
        self.members[worker] = Progress(self.next_number)
        self._forget_processed()

    def leave(self, worker: int) -> None:
        """This worker is gone, and nothing will be heard of it."""
        if self.members.pop(worker, None) is not None:
            self._forget_processed()

    def heard(self, worker: int, received: int, processed: int) -> None:
        """A member says how far it is. What it says of frames that were never sent is not believed."""
        member = self.members.get(worker)
        if member is None:
            return
        member.received = max(member.received, min(received, self.next_number))
        member.processed = max(member.processed, min(processed, member.received))
        self._forget_processed()

    def new_tree(self) -> Iterator[tuple[int, Frame]]:
        """Begins a new tree. Returns what is to be sent along it before anything else, with its numbers."""
        self.version += 1
        first = self.received
        return ((number, frame) for number, (frame, _) in enumerate([*self._kept], self._first_kept) if number >= first)

    def _forget_processed(self) -> None:
        first = min((member.processed for member in self.members.values()), default=self.next_number)
        while self._first_kept < first:
            _, size_bytes = self._kept.popleft()
            self._kept_bytes -= size_bytes
            self._first_kept += 1


class Verdict(NamedTuple):
    """What to do about a frame that has arrived."""

    take: bool
    """Give it to the tasks here."""
    forward: bool
    """Pass it on to the children."""
    complain: bool
    """Tell the origin that something is missing."""


class IncomingCast:
    """A member's side.

    Args:
        tasks: those that get its frames, on this worker.
        tell_at_bytes: how much each task may process until the origin is told.
    """

    def __init__(self, tasks: Collection[int], *, tell_at_bytes: int) -> None:
        self._tell_at_bytes = tell_at_bytes * max(1, len(tasks))
        self._processed = dict.fromkeys(tasks, 0)
        self._untold_bytes = 0
        self._passed_on = -1
        self._complained = 0
        self.received: int | None = None
        """The number of the next frame; None until a tree has told which that is."""
        self.version = 0
        self.children: tuple[int, ...] = ()

    @property
    def processed(self) -> int:
        """Everything before this number has been processed by all tasks."""
        return min(self._processed.values(), default=self.received or 0)

    @property
    def newest(self) -> int:
        """The newest tree that is known of, if only by frames that travel along it; 0 if none is."""
        return max(self.version, self._complained)

    def plant(self, version: int, children: tuple[int, ...], first: int) -> bool:
        """Takes in a tree: our children in it, and the first frame for whoever has had none. False if it is old."""
        if version <= self.version:
            return False
        self.version, self.children, self._passed_on = version, children, -1
        if self.received is None:
            self.received = first
            self._processed = dict.fromkeys(self._processed, first)
        return True

    def arrive(self, version: int, number: int) -> Verdict:
        """A frame has arrived along the tree of this version."""
        forward = version == self.version and number > self._passed_on
        if forward:
            self._passed_on = number
        take = number == self.received
        if take:
            self.received = number + 1
        missing = version > self.version or self.received is None or number >= self.received
        # Once for each tree is enough: the next one brings everything again.
        complain = missing and version > self._complained
        if complain:
            self._complained = version
        return Verdict(take=take, forward=forward, complain=complain)

    def process(self, task: int, number: int, size_bytes: int) -> bool:
        """A task is done with a frame. Returns whether it is time to tell the origin."""
        self._processed[task] = number + 1
        self._untold_bytes += size_bytes + FRAME_BYTES
        return self._untold_bytes >= self._tell_at_bytes

    def told(self) -> None:
        """The origin has been told how far we are."""
        self._untold_bytes = 0
