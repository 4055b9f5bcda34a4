"""The fast path: tuples that find their task with nothing else to do are worked on where they are read.

A turn of the worker asks many parts whether they have something to do. Most tuples of a stream that keeps up need none
of them: a frame comes, its task is free, those that it feeds have room. The native core works on such a frame at once
and sends what comes of it (see native/bindings/fast_path.hpp). Here is what it asks: which task is free, how a channel
is read, and who is told afterwards.

Everything else takes the turn of the worker; and while a task has anything waiting there, so does all that comes for
it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Any

from penstock import _native
from penstock._native import Calls, FastTask, Histogram, Record
from penstock.flow.credit import Channel
from penstock.worker.arrival import Arrival
from penstock.worker.bolt_task import BoltTask
from penstock.worker.credit_returns import CreditReturns
from penstock.worker.frame_opener import FrameOpener
from penstock.worker.roster import Roster
from penstock.worker.wakeup import Inbox

__all__ = ["FastPath"]


class FastPath:
    """Of one worker.

    Args:
        roster: the tasks here.
        opener: how frames are read.
        returns: who gives credit back.
        is_current: whether a frame of an assignment may be worked on now.
        exhausted: channels that nothing may be put on for now.
        room_tuples: how many tuples a task may do before it is known again whether those that it feeds have room.
        congested: the carriers that keep frames; only whether there are any matters.
        now_ns: the time; None for that of the system.
    """

    def __init__(
        self,
        *,
        roster: Roster,
        opener: FrameOpener,
        returns: CreditReturns,
        is_current: Callable[[int], bool],
        exhausted: Callable[[], set[Channel]],
        room_tuples: Callable[[BoltTask], int],
        congested: Collection[object],
        now_ns: Callable[[], int] | None,
    ) -> None:
        self._roster = roster
        self._opener = opener
        self._returns = returns
        self._is_current = is_current
        self._exhausted = exhausted
        self._room_tuples = room_tuples
        self._congested = congested
        self._native = _native.FastPath(
            ready=self._ready, channel=self._channel, flush=self._flush, unfinished=self._unfinished, now_ns=now_ns
        )

    def read(self, inbox: Inbox, max_records: int, timeout_s: float) -> tuple[list[Record], int]:
        """Reads the inbox, and works on what it can.

        Returns what is left to the worker's turn, and how many frames were worked on.
        """
        records = inbox.read_fast(self._native, max_records, timeout_s)
        frames = self._native.frames
        if frames:
            self._settle()
        return records, frames

    def take_waited_ns(self) -> int:
        """How long it has waited for frames since the last time."""
        return self._native.take_waited_ns()

    @property
    def current(self) -> BoltTask | None:
        """The bolt whose user code runs just now, if one was called from here."""
        current: BoltTask | None = self._native.current
        return current

    # ---- what the native core asks

    def _ready(self, task: int) -> FastTask | None:
        bolt = self._roster.bolt_by_task.get(task)
        if bolt is None or not bolt.is_free or bolt.blocked_by(self._exhausted()) or self._congested:
            return None
        fast = bolt.fast
        assert fast is not None
        fast.room = self._room_tuples(bolt)
        fast.most = bolt.most_at_once
        return fast

    def _channel(
        self, bolt: BoltTask, edge: int, source: int, assignment: int
    ) -> tuple[Callable[[Any], Any], Callable[[Sequence[Any]], list[Any]] | None, Histogram, int] | None:
        decode = self._opener.decoder(edge)
        if decode is None or not self._is_current(assignment) or not bolt.is_laid(edge, source, assignment):
            return None
        sender = self._opener.sender(source, assignment)
        due_at_bytes = self._returns.bytes_until_due(sender, (source, bolt.task), assignment)
        return decode, bolt.keys_of(edge), bolt.hops[edge], due_at_bytes

    def _flush(self, bolt: BoltTask, origin_ns: int, now_ns: int) -> bool:
        bolt.oldest_origin_ns = origin_ns
        bolt.flush(now_ns)
        # Who is fed in this worker has its turn; what could not leave, or has used up credit, is for that, too.
        return bolt.feeds_others_only and not self._congested and not bolt.blocked_by(self._exhausted())

    def _unfinished(
        self,
        bolt: BoltTask,
        calls: Calls,
        keys: list[Any] | None,
        place: tuple[int, int, int],
        size_bytes: int,
        decoded: tuple[int, int, int, Any, list[Any]],
        oldest_origin_ns: int,
    ) -> None:
        edge, source, assignment = place
        origin_ns, sent_ns, frame, runs, tuples = decoded
        arrival = Arrival(
            edge=edge,
            source=source,
            assignment=assignment,
            sender=self._opener.sender(source, assignment),
            size_bytes=size_bytes,
            origin_ns=origin_ns,
            sent_ns=sent_ns,
            frame=frame,
            runs=runs,
            tuples=tuples,
        )
        bolt.oldest_origin_ns = oldest_origin_ns
        bolt.go_on_with(arrival, calls, keys)

    def _settle(self) -> None:
        """Counts what was done, as the turn of a worker does."""
        for bolt, busy_ns, channels in self._native.take_done():
            bolt.busy_ns += busy_ns
            done = 0
            for _, source, assignment, tuples, size_bytes in channels:
                done += tuples
                sender = self._opener.sender(source, assignment)
                bolt.note_taken(sender, tuples, size_bytes)
                self._returns.processed(sender, (source, bolt.task), size_bytes, assignment)
            bolt.processed += done
            if done:
                bolt.note_pace(done, busy_ns)
