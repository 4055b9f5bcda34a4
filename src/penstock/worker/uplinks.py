"""Uplinks: what a worker's tasks have emitted for the one task of an edge is put together, and sent on once a turn.

From task to worker to node to the one task: an uplink takes what its worker's own tasks emit and, where its worker is
the head of its node, what its neighbours have put together. There is no timer: what has piled up in a turn is one
frame, and an idle system passes each tuple on at once.

Credit is counted by edge and speaker (see flow/combining), between this worker and the next on the way. What was taken
from another worker is paid for when it is sent on. So what waits anywhere is bounded, also where what is put together
grows; and as no credit is shared by sources that have passed different markers, nobody waits for a marker of somebody
who waits for credit.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, TypeAlias

import msgspec

from penstock.errors import MessageTooLargeError, RunError
from penstock.flow.ascent import next_on_the_way_up
from penstock.flow.combining import Combining, Partial, Parting
from penstock.flow.credit import Channel, CreditTaker, target_of_edge
from penstock.flow.ledger import AckBook
from penstock.flow.runs import Runs
from penstock.topology.groupings import Combine
from penstock.topology.tuples import Tuple
from penstock.transport.frames import FrameKind
from penstock.transport.ring import Route
from penstock.transport.values import UNENCODABLE, portable
from penstock.worker.arrival import Arrival, Marker
from penstock.worker.carriers import Carrier
from penstock.worker.company import Company
from penstock.worker.failures import USER_ERRORS, Failures, reason_of
from penstock.worker.lanes import MOST_TUPLE_BYTES, Lane, Receiver

__all__ = ["EdgeToOne", "Uplink", "Uplinks"]

Debt: TypeAlias = tuple[int, Channel, int]
"""Credit that is due: to which worker, of which channel, and how many bytes."""

_encode = msgspec.msgpack.Encoder().encode


class EdgeToOne(msgspec.Struct, frozen=True, kw_only=True):
    """An edge whose tuples are put together on the way."""

    edge: int
    target: int
    component: str
    """The one that the target is a task of."""
    make: type[Tuple]
    combine: Combine
    sources: frozenset[int]
    receiver: Receiver | None
    """The target, if it is in this worker."""
    wants_plain: bool
    """Whether the target is given plain tuples."""


class Uplink:
    """The way up from this worker, of one edge."""

    def __init__(self, to_one: EdgeToOne, uplinks: Uplinks) -> None:
        self.to_one = to_one
        self.lanes: dict[int, Lane] = {}
        """Those of this worker's own sources."""
        self._about = uplinks
        self._top = uplinks.worker_of[to_one.target]
        self.source_workers = {uplinks.worker_of[source] for source in to_one.sources}
        self._combining = Combining(self._fold, uplinks.book)
        self._ended: set[int] = set()
        """Sources whose end was passed on. It is told again where it may have been lost on the way."""
        self.debts: list[Debt] = []
        """What is due for what was taken from other workers and has been sent on."""
        self.next_worker = self._way_up()
        """Who is next on the way."""

    @property
    def pending(self) -> bool:
        """Whether anything waits here."""
        return bool(self._combining)

    # ---- what comes in

    def take(self, source: int, tuples: Iterable[Tuple], runs: Runs, origin_ns: int) -> None:
        """Takes what a task of this worker has emitted."""
        self._combining.add(source, tuples, runs, origin_ns)

    def absorb(self, arrival: Arrival) -> bool:
        """Takes what another worker sends by way of this one; False if it has no business here."""
        if arrival.source not in self.to_one.sources or self.to_one.receiver is not None:
            return False
        if arrival.marker is not None:
            self.put_marker(arrival.source, arrival.marker)
        elif arrival.combined:
            debt = (arrival.sender, (arrival.source, target_of_edge(arrival.edge)))
            (one,) = arrival.tuples
            self._combining.absorb(
                arrival.source, one, arrival.runs, arrival.frame, arrival.origin_ns, [(debt, arrival.size_bytes)]
            )
        else:
            return False
        return True

    def put_marker(self, source: int, marker: Marker) -> None:
        """Passes a marker on, behind all that came from its source."""
        if marker.ends:
            self._ended.add(source)
        before = self._combining.end(source) if marker.ends else self._combining.marker(source, marker.epoch)
        for parting in before:  # without asking for credit: nobody may have to wait for a marker
            self._send(parting)
        self._send_marker(source, marker)

    def _fold(self, a: Tuple, b: Tuple) -> Tuple | None:
        try:
            values = self.to_one.combine(a, b)
            if not isinstance(values, tuple | list | Tuple) or len(values) != len(a):
                wanted = f"wanted a tuple of values for the fields {a.fields}"
                message = f"combine: {wanted}, got {type(values).__qualname__} {values!r}"
                raise ValueError(message)  # told like what combine itself raises
            return self.to_one.make(*values)
        except USER_ERRORS as error:
            self._fail(error, (a, b))
            return None

    def _fail(self, error: BaseException, culprit: Any) -> None:
        if isinstance(error, RunError):
            raise error
        self._about.failures.add(self.to_one.component, self.to_one.target, error, culprit)

    # ---- what goes out

    def flush(self, exhausted: set[Channel]) -> int:
        """Sends on what has credit; returns how many tuples."""
        if self.next_worker != self._top and self._about.carriers[self.next_worker].gone:
            self.reroute()
        if not self._combining:
            return 0
        sent = 0
        for parting in self._combining.take(lambda speaker: self._channel(speaker) not in exhausted):
            self._send(parting)
            sent += len(parting.partials)
        return sent

    def blocked(self) -> set[Channel]:
        """The channels of this worker's sources whose tuples cannot be sent on, after `flush`."""
        return {(source, self.to_one.target) for source in self._combining.stuck() & self.lanes.keys()}

    def _channel(self, speaker: int) -> Channel:
        to_one = self.to_one
        return speaker, to_one.target if to_one.receiver is not None else target_of_edge(to_one.edge)

    def _send(self, parting: Parting) -> None:
        now_ns = self._about.now_ns()
        for partial in parting.partials:
            if self.to_one.receiver is not None:
                self._hand_over(self.to_one.receiver, parting.speaker, partial, now_ns)
            else:
                self._send_frame(parting.speaker, partial, now_ns)
            self.debts += [(sender, channel, size) for (sender, channel), size in partial.debts.items()]

    def _hand_over(self, receiver: Receiver, speaker: int, partial: Partial, now_ns: int) -> None:
        receiver.accept(
            Arrival(
                edge=self.to_one.edge,
                source=speaker,
                combined=True,
                frame=partial.frame,
                runs=[*partial.runs.items()],
                tuples=[tuple(partial.tup) if self.to_one.wants_plain else partial.tup],
                origin_ns=partial.origin_ns,
                sent_ns=now_ns,
            )
        )

    def _send_frame(self, speaker: int, partial: Partial, now_ns: int) -> None:
        runs = [*partial.runs.items()]
        try:
            values = [*map(portable, partial.tup)]
            payload = _encode((partial.origin_ns, now_ns, partial.frame, self._about.company.me, runs, values))
            if len(payload) > MOST_TUPLE_BYTES:
                message = f"what combine has made is too large to travel: wanted at most {MOST_TUPLE_BYTES} bytes"
                raise MessageTooLargeError(message)  # told like what cannot be encoded
        except (*UNENCODABLE, MessageTooLargeError) as error:
            self._give_up(partial, error)
            return
        lane = self.lanes.get(speaker) or next(iter(self.lanes.values()))
        lane.sent_bytes += len(payload)
        route = self._route(speaker, FrameKind.COMBINED)
        self._about.carriers[self.next_worker].send(route, payload, 1, channel=self._channel(speaker))

    def _give_up(self, partial: Partial, error: Exception) -> None:
        """What went into it could travel, what combine has made of it cannot."""
        self._fail(error, partial.tup)
        if self._about.book is not None:
            for root in partial.runs:
                self._about.book.failed(root, self.to_one.component, reason_of(error))

    def _send_marker(self, source: int, marker: Marker) -> None:
        to_one = self.to_one
        if to_one.receiver is not None:
            to_one.receiver.accept(Arrival(edge=to_one.edge, source=source, marker=marker))
        else:
            route = self._route(source, FrameKind.MARKER)
            self._about.carriers[self.next_worker].send(route, marker.to_payload(), 0)

    def _route(self, source: int, kind: FrameKind) -> Route:
        to_one = self.to_one
        return Route(
            target=to_one.target, source=source, stream=to_one.edge, assignment=self._about.assignment, flags=kind
        )

    # ---- who is next on the way

    def _way_up(self) -> int:
        company, carriers = self._about.company, self._about.carriers
        # One that is silent may still have our tuples: an end that took another way would overtake them.
        there = {
            worker: node
            for worker, node in company.node_of.items()
            if worker not in carriers or not carriers[worker].gone
        }
        if self._top in company.node_of:  # whatever becomes of it, for its own node there is no other way to it
            there[self._top] = company.node_of[self._top]
        return next_on_the_way_up(
            worker=company.me, top=self._top, workers=self.source_workers, node_of=there, edge=self.to_one.edge
        )

    def reroute(self) -> None:
        """Somebody is dead, or there again: another may be the head of the node."""
        if not self._about.reroutes:
            return
        worker = self._way_up()
        if worker != self.next_worker:
            self.next_worker = worker
            self._begin_anew()

    def meet(self, peer: int) -> None:
        """A worker was restarted. Its sources, if they had ended, will say so again."""
        self._ended -= {source for source in self.to_one.sources if self._about.worker_of[source] == peer}
        if self.next_worker == peer:
            self._begin_anew()
        self.reroute()

    def _begin_anew(self) -> None:
        """Another process is next on the way, and what was sent to the one before may be lost."""
        self._about.credit.forget([target_of_edge(self.to_one.edge)])
        for source in sorted(self._ended):
            self._send_marker(source, Marker(0, ends=True))


