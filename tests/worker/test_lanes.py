"""Lanes: one frame per flush, nothing wrong gets through, and what is right is not held up by it."""

from typing import Any

import msgspec
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.errors import MessageTooLargeError
from penstock.flow.ledger import UNTRACKED
from penstock.transport.frames import CAST_HEADER_BYTES, FrameKind
from penstock.transport.ring import RingSettings
from penstock.worker import lanes
from penstock.worker.arrival import Marker
from penstock.worker.batches import batch_from_payload
from penstock.worker.lanes import Lane, RemoteLane
from tests.worker.capturing import EMITTER, FIRST_TARGET, CapturingReceiver, CapturingSender, local_lane, remote_lane

ORIGIN_NS, NOW_NS = 100, 200


class Ends:
    """A lane of either kind and what comes out of it."""

    def __init__(self, kind: str, fields: tuple[str, ...]) -> None:
        self.receiver, self.sender = CapturingReceiver(), CapturingSender()
        self.lane: Lane = (
            local_lane(self.receiver, fields=fields) if kind == "local" else remote_lane(self.sender, fields=fields)
        )

    @property
    def rows(self) -> list[tuple[Any, ...]]:
        return self.receiver.rows if not isinstance(self.lane, RemoteLane) else sent_rows(self.sender)

    def put(self, *rows: tuple[Any, ...]) -> list[Any]:
        self.lane.tuples.extend(rows)
        return self.lane.flush(ORIGIN_NS, NOW_NS)


def sent_rows(sender: CapturingSender) -> list[tuple[Any, ...]]:
    found: list[tuple[Any, ...]] = []
    for route, payload, tuples in sender.frames:
        if route.flags == FrameKind.BATCH:
            rows = [tuple(row.values()) for row in batch_from_payload(payload)[0].to_pylist()]
        elif route.flags == FrameKind.TUPLES:
            rows = [tuple(row) for row in msgspec.msgpack.decode(payload)[4]]
        else:
            continue
        assert tuples == len(rows)
        found += rows
    return found


kinds = pytest.mark.parametrize("kind", ["local", "remote"])


@kinds
def test_what_was_put_since_the_last_flush_is_one_frame(kind: str) -> None:
    ends = Ends(kind, ("word", "count"))
    assert ends.put(("a", 1), ("b", 2)) == []
    assert ends.put(("c", 3)) == []

    assert ends.rows == [("a", 1), ("b", 2), ("c", 3)]
    assert len(ends.receiver.arrivals) + len(ends.sender.frames) == 2
    assert ends.lane.sent_tuples == 3
    assert ends.lane.tuples == []


def test_a_local_lane_hands_over_tuples_that_know_their_stream_and_when_they_began() -> None:
    ends = Ends("local", ("word",))
    ends.put(("a",))

    [arrival] = ends.receiver.arrivals
    assert (arrival.edge, arrival.source, arrival.origin_ns, arrival.sent_ns) == (0, EMITTER, ORIGIN_NS, NOW_NS)
    assert arrival.tuples[0].word == "a"
    assert arrival.tuples[0].source == "emitter"


def test_a_remote_lane_says_in_the_header_where_from_and_where_to() -> None:
    ends = Ends("remote", ("word",))
    ends.put(("a",))

    [(route, payload, _)] = ends.sender.frames
    assert (route.target, route.source, route.stream, route.assignment) == (FIRST_TARGET, EMITTER, 0, 1)
    assert msgspec.msgpack.decode(payload) == [ORIGIN_NS, NOW_NS, UNTRACKED, [], [["a"]]]
    assert ends.lane.sent_bytes == len(payload)


@kinds
@given(widths=st.lists(st.integers(0, 4), max_size=30))
def test_tuples_of_a_wrong_width_are_refused_each_and_the_others_pass(kind: str, widths: list[int]) -> None:
    ends = Ends(kind, ("a", "b"))
    rows = [tuple(range(width)) for width in widths]
    refused = ends.put(*rows)

    assert ends.rows == [row for row in rows if len(row) == 2]
    assert [refusal.culprit for refusal in refused] == [row for row in rows if len(row) != 2]
    assert all("for the 2 fields ('a', 'b')" in str(refusal.error) for refusal in refused)


class Own:
    """Of a type that no other process knows."""


@pytest.mark.parametrize("value", [Own(), "\ud800", [Own()], {1: {Own()}}], ids=repr)
def test_values_that_cannot_travel_are_refused_and_the_others_travel(value: Any) -> None:
    ends = Ends("remote", ("value",))
    refused = ends.put(("before",), (value,), ("after",), (value,))

    assert ends.rows == [("before",), ("after",)]
    assert [refusal.culprit for refusal in refused] == [(value,), (value,)]
    kind = type(value).__name__
    assert str(refused[0].error).startswith(f"field 'value', a {kind}, cannot travel to another worker: ")
    assert refused[0].error.__traceback__ is None
    assert ends.lane.sent_tuples == 2


