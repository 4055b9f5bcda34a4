"""What others broadcast to the tasks of this worker: the members' side of casts."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import msgspec

from penstock._native import Record
from penstock.flow.cast import IncomingCast
from penstock.transport.frames import (
    CAST_HEADER_BYTES,
    NOTHING,
    CastGot,
    CastTree,
    FrameKind,
    unpack_cast_header,
)
from penstock.transport.ring import Route
from penstock.transport.values import UNREADABLE
from penstock.worker.arrival import Arrival
from penstock.worker.bolt_task import BoltTask
from penstock.worker.carriers import Carrier
from penstock.worker.company import Company
from penstock.worker.early_frames import EarlyFrame
from penstock.worker.frame_opener import FrameOpener
from penstock.worker.places import Places

__all__ = ["CastReceiver"]

MOST_CASTS_OF_ONE = 4
"""Of one task on one edge: that of its worker's process now, and of those before, or of the place before, which may
still be on its way."""

_encode = msgspec.msgpack.Encoder().encode
_decode_tree = msgspec.msgpack.Decoder(CastTree).decode


class _Incoming:
    """A cast that comes here."""

    def __init__(self, number: int, route: Route, bolts: Sequence[BoltTask], tell_at_bytes: int) -> None:
        self.number = number
        self.origin = route.target
        self.route = route
        """Of what its origin is told."""
        self.bolts = bolts
        self.cast = IncomingCast([bolt.task for bolt in bolts], tell_at_bytes=tell_at_bytes)


class CastReceiver:
    """Takes broadcasts in, shares them out among the tasks here and passes them on, undecoded.

    Args:
        company: who is there.
        bolts_of: the tasks here that take what is broadcast on an edge, under an assignment.
        places: where each task is.
        carriers: the ways to the other workers.
        opener: what makes arrivals of frames.
        window_bytes: how much a cast may have under way.
    """

    def __init__(
        self,
        *,
        company: Company,
        bolts_of: Callable[[int, int], Sequence[BoltTask]],
        places: Places,
        carriers: Mapping[int, Carrier],
        opener: FrameOpener,
        window_bytes: int,
    ) -> None:
        self._company = company
        self._bolts_of = bolts_of
        self._places = places
        self._carriers = carriers
        self._opener = opener
        self._tell_at_bytes = max(1, window_bytes // 4)
        self._casts: dict[int, _Incoming] = {}
        self._casts_of: dict[tuple[int, int], list[int]] = {}
        self._due: dict[int, _Incoming] = {}

    def take_tree(self, record: Record | EarlyFrame) -> None:
        """A cast takes another way from now on."""
        tree = _decode_tree(record.payload)
        generation, first = tree.firsts.get(self._company.me, (0, 0))
        if generation != self._company.generation_of[self._company.me]:
            return  # meant for who was this worker before
        incoming = self._incoming(tree.cast, record)
        if incoming is None:
            return
        children = tuple(child for child in tree.children.get(self._company.me, ()) if child in self._carriers)
        if incoming.cast.plant(tree.version, children, first):
            self._pass_on(record, incoming)

    def take(self, record: Record | EarlyFrame) -> int:
        """A frame of a cast; returns how many tuples were for none of the tasks here. Raises one of `UNREADABLE`."""
        payload = record.payload
        header = unpack_cast_header(payload)
        incoming = self._incoming(header.cast, record)
        if incoming is None:
            return 1
        verdict = incoming.cast.arrive(header.version, header.number)
        if verdict.forward and incoming.cast.children:
            self._pass_on(record, incoming)
        if header.asks or verdict.complain:
            self._tell(incoming, header.version if verdict.complain else 0)
        return self._share_out(record, header.kind, header.number, incoming) if verdict.take else 0

    def _share_out(self, record: Record | EarlyFrame, kind: int, number: int, incoming: _Incoming) -> int:
        if kind == NOTHING:
            for bolt in incoming.bolts:
                self._note_processed(incoming, bolt.task, number, 0)
            return 0
        # Opened once for all tasks here: like tuples of the same worker, they are shared, and not copied.
        try:
            opened = self._opener.open(record, kind, memoryview(record.payload)[CAST_HEADER_BYTES:])
        except UNREADABLE:  # told of by who called us; the origin need not wait for it
            for bolt in incoming.bolts:
                self._note_processed(incoming, bolt.task, number, len(record.payload))
            raise
        misrouted = 0
        for bolt in incoming.bolts:
            if bolt.takes(opened):
                bolt.accept(msgspec.structs.replace(opened, cast=incoming, number=number))
            else:
                misrouted += len(opened)
                self._note_processed(incoming, bolt.task, number, len(record.payload))
        return misrouted

    def processed(self, task: int, arrival: Arrival) -> None:
        """A task is done with a frame of a cast."""
        self._note_processed(arrival.cast, task, arrival.number, arrival.size_bytes)

    def _note_processed(self, incoming: _Incoming, task: int, number: int, size_bytes: int) -> None:
        if incoming.cast.process(task, number, size_bytes):
            self._due[incoming.number] = incoming

    @property
    def is_in_use(self) -> bool:
        """Whether anything was broadcast to this worker."""
        return bool(self._casts)

    def tell(self) -> None:
        """Tells origins how far we are, where that is due."""
        for incoming in self._due.values():
            self._tell(incoming, 0)
        self._due.clear()

    def meet(self, worker: int) -> None:
        """There is another way to a worker, or another process is that worker: what was sent to it may be lost.

        To a child, that was what we have passed on, perhaps the last for long: only the origin can send it again.
        To the origin, it was what we have told it, and it may wait for nothing else.
        """
        for incoming in self._casts.values():
            if worker == incoming.origin or worker in incoming.cast.children:
                self._tell(incoming, incoming.cast.newest)

    def first_bolt(self, edge: int) -> BoltTask | None:
        """A task that takes what is broadcast on this edge, if one is here."""
        return next(iter(self._bolts_of(edge, self._places.assignment)), None)

    def _incoming(self, cast: int, record: Record | EarlyFrame) -> _Incoming | None:
        """The cast; None if it was for tasks that are elsewhere now, and that the one who died here had."""
        incoming = self._casts.get(cast)
        if incoming is not None:
            return incoming
        bolts = self._bolts_of(record.stream, record.assignment)
        origin = self._places.at(record.source, record.assignment)
        if not bolts or origin is None or origin not in self._carriers:
            if record.assignment < self._places.assignment:
                return None
            message = f"nobody here takes what task {record.source} broadcasts on edge {record.stream}"
            raise ValueError(message)
        known = self._casts_of.setdefault((record.source, record.stream), [])
        known.append(cast)
        while len(known) > MOST_CASTS_OF_ONE:
            del self._casts[known.pop(0)]
        # Under the number by which it was laid: its origin may be a worker that has come since an earlier one.
        route = Route(
            target=origin,
            source=self._company.me,
            stream=record.stream,
            assignment=record.assignment,
            flags=FrameKind.GOT,
        )
        incoming = _Incoming(cast, route, bolts, self._tell_at_bytes)
        self._casts[cast] = incoming
        return incoming

    def _pass_on(self, record: Record | EarlyFrame, incoming: _Incoming) -> None:
        route = Route(
            target=record.target,
            source=record.source,
            stream=record.stream,
            assignment=record.assignment,
            flags=record.flags,
        )
        for child in incoming.cast.children:
            self._carriers[child].send(route, record.payload, 0)

    def _tell(self, incoming: _Incoming, complaint: int) -> None:
        cast, me = incoming.cast, self._company.me
        got = CastGot(
            incoming.number,
            self._company.generation_of[me],
            cast.received or 0,
            cast.processed,
            complaint,
        )
        cast.told()
        self._carriers[incoming.origin].send(incoming.route, _encode(got), 0)
