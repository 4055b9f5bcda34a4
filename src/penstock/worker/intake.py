"""What a worker does with the frames that arrive: each goes to the part of it that it is for."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Annotated, Literal, TypeAlias, assert_never

import msgspec

from penstock._native import Record
from penstock.flow.credit import Channel, CreditTaker
from penstock.transport.frames import FOR_WORKERS, FrameKind
from penstock.transport.values import UNREADABLE
from penstock.worker.acks import Acks
from penstock.worker.arrival import LOCAL, Arrival
from penstock.worker.casts import Casts
from penstock.worker.early_frames import EarlyFrame
from penstock.worker.frame_opener import FrameOpener
from penstock.worker.moving import Moving
from penstock.worker.places import Places
from penstock.worker.pressure import PressureWatch
from penstock.worker.roster import Roster
from penstock.worker.uplinks import Uplinks

__all__ = ["Intake"]

MOST_EARLY_BYTES = 256 << 20
"""More than credit lets honest peers send before we know of the assignment that they send under."""

Taker: TypeAlias = Callable[[Record | EarlyFrame], None]

_NotNegative = Annotated[int, msgspec.Meta(ge=0)]
_decode_credit = msgspec.msgpack.Decoder(list[tuple[Channel, _NotNegative, _NotNegative]]).decode


class Intake:
    """Takes frames in.

    Args:
        roster: the tasks here.
        places: where each task is.
        opener: what makes arrivals of frames.
        credit: what is under way to others.
        uplinks: what passes through, to be put together.
        casts: what is broadcast.
        acks: what is told of trees; None where they are not tracked.
        moving: what is told of tasks that move.
        pressure: what is told of tasks that have too much to do.
        oldest_assignment: frames of an assignment before it are of a time that is over.
        tell_ends: says again which tasks have ended, to these tasks.
        processed: told of a frame that will not be worked on.
        takers: who takes what is about lent work: WANTED, OFFER, LOAN and REPAID.
    """

    def __init__(
        self,
        *,
        roster: Roster,
        places: Places,
        opener: FrameOpener,
        credit: CreditTaker,
        uplinks: Uplinks,
        casts: Casts,
        acks: Acks | None,
        moving: Moving,
        pressure: PressureWatch,
        oldest_assignment: int,
        tell_ends: Callable[[set[int]], None],
        processed: Callable[[int, Arrival], None],
        takers: Mapping[int, Taker],
    ) -> None:
        self._roster = roster
        self._places = places
        self._opener = opener
        self._credit = credit
        self._uplinks = uplinks
        self._casts = casts
        self._acks = acks
        self._moving = moving
        self._pressure = pressure
        self._oldest_assignment = oldest_assignment
        self._tell_ends = tell_ends
        self._processed = processed
        self._takers: dict[int, Taker] = {
            int(kind): taker for kind in FrameKind if (taker := self._taker_of(kind, takers)) is not None
        }
        """Who takes which frames. Those of other kinds are for a task to work on, or of no kind that there is."""
        self._early: list[EarlyFrame] = []
        self._early_bytes = 0
        self.misrouted = 0
        self.outdated = 0
        """Frames of tuples that were sent before everything was set back."""
        self.unreadable = 0
        """Frames that were none."""

    def take(self, records: Iterable[Record | EarlyFrame]) -> int:
        """Takes them in; returns how many there were."""
        taken = 0
        for record in records:
            taken += 1
            if not self.is_current(record.assignment):
                self._put_aside(record)
                continue
            kind = record.flags
            try:
                taker = self._takers.get(kind)
                if taker is not None:
                    taker(record)
                    continue
                arrival = self._opener.open(record, kind, record.payload)
            except UNREADABLE as error:
                self._refuse(record, error)
                continue
            bolt = self._roster.bolt_by_task.get(record.target)
            if bolt is not None and bolt.takes(arrival):
                bolt.accept(arrival)
            elif not self._uplinks.absorb(arrival):
                self.misrouted += len(arrival)
                self._processed(record.target, arrival)  # whoever sent it goes on all the same
        return taken

    def is_current(self, assignment: int) -> bool:
        """Whether frames that were routed by an assignment are taken in now."""
        return self._oldest_assignment <= assignment <= self._moving.newest

    def hand_failed_to(self, taker: Taker) -> None:
        """Where this is a worker of a transform: who takes FAILED. Nobody else is ever sent one."""
        self._takers[FrameKind.FAILED] = taker

    def take_early_frames(self) -> list[EarlyFrame]:
        """Gives away the frames that are routed by an assignment that was not here yet."""
        early, self._early, self._early_bytes = self._early, [], 0
        return early

    def _taker_of(self, kind: FrameKind, others: Mapping[int, Taker]) -> Taker | None:
        """Who takes the frames of a kind; None if they are for a task to work on. It raises one of `UNREADABLE`."""
        acks, moving, pressure = self._acks, self._moving, self._pressure
        match kind:
            case FrameKind.TUPLES | FrameKind.BATCH | FrameKind.MARKER | FrameKind.COMBINED:
                return None
            case FrameKind.CREDIT:
                return self._take_credit
            case FrameKind.NEWS | FrameKind.PASSED | FrameKind.CLEARED:
                return _refuse_news_of_trees if acks is None else _taker_of_trees(acks, kind)
            case FrameKind.CAST | FrameKind.TREE | FrameKind.GOT:
                return self._take_cast
            case FrameKind.MET:
                return self._take_met
            case FrameKind.HANDOVER:
                return lambda record: moving.take(EarlyFrame.of(record))
            case FrameKind.TAKEN:
                return lambda record: moving.taken(record.target, record.source)
            case FrameKind.SWITCHED:
                return lambda record: moving.heard_switched(record.source, record.assignment)
            case FrameKind.PRESSURE:
                return lambda record: pressure.take(record.source, record.assignment, record.payload)
            case FrameKind.ANSWER:
                return lambda record: pressure.take_answer(record.source, record.payload)
            case FrameKind.WANTED | FrameKind.OFFER | FrameKind.LOAN | FrameKind.REPAID:
                return others[kind]
            case FrameKind.FAILED:
                return _refuse_failed  # unless this is a transform: see hand_failed_to
            case _:
                assert_never(kind)

    def _take_credit(self, record: Record | EarlyFrame) -> None:
        for channel, size_bytes, window_bytes in _decode_credit(record.payload):
            self._credit.returned(channel, size_bytes, record.assignment, window_bytes=window_bytes)

    def _take_cast(self, record: Record | EarlyFrame) -> None:
        self.misrouted += self._casts.take(record, record.flags)

    def _take_met(self, record: Record | EarlyFrame) -> None:
        self._tell_ends(self._places.on(record.source))
        self._pressure.met(record.source)

    def _put_aside(self, record: Record | EarlyFrame) -> None:
        """Of a later assignment: kept, for its sender knew of it first. Of an earlier one: of a time that is over."""
        if record.assignment > self._moving.newest:
            self._early_bytes += len(record.payload)
            if self._early_bytes > MOST_EARLY_BYTES:
                self.misrouted += 1
            else:
                self._early.append(EarlyFrame.of(record))
        elif record.flags in (FrameKind.TUPLES, FrameKind.BATCH, FrameKind.COMBINED):
            self.outdated += 1

    def _refuse(self, record: Record | EarlyFrame, error: Exception) -> None:
        """A peer sent what is no frame. It is told of as a failure of the task it was for, and its sender goes on."""
        self.unreadable += 1
        culprit = f"frame of kind {record.flags} from task {record.source} on edge {record.stream}"
        if FrameKind.CAST <= record.flags <= FrameKind.GOT:
            bolt = self._casts.culprit_bolt(record.stream)
            if bolt is not None:
                bolt.fail(error, culprit)
            return
        bolt = self._roster.bolt_by_task.get(record.target)
        if bolt is not None and record.flags not in FOR_WORKERS:
            bolt.fail(error, culprit)
            place = self._places.at(record.source, record.assignment)
            refused = Arrival(
                edge=record.stream,
                source=record.source,
                assignment=record.assignment,
                sender=LOCAL if place is None else place,
                size_bytes=len(record.payload),
            )
            self._processed(record.target, refused)


def _taker_of_trees(acks: Acks, kind: Literal[FrameKind.NEWS, FrameKind.PASSED, FrameKind.CLEARED]) -> Taker:
    match kind:
        case FrameKind.NEWS:
            return lambda record: acks.heard(record.target, record.payload)
        case FrameKind.PASSED:
            return lambda record: acks.heard_passed(record.source, record.assignment, record.payload)
        case FrameKind.CLEARED:
            return lambda record: acks.heard_cleared(record.target)
        case _:
            assert_never(kind)


def _refuse_failed(record: Record | EarlyFrame) -> None:
    message = f"wanted a frame of a run, got FAILED from worker {record.source}, which is for those of a transform"
    raise ValueError(message)


def _refuse_news_of_trees(record: Record | EarlyFrame) -> None:
    message = f"a frame of kind {FrameKind(record.flags).name}, and trees are not tracked in this run"
    raise ValueError(message)
