"""Carriers: in order whatever is full, and what is lost is counted."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock._native import ROWS_OTHER, ROWS_TOO_LARGE, ROWS_UNEVEN, encode_tuples
from penstock.errors import RingClosedError
from penstock.flow.credit import CreditTaker
from penstock.transport.ring import RingReader, RingSettings, RingWriter, Route
from penstock.transport.values import row_decoder
from penstock.worker.carriers import Carrier, RingWay
from penstock.worker.lanes import RemoteLane

ROUTE = Route(target=7, source=1)

_decode = row_decoder(Any)


class Gate:
    """A way that lets through as many frames as it is told."""

    def __init__(self, opening: int = 0) -> None:
        self.opening = opening
        self.passed: list[bytes] = []
        self.closed = False
        self.peer_is_gone = False

    def try_send(self, route: Route, payload: bytes | memoryview) -> bool:  # noqa: ARG002
        if self.peer_is_gone:
            message = "gone"
            raise RingClosedError(message)
        if not self.opening:
            return False
        self.opening -= 1
        self.passed.append(bytes(payload))
        return True

    def peer_is_dead(self) -> bool:
        return self.peer_is_gone

    def close(self) -> None:
        self.closed = True


def credit() -> CreditTaker:
    return CreditTaker(window_bytes=1000)


@given(st.lists(st.integers(0, 3), min_size=1, max_size=60))
def test_frames_keep_their_order_however_full_the_way_is(openings: list[int]) -> None:
    gate = Gate()
    carrier = Carrier(gate, credit())
    sent = []
    for number, opening in enumerate(openings):
        gate.opening = opening
        carrier.send(ROUTE, str(number).encode(), 1)
        sent.append(str(number).encode())
        carrier.pump()
    gate.opening = len(sent)
    carrier.pump()

    assert gate.passed == sent
    assert carrier.waiting_frames == 0
    assert carrier.lost_tuples == 0


def test_a_pump_says_how_many_frames_went() -> None:
    gate = Gate()
    carrier = Carrier(gate, credit())
    for _ in range(3):
        carrier.send(ROUTE, b"frame", 1)
    assert (carrier.pump(), carrier.waiting_frames) == (0, 3)
    gate.opening = 2
    assert (carrier.pump(), carrier.waiting_frames) == (2, 1)


def test_frames_with_tuples_take_credit_as_soon_as_they_are_sent_and_others_none() -> None:
    taker = credit()
    carrier = Carrier(Gate(), taker)
    carrier.send(ROUTE, b"12345", 1)
    carrier.send(ROUTE, b"a marker", 0)
    assert taker.under_way_bytes((ROUTE.source, ROUTE.target)) == 5


def test_what_cannot_reach_a_peer_that_is_gone_is_counted() -> None:
    gate = Gate()
    carrier = Carrier(gate, credit())
    for _ in range(3):
        carrier.send(ROUTE, b"frame", 10)
    gate.peer_is_gone = True
    carrier.pump()
    assert carrier.gone
    assert (carrier.lost_tuples, carrier.waiting_frames) == (30, 0)

    carrier.send(ROUTE, b"frame", 5)
    assert carrier.lost_tuples == 35


def test_a_frame_that_finds_the_peer_gone_is_lost_once() -> None:
    gate = Gate()
    gate.peer_is_gone = True
    carrier = Carrier(gate, credit())
    carrier.send(ROUTE, b"frame", 10)
    assert (carrier.lost_tuples, carrier.waiting_frames) == (10, 0)


def test_a_successor_gets_nothing_of_what_was_for_its_predecessor() -> None:
    gate, successor = Gate(), Gate(opening=10)
    carrier = Carrier(gate, credit())
    carrier.send(ROUTE, b"old", 4)
    carrier.replace(successor)
    carrier.send(ROUTE, b"new", 1)

    assert gate.closed
    assert successor.passed == [b"new"]
    assert carrier.lost_tuples == 4


def test_a_peer_that_is_met_late_gets_everything() -> None:
    carrier, peer = Carrier(None, credit()), Gate(opening=10)
    carrier.send(ROUTE, b"first", 1)
    assert carrier.pump() == 0
    carrier.replace(peer)
    carrier.pump()

    assert peer.passed == [b"first"]
    assert carrier.lost_tuples == 0
    carrier.close()
    assert peer.closed


@contextmanager
def ring_way(capacity_bytes: int = 1 << 16) -> Iterator[tuple[RingReader, RingWay]]:
    with RingReader.create(RingSettings(capacity_bytes=capacity_bytes)) as reader:
        way = RingWay(RingWriter.attach(reader.address))
        try:
            yield reader, way
        finally:
            way.close()


def test_frames_of_all_sizes_pass_a_small_ring_in_order() -> None:
    sizes = [10, 100_000, 20, 8000, 300_000, 9000, 0, 1_000_000, 5]
    frames = [bytes([number]) * size for number, size in enumerate(sizes)]
    with ring_way() as (reader, way):
        carrier = Carrier(way, credit())
        for frame in frames:
            carrier.send(ROUTE, frame, 1)
        arrived: list[bytes] = []
        while len(arrived) < len(frames):
            arrived += [bytes(record.payload) for record in reader.read_many(16, 0)]
            carrier.pump()
        carrier.pump()

        assert arrived == frames
        assert carrier.waiting_frames == 0


def test_a_ring_that_was_closed_loses_what_is_sent_and_what_waits() -> None:
    with ring_way() as (reader, way):
        carrier = Carrier(way, credit())
        while not carrier.waiting_frames:
            carrier.send(ROUTE, bytes(5000), 1)
        reader.close()
        carrier.pump()

        assert carrier.gone
        assert carrier.lost_tuples == 1


def test_a_large_frame_that_is_half_sent_when_the_peer_goes_is_lost_whole() -> None:
    with ring_way() as (reader, way):
        carrier = Carrier(way, credit())
        carrier.send(ROUTE, bytes(1_000_000), 3)
        reader.read_many(16, 0)
        carrier.pump()
        reader.close()
        carrier.pump()
        assert carrier.lost_tuples == 3


def test_a_way_over_a_ring_can_be_replaced_in_the_middle_of_a_large_frame() -> None:
    with ring_way() as (_, way), ring_way() as (reader, successor):
        carrier = Carrier(way, credit())
        carrier.send(ROUTE, bytes(1_000_000), 3)
        carrier.replace(successor)
        carrier.send(ROUTE, b"new", 1)

        assert [bytes(record.payload) for record in reader.read_many(16, 1)] == [b"new"]
        assert carrier.lost_tuples == 3


@pytest.mark.parametrize("attached", [True, False])
def test_closing_a_carrier_lets_go_of_the_peer(attached: bool) -> None:
    gate = Gate()
    Carrier(gate if attached else None, credit()).close()
    assert gate.closed == attached


def test_a_dead_peer_is_found_though_nothing_is_sent_to_it() -> None:
    gate = Gate()
    carrier = Carrier(gate, credit())
    carrier.send(ROUTE, b"waits", 3)
    found = []
    for is_dead in (False, True):
        gate.peer_is_gone = is_dead
        carrier.look_after_peer()
        found.append((carrier.gone, carrier.lost_tuples, carrier.waiting_frames))
    assert found == [(False, 0, 1), (True, 3, 0)]
    carrier.replace(Gate(opening=1))
    carrier.look_after_peer()
    assert not carrier.gone


# ---- lanes that write straight into the ring


def lane_over(carrier: Carrier) -> RemoteLane:
    return RemoteLane(edge=3, source=1, target=7, fields=("value",), sender=carrier, assignment=2)


def writer_of(carrier: Carrier) -> object:
    return None if carrier.direct is None else carrier.direct.writer


def put(lane: RemoteLane, *values: object) -> None:
    for value in values:
        lane.append((value,))


def read_all(reader: RingReader, carrier: Carrier) -> list[list[object]]:
    """The values of each frame that comes, until nothing waits."""
    frames: list[list[object]] = []
    while (records := reader.read_many(16, 0)) or carrier.waiting_frames:
        frames += [[row[0] for row in _decode(record.payload)[4]] for record in records]
        carrier.pump()
    return frames


@given(st.lists(st.lists(st.integers() | st.text(max_size=3000) | st.lists(st.integers()), min_size=1), max_size=20))
def test_frames_written_directly_and_frames_that_are_sent_keep_their_order(flushes: list[list[object]]) -> None:
    """A ring of a few KiB is full all the time, some frames are larger than a record, and some values not plain."""
    with ring_way(1 << 12) as (reader, way):
        taker = CreditTaker(window_bytes=1 << 30)
        carrier = Carrier(way, taker)
        lane = lane_over(carrier)
        for values in flushes:
            put(lane, *values)
            assert lane.flush(1, 2) == []

        arrived = read_all(reader, carrier)

        assert [value for frame in arrived for value in frame] == [value for values in flushes for value in values]
        assert taker.under_way_bytes((1, 7)) == lane.sent_bytes
        assert lane.sent_tuples == sum(map(len, flushes))


def test_a_frame_that_is_written_directly_is_the_one_that_is_sent() -> None:
    rows: list[tuple[object, ...]] = [(1, "a", None), (-(2**63), "ä" * 100, b"x" * 300)]
    with ring_way() as (reader, way):
        written = way.writer.try_write_tuples(ROUTE, 1, 2, 3, [(4, 2)], rows, 3, 1 << 20)
        payload = encode_tuples(1, 2, 3, [(4, 2)], rows, 3, 1 << 20)
        (record,) = reader.read_many(16, 1)

        assert isinstance(payload, bytes)
        assert record.payload == payload
        assert written == -len(payload)
        assert (record.target, record.source) == (7, 1)


def test_what_has_no_room_comes_back_as_its_payload_and_what_is_not_plain_as_a_verdict() -> None:
    with ring_way(1 << 12) as (reader, way):
        write = way.writer.try_write_tuples
        large: list[tuple[object, ...]] = [("x" * (way.writer.max_record_bytes + 1),)]
        assert write(ROUTE, 1, 2, 3, (), large, 1, 1 << 20) == encode_tuples(1, 2, 3, (), large, 1, 1 << 20)
        assert write(ROUTE, 1, 2, 3, (), large, 1, 100) == ROWS_TOO_LARGE
        assert write(ROUTE, 1, 2, 3, (), [(1, 2)], 1, 100) == ROWS_UNEVEN
        assert write(ROUTE, 1, 2, 3, (), [([],)], 1, 100) == ROWS_OTHER
        assert reader.read_many(16, 0) == []
        while isinstance(written := write(ROUTE, 1, 2, 3, (), [("x" * 300,)], 1, 1 << 20), int):
            assert written < 0
        assert written == encode_tuples(1, 2, 3, (), [("x" * 300,)], 1, 1 << 20)


def test_what_is_written_directly_to_a_ring_that_was_closed_is_lost_and_counted() -> None:
    with ring_way() as (reader, way):
        carrier = Carrier(way, credit())
        lane = lane_over(carrier)
        reader.close()
        put(lane, 1, 2)
        assert lane.flush(1, 2) == []
        put(lane, 3)
        assert lane.flush(1, 2) == []

        assert (carrier.gone, carrier.direct, carrier.lost_tuples) == (True, None, 3)


def test_nothing_is_written_directly_while_anything_is_kept() -> None:
    with ring_way(1 << 12) as (reader, way):
        carrier = Carrier(way, credit())
        ways = [writer_of(carrier)]
        while not carrier.waiting_frames:
            carrier.send(ROUTE, bytes(300), 1)
        ways.append(writer_of(carrier))
        while carrier.waiting_frames:
            reader.read_many(16, 0)
            carrier.pump()
        assert [*ways, writer_of(carrier)] == [way.writer, None, way.writer]


def test_frames_are_written_directly_over_a_ring_alone() -> None:
    carrier = Carrier(Gate(opening=1), credit())
    assert carrier.direct is None
    with ring_way() as (_, way):
        carrier.replace(way)
        assert writer_of(carrier) is way.writer