def test_a_flush_with_nothing_good_in_it_sends_nothing() -> None:
    ends = Ends("remote", ("value",))
    assert len(ends.put((Own(),))) == 1
    assert ends.sender.frames == []


def test_a_value_of_any_type_stays_what_it_is_within_a_worker() -> None:
    value = Own()
    ends = Ends("local", ("value",))
    ends.put((value,))
    assert ends.rows[0][0] is value


def test_a_frame_that_would_be_too_large_travels_in_several(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(RemoteLane, "most_frame_bytes", 1000)
    ends = Ends("remote", ("text",))
    rows = [("x" * (number * 37 % 400),) for number in range(100)]
    assert ends.put(*rows) == []

    assert ends.rows == rows
    assert all(len(payload) <= 1000 for _, payload, _ in ends.sender.frames)


@kinds
def test_a_frame_of_too_many_tuples_travels_in_several(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lanes, "MOST_FRAME_TUPLES", 10)
    ends = Ends(kind, ("n",))
    ends.put(*[(n,) for n in range(25)])

    assert ends.rows == [(n,) for n in range(25)]
    assert [len(arrival) for arrival in ends.receiver.arrivals] + [n for _, _, n in ends.sender.frames] == [10, 10, 5]


def test_one_tuple_that_is_larger_than_a_frame_travels_by_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(RemoteLane, "most_frame_bytes", 1000)
    ends = Ends("remote", ("text",))
    assert ends.put(("small",), ("x" * 5000,), ("small",)) == []

    assert ends.rows == [("small",), ("x" * 5000,), ("small",)]
    assert [tuples for _, _, tuples in ends.sender.frames] == [1, 1, 1]


def test_one_tuple_that_is_larger_than_a_ring_takes_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(RemoteLane, "most_frame_bytes", 1000)
    monkeypatch.setattr(lanes, "MOST_TUPLE_BYTES", 2000)
    ends = Ends("remote", ("text",))
    [(error, culprit, _)] = ends.put(("small",), ("x" * 5000,), ("small",))

    assert ends.rows == [("small",), ("small",)]
    assert isinstance(error, MessageTooLargeError)
    assert "at most 2000 bytes" in str(error)
    assert "bytes" in culprit


def test_the_largest_tuple_fits_into_a_ring_also_as_a_broadcast() -> None:
    assert RingSettings().max_message_bytes >= lanes.MOST_TUPLE_BYTES + CAST_HEADER_BYTES


@kinds
def test_batches_and_tuples_keep_their_order(kind: str) -> None:
    ends = Ends(kind, ("n",))
    ends.lane.tuples.append((1,))
    ends.lane.put_batch(pa.record_batch({"n": [2, 3]}))
    ends.lane.put_batch(pa.record_batch({"n": [4]}))
    ends.lane.tuples += [(5,), (6, 6), (7,)]
    ends.lane.put_batch(pa.record_batch({"n": [8]}))
    ends.lane.tuples.append((9,))

    [(_, culprit, _)] = ends.lane.flush(ORIGIN_NS, NOW_NS)
    assert culprit == (6, 6)
    assert ends.rows == [(1,), (2,), (3,), (4,), (5,), (7,), (8,), (9,)]
    assert ends.lane.sent_tuples == 8


def test_a_large_batch_travels_in_several(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(RemoteLane, "most_frame_bytes", 4000)
    ends = Ends("remote", ("n",))
    ends.lane.put_batch(pa.record_batch({"n": list(range(5000))}))
    ends.lane.flush(ORIGIN_NS, NOW_NS)

    assert ends.rows == [(n,) for n in range(5000)]
    assert all(len(payload) <= 4000 for _, payload, _ in ends.sender.frames)


def test_a_marker_travels_as_a_frame_that_takes_no_credit() -> None:
    ends = Ends("remote", ("word",))
    ends.lane.put_marker(Marker(7, ends=True, newest_roots={3: 2**63}))

    [(route, payload, tuples)] = ends.sender.frames
    assert (route.flags, tuples) == (FrameKind.MARKER, 0)
    assert msgspec.msgpack.decode(payload) == [7, True, {3: 2**63}, 0]


def test_a_marker_within_a_worker_is_the_marker() -> None:
    ends = Ends("local", ("word",))
    marker = Marker(7, ends=False)
    ends.lane.put_marker(marker)
    assert ends.receiver.markers == [marker]
