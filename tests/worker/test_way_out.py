"""Workers of a node give way to the one that has most to send, as long as it says so."""

from collections.abc import Iterator
from contextlib import closing

import pytest

from penstock.flow.backlog import OutgoingPolicy
from penstock.transport.board import AGED_NS, MOST_OPERATORS, BoardSlot
from penstock.transport.frames import FrameKind
from penstock.transport.ring import RingReader, RingSettings, RingWriter, Route
from penstock.worker.bundles import WaitingFrame
from penstock.worker.waiting_frames import InOneLine, WaitingFrames
from penstock.worker.way_out import WayOut

MS = 1_000_000
INTERVAL_NS = 20 * MS


class Time:
    def __init__(self) -> None:
        self.now_ns = 1000 * MS

    def __call__(self) -> int:
        return self.now_ns


class Link:
    """A carrier to another node."""

    leaves_node, slot = True, None

    def __init__(self, waiting: WaitingFrames) -> None:
        self.waiting = waiting

    def keep(self, tuples: int, *, source: int = 1) -> None:
        route = Route(target=9, source=source, stream=0, flags=FrameKind.TUPLES)
        self.waiting.add(WaitingFrame(route, b"", tuples))


class Neighbour:
    """A carrier to a worker of the same node."""

    leaves_node = False

    def __init__(self, slot: BoardSlot) -> None:
        self.slot = slot
        self.waiting = InOneLine()


@pytest.fixture
def ring() -> Iterator[RingReader]:
    """Of the other worker."""
    with RingReader.create(RingSettings(capacity_bytes=1 << 16)) as ring:
        yield ring


def way_out(time: Time, slot: BoardSlot | None, policy: OutgoingPolicy = "lbf") -> WayOut:
    return WayOut(
        policy=policy,
        interval_ns=INTERVAL_NS,
        operators={0: 0},
        book=None,
        steady_ns=time,
        slot=slot,
    )


def held(time: Time, out: WayOut, *carriers: Link | Neighbour, ms: int) -> list[bool]:
    """Whether it gives way, every fifth millisecond."""
    found = []
    for _ in range(0, ms, 5):
        out.look(carriers)
        found.append(0 in out.held)
        time.now_ns += 5 * MS
    return found


def test_who_has_less_waits_for_an_interval_and_goes_for_one_until_the_others_word_is_old(ring: RingReader) -> None:
    time = Time()
    with (
        RingReader.create(RingSettings(capacity_bytes=1 << 16)) as own,
        closing(BoardSlot(ring.memory_fd)) as others,
        closing(way_out(time, BoardSlot(own.memory_fd))) as out,
    ):
        link = Link(out.waiting_frames())
        link.keep(10)
        others.write([50], time.now_ns)
        found = held(time, out, link, Neighbour(others), ms=200)
        assert found[:8] == [True] * 4 + [False] * 4
        # It was stopped, or died: nobody waits for it.
        assert not any(found[AGED_NS // (5 * MS) :])
        others.write([9], time.now_ns)
        assert not any(held(time, out, link, Neighbour(others), ms=50))


def test_what_is_said_is_seen_by_whoever_has_the_ring_and_by_its_age(ring: RingReader) -> None:
    time = Time()
    with (
        RingWriter.attach(ring.address) as writer,
        closing(BoardSlot(writer.memory_fd)) as seen,
        closing(way_out(time, BoardSlot(ring.memory_fd))) as out,
    ):
        link = Link(out.waiting_frames())
        assert not any(seen.read(time.now_ns))
        link.keep(10, source=1)
        link.keep(7, source=2)
        link.keep(7, source=2)
        out.look([link])
        assert seen.read(time.now_ns)[0] == 14
        assert seen.read(time.now_ns + AGED_NS) == ()
        link.waiting.clear()
        time.now_ns += 5 * MS
        out.look([link])
        assert list(seen.read(time.now_ns)) == [0] * MOST_OPERATORS
        # The ring goes on beside it.
        writer.write(b"hello", Route(target=7))
        record = ring.read(timeout_s=10)
        assert record is not None
        assert bytes(record.payload) == b"hello"


@pytest.mark.parametrize("policy", ["fifo", "round_robin"])
def test_other_policies_give_way_to_nobody(ring: RingReader, policy: OutgoingPolicy) -> None:
    time = Time()
    with (
        RingReader.create(RingSettings(capacity_bytes=1 << 16)) as own,
        closing(BoardSlot(ring.memory_fd)) as others,
        closing(way_out(time, BoardSlot(own.memory_fd), policy)) as out,
    ):
        link = Link(out.waiting_frames())
        link.keep(10)
        others.write([50], time.now_ns)
        assert not any(held(time, out, link, Neighbour(others), ms=50))


def test_where_one_speaks_for_others_the_order_of_the_edge_is_kept() -> None:
    waiting = way_out(Time(), None).waiting_frames()
    kinds = [
        (FrameKind.COMBINED, 1, 1),
        (FrameKind.MARKER, 1, 2),
        (FrameKind.COMBINED, 1, 2),
        (FrameKind.COMBINED, 1, 2),
    ]
    for number, (kind, edge, source) in enumerate(kinds):
        route = Route(target=9, source=source, stream=edge, flags=kind)
        waiting.add(WaitingFrame(route, bytes([number]), 1))
    left = []
    while (found := waiting.next(anew=True)) is not None:
        left.append(found.payload[0])
        waiting.gone()
    assert left == [0, 1, 2, 3]
