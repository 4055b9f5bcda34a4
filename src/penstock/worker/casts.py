"""A worker's part in broadcasts: what its own tasks send, and what comes to them or passes through."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from penstock._native import Record
from penstock.transport.frames import CastGot, FrameKind
from penstock.worker.bolt_task import BoltTask
from penstock.worker.cast_receiver import CastReceiver
from penstock.worker.cast_sender import CastSender
from penstock.worker.company import Colleague, Company
from penstock.worker.early_frames import EarlyFrame

__all__ = ["Casts"]

_decode_got = msgspec.msgpack.Decoder(CastGot).decode


class Casts:
    """All casts of a worker.

    Args:
        company: who is there.
        senders: what the tasks here broadcast.
        receiver: what is broadcast to them.
    """

    def __init__(self, *, company: Company, senders: list[CastSender], receiver: CastReceiver) -> None:
        self._company = company
        self._senders = {sender.cast: sender for sender in senders}
        self._receiver = receiver
        self.processed = receiver.processed
        """A task is done with an arrival."""

    def take(self, record: Record | EarlyFrame, kind: int) -> int:
        """Takes a frame of a cast in; returns how many tuples were for nobody. Raises one of `UNREADABLE`."""
        if kind == FrameKind.CAST:
            return self._receiver.take(record)
        if kind == FrameKind.TREE:
            self._receiver.take_tree(record)
        else:
            got = _decode_got(record.payload)
            sender = self._senders.get(got.cast)
            if sender is not None:  # else it tells of a cast of who was this worker before
                sender.heard(record.source, got)
        return 0

    @property
    def is_in_use(self) -> bool:
        """Whether anything is broadcast from here, or to here."""
        return bool(self._senders) or self._receiver.is_in_use

    def tell(self) -> None:
        """For the end of each turn in which it `is_in_use`: tells origins how far we are, where that is due."""
        self._receiver.tell()
        for sender in self._senders.values():
            sender.look()

    def add(self, senders: Iterable[CastSender]) -> None:
        """A task has come, or broadcasts anew. Those that are not needed any more are forgotten."""
        self._senders = {number: sender for number, sender in self._senders.items() if not sender.is_done}
        self._senders.update((sender.cast, sender) for sender in senders)

    def culprit_bolt(self, edge: int) -> BoltTask | None:
        """The task that is told of a frame on this edge that was none."""
        return self._receiver.first_bolt(edge)

    def meet(self, colleague: Colleague) -> None:
        """A worker came, another process is that worker now, or it has to be told everything again."""
        awaited = not self._company.has_met(colleague.worker)
        is_new = self._company.met(colleague)
        for sender in self._senders.values():
            sender.meet(colleague.worker, is_new=is_new, was_awaited=awaited)
        self._receiver.meet(colleague.worker)

    def lose(self, worker: int, generation: int) -> bool:
        """A worker is gone, unless we know its successor already. Returns whether it is gone."""
        if self._company.generation_of.get(worker) != generation:
            return False
        self._company.lost(worker)
        for sender in self._senders.values():
            sender.lose(worker)
        return True

    def heard_of(self, worker: int, generation: int, *, silent: bool) -> None:
        """A worker cannot be reached, or can be again."""
        if self._company.generation_of.get(worker) != generation or silent == (worker in self._company.silent):
            return
        self._company.heard_of(worker, silent=silent)
        for sender in self._senders.values():
            sender.reroute()
