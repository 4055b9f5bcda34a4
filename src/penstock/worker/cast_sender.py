"""What one task broadcasts on one edge: the origin's side of a cast."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from functools import partial
from typing import NamedTuple

import msgspec

from penstock.flow.cast import OutgoingCast
from penstock.flow.credit import Channel, CreditTaker, target_of_edge
from penstock.transport.broadcast import TREES, Layout, Tree, layout_of
from penstock.transport.frames import NOTHING, CastGot, CastHeader, CastTree, FrameKind, pack_cast_header
from penstock.transport.ring import Route
from penstock.worker.carriers import Carrier
from penstock.worker.cast_meter import CastMeter
from penstock.worker.company import Company
from penstock.worker.lanes import Sender

__all__ = ["CastSender"]

SENDS_AGAIN_AT_MOST_BYTES = 64 << 10
WAITS_AT_MOST_NS = 2_000_000_000

_encode = msgspec.msgpack.Encoder().encode


class _Kept(NamedTuple):
    """A frame that may have to be sent again."""

    kind: int
    payload: bytes


class CastSender(Sender):
    """Sends frames to all workers that have a task of the target (a `penstock.worker.lanes.Sender`).

    Args:
        cast: its number.
        source: the task that broadcasts.
        edge: the edge that it broadcasts on.
        members: the workers that have to get it, this one excluded.
        algorithm: how the tree is built; None where the meter says.
        meter: what measures it, and chooses the tree.
        company: who is there.
        carriers: the ways to them.
        credit: where the channel is blocked while too much is under way.
        window_bytes: how much that is.
        assignment: the number that frames carry.
        now_ns: a steady clock.
    """

    def __init__(
        self,
        *,
        cast: int,
        source: int,
        edge: int,
        members: Collection[int],
        algorithm: str | None,
        meter: CastMeter | None,
        company: Company,
        carriers: Mapping[int, Carrier],
        credit: CreditTaker,
        window_bytes: int,
        assignment: int,
        now_ns: Callable[[], int],
    ) -> None:
        self.cast = cast
        self.channel: Channel = (source, target_of_edge(edge))
        self._members = frozenset(members)
        assert (algorithm is None) != (meter is None)
        self._algorithm = algorithm
        self._meter = meter
        self._company = company
        self._now_ns = now_ns
        self._carriers = carriers
        self._credit = credit
        self._route = Route(target=0, source=source, stream=edge, assignment=assignment, flags=FrameKind.CAST)
        self._tree_route = Route(target=0, source=source, stream=edge, assignment=assignment, flags=FrameKind.TREE)
        self._out: OutgoingCast[_Kept] = OutgoingCast(window_bytes=window_bytes)
        # Also those that are not there yet: what is sent meanwhile is kept for them.
        for worker in self._members:
            self._out.join(worker)
        self._children: dict[int, Carrier] = {}
        self._changes_until_ns = 0
        """While another tree waits until what is under way has been received: when that has taken too long."""
        self._changes_after = 0
        """The number of the frame that is waited for."""
        self._is_over = False
        self._is_retired = False

    def send(self, route: Route, payload: bytes, tuples: int) -> None:
        """See Sender. Markers are never held up, so they take nothing of the window."""
        if not self._out.version:
            self._plant()
        kept = _Kept(route.flags, payload)
        number = self._out.send(kept, len(payload) if tuples else 0)
        if self._out.is_full:
            self._credit.block(self.channel)
        if self._meter is not None and tuples:
            self._send_metered(self._meter, number, kept)
        else:
            self._send(number, kept)

    def _send(self, number: int, frame: _Kept) -> None:
        whole = self._whole(number, frame, asks=False)
        for child in self._children.values():
            child.send(self._route, whole, 0)

    def _send_metered(self, meter: CastMeter, number: int, frame: _Kept) -> None:
        if not meter.wants_to_ask():
            self._send(number, frame)
            return
        size_bytes = len(frame.payload)
        meter.ask(number, size_bytes, self._members_there())
        whole = self._whole(number, frame, asks=True)
        for child, carrier in self._children.items():
            meter.timed_send(child, size_bytes, partial(carrier.send, self._route, whole, 0))

    def _whole(self, number: int, frame: _Kept, *, asks: bool) -> bytes:
        return pack_cast_header(CastHeader(self.cast, number, self._out.version, frame.kind, asks)) + frame.payload

    def heard(self, worker: int, got: CastGot) -> None:
        """A member says how far it is."""
        if got.generation != self._company.generation_of.get(worker):
            return
        self._out.heard(worker, got.received, got.processed)
        self._unblock()
        if got.complaint and got.complaint == self._out.version:
            self._plant()
        if self._meter is not None and self._meter.heard(worker, got.received):
            self._change()
        elif self._changes_until_ns and self._out.received > self._changes_after:
            self._plant()

    def _change(self) -> None:
        """Another tree is better. Much that is under way is waited for: cheaper than to send it again."""
        if self._is_over:
            return
        if self._out.unreceived_bytes <= SENDS_AGAIN_AT_MOST_BYTES:
            self._plant()
            return
        self._changes_until_ns = self._now_ns() + WAITS_AT_MOST_NS
        self._credit.block(self.channel)
        nothing = _Kept(NOTHING, b"")
        self._changes_after = self._out.send(nothing, 0)
        whole = self._whole(self._changes_after, nothing, asks=True)
        for child in self._children.values():
            child.send(self._route, whole, 0)

    def end(self) -> None:
        """The task has ended. No better tree is looked for: who has heard of the end may leave, and pass nothing on."""
        self._is_over = True
        self._changes_until_ns = 0
        self._unblock()

    def retire(self) -> None:
        """Another cast goes on in its place: it only sees to it that everybody gets what was sent so far."""
        self._is_over = self._is_retired = True
        self._changes_until_ns = 0
        self._credit.unblock(self.channel)  # which is the other's from now on
        if self._out.version:
            nothing = _Kept(NOTHING, b"")
            whole = self._whole(self._out.send(nothing, 0), nothing, asks=True)
            for child in self._children.values():
                child.send(self._route, whole, 0)

    @property
    def is_done(self) -> bool:
        """Whether it is retired, and everybody has got everything."""
        return self._is_retired and self._out.received >= self._out.next_number

    @property
    def may_change(self) -> bool:
        """Whether it chooses its trees itself."""
        return self._meter is not None and not self._is_retired

    def look(self) -> None:
        """For every turn: has it been waited long enough?"""
        if self._changes_until_ns and self._now_ns() >= self._changes_until_ns:
            self._plant()

    def meet(self, worker: int, *, is_new: bool, was_awaited: bool) -> None:
        """A worker came, or is to be told everything again. One that was awaited from the start gets what it missed."""
        if worker not in self._members:
            return
        if is_new and self._is_retired:
            self._out.leave(worker)  # what is sent to it from now on is another cast's
        elif is_new and not was_awaited:
            self._out.join(worker)
            self._unblock()
        self._replant()

    def lose(self, worker: int) -> None:
        """A worker is gone."""
        if worker in self._members:
            self._out.leave(worker)
            if self._meter is not None:
                self._meter.lost(worker)
            self._unblock()
            self._replant()

    def reroute(self) -> None:
        """Others can be counted on than before."""
        self._replant()

    def _replant(self) -> None:
        if self._out.version:  # else the first frame will
            self._plant()

    def _plant(self) -> None:
        """Says which way frames take from now on, and sends again along it what somebody may not have."""
        self._changes_until_ns = 0
        missing = self._out.new_tree()
        tree = self._tree()
        self._children = {child: self._carriers[child] for child in tree.get(self._company.me, ())}
        firsts = {
            worker: (generation, member.first)
            for worker, member in self._out.members.items()
            if (generation := self._company.generation_of.get(worker)) is not None
        }
        payload = _encode(CastTree(self.cast, self._out.version, tree, firsts))
        for child in self._children.values():
            child.send(self._tree_route, payload, 0)
        for number, frame in missing:
            self._send(number, frame)
        self._unblock()

    def _tree(self) -> Tree:
        """Over all members that are there. Those who are silent get it straight from us, and pass nothing on."""
        company = self._company
        there = self._members_there()
        layout = layout_of(company.me, there - company.silent, company.node_of)
        tree = TREES[self._algorithm or self._metered(layout)](layout)
        if silent := sorted(there & company.silent):
            tree[company.me] = (*tree.get(company.me, ()), *silent)
        if self._meter is not None:
            here = company.node_of[company.me]
            self._meter.sends_to({child: company.node_of[child] != here for child in tree.get(company.me, ())})
        return tree

    def _metered(self, layout: Layout) -> str:
        assert self._meter is not None
        return self._meter.lay_out(layout)

    def _members_there(self) -> set[int]:
        return {worker for worker in self._out.members if self._company.knows(worker)}

    def _unblock(self) -> None:
        if self._is_retired:
            return
        if not self._out.is_full and not self._changes_until_ns:
            self._credit.unblock(self.channel)