class Uplinks:
    """All uplinks of a worker, and what they share.

    Args:
        company: who is there.
        worker_of: where each task is.
        carriers: the ways to other workers.
        credit: what is under way on them.
        book: where trees are counted; None where they are not tracked.
        failures: where exceptions of `combine` are told.
        now_ns: the time.
        assignment: the number that frames carry.
        reroutes: whether the way changes when somebody dies. Exactly once it must not: the marker of a source would
            come to the target by another way, though what was before it is lost, and the loss would be saved.
    """

    def __init__(
        self,
        *,
        company: Company,
        worker_of: Mapping[int, int],
        carriers: Mapping[int, Carrier],
        credit: CreditTaker,
        book: AckBook | None,
        failures: Failures,
        now_ns: Callable[[], int],
        assignment: int,
        reroutes: bool,
    ) -> None:
        self.company = company
        self.worker_of = worker_of
        self.carriers = carriers
        self.credit = credit
        self.book = book
        self.failures = failures
        self.now_ns = now_ns
        self.assignment = assignment
        self.reroutes = reroutes
        self._by_edge: dict[int, Uplink] = {}
        self.blocked: set[Channel] = set()
        """Channels whose sources should emit no more for now."""

    def of(self, to_one: EdgeToOne) -> Uplink:
        """The uplink of an edge: all its sources in this worker share it."""
        if to_one.edge not in self._by_edge:
            self._by_edge[to_one.edge] = Uplink(to_one, self)
        return self._by_edge[to_one.edge]

    def __getitem__(self, edge: int) -> Uplink:
        return self._by_edge[edge]

    def absorb(self, arrival: Arrival) -> bool:
        """Takes what is for a task elsewhere, if it goes by way of this worker."""
        uplink = self._by_edge.get(arrival.edge)
        return uplink is not None and uplink.absorb(arrival)

    @property
    def is_in_use(self) -> bool:
        """Whether anything is put together on its way through this worker."""
        return bool(self._by_edge)

    def flush(self, exhausted: set[Channel]) -> int:
        """Sends on what has piled up in a turn; returns how many tuples."""
        sent = sum(uplink.flush(exhausted) for uplink in self._by_edge.values())
        self.blocked = {channel for uplink in self._by_edge.values() for channel in uplink.blocked()}
        return sent

    def debts(self) -> Iterator[Debt]:
        """Takes what is due for what was sent on since the last time."""
        for uplink in self._by_edge.values():
            due, uplink.debts = uplink.debts, []
            yield from due

    def channels_from(self, peer: int) -> Iterator[Channel]:
        """The channels that another worker may send to us on, on the way of its tuples to the one task."""
        for edge, uplink in self._by_edge.items():
            if peer in uplink.source_workers:
                yield from ((source, target_of_edge(edge)) for source in sorted(uplink.to_one.sources))

    @property
    def pending(self) -> bool:
        """Whether anything waits."""
        return any(uplink.pending for uplink in self._by_edge.values())

    def reroute(self) -> None:
        """Somebody is dead, or there again."""
        for uplink in self._by_edge.values():
            uplink.reroute()

    def meet(self, peer: int) -> None:
        """A worker was restarted."""
        for uplink in self._by_edge.values():
            uplink.meet(peer)
