"""The intake of a link: what comes is written into the ring, or refused; what is missing is counted."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock._native import LINK_HEAD_BYTES, LinkIntake, pack_link_head
from penstock.errors import RingClosedError
from penstock.transport.frames import FrameKind
from penstock.transport.ring import RingReader, RingSettings, RingWriter, Route
from tests.ring.patience import wait_until
from tests.transport.linked import frame

SETTINGS = RingSettings(capacity_bytes=1 << 12, max_message_bytes=10_000, max_producers=1)

numbers = st.integers(0, 2**32 - 1)
counts = st.integers(0, 2**64 - 1)


@pytest.fixture(scope="module")
def ring() -> Iterator[RingReader]:
    with RingReader.create(SETTINGS) as ring:
        yield ring


@pytest.fixture(scope="module")
def writer(ring: RingReader) -> Iterator[RingWriter]:
    with RingWriter.attach(ring.address) as writer:
        yield writer


@pytest.fixture
def intake(writer: RingWriter) -> Iterator[LinkIntake]:
    intake = LinkIntake(writer)
    yield intake
    intake.close()


@given(counts, counts, numbers, numbers, numbers, numbers, st.sampled_from(FrameKind), st.binary(max_size=2000))
def test_a_frame_survives_the_link(
    ring: RingReader,
    writer: RingWriter,
    link: int,
    number: int,
    target: int,
    source: int,
    stream: int,
    assignment: int,
    kind: FrameKind,
    payload: bytes,
) -> None:
    route = Route(target=target, source=source, stream=stream, assignment=assignment, flags=kind)
    head = pack_link_head(link, number, route)
    assert len(head) == LINK_HEAD_BYTES
    intake = LinkIntake(writer)
    assert intake.take(head + payload, 1)
    found = []
    while not intake.deliver(0):
        found += ring.read_many(10, 0)
    (record,) = found + ring.read_many(10, 0)
    assert (record.target, record.source, record.stream) == (target, source, stream)
    assert (record.assignment, record.flags, record.payload) == (assignment, kind, payload)
    assert (intake.refused, intake.lost) == (0, number)
    intake.close()


@given(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 2**64 - 1) | st.integers(0, 5)), max_size=20))
def test_frames_are_missing_where_numbers_are(
    ring: RingReader, writer: RingWriter, frames: list[tuple[int, int]]
) -> None:
    intake, wanted, lost = LinkIntake(writer), dict[int, int](), 0
    for link, number in frames:
        assert intake.take(frame(link, number), 1)
        assert intake.deliver(0)
        ring.read_many(10, 0)
        lost += max(0, number - wanted.get(link, 0))
        wanted[link] = (number + 1) % 2**64
    assert intake.lost == min(lost, 2**64 - 1)
    intake.close()


@pytest.mark.parametrize(
    ("wrong", "parts", "complaint"),
    [
        (b"", 1, "a frame's number has 16 bytes, got 0"),
        (bytes(15), 1, "a frame's number has 16 bytes, got 15"),
        (bytes(16), 1, "a frame's head has 36 bytes, got 16"),
        (bytes(35), 1, "a frame's head has 36 bytes, got 35"),
        (bytes(36), 2, "a frame has one part, got 2"),
        (bytes(36 + 10_001), 1, "payload_bytes=10001 limit=10000 (the ring's max_message_bytes)"),
    ],
)
def test_what_is_no_frame_is_refused(intake: LinkIntake, wrong: bytes, parts: int, complaint: str) -> None:
    assert (intake.refused, intake.first_refusal) == (0, None)
    assert not intake.take(wrong, parts)
    assert intake.deliver(0)  # nothing is under way
    assert not intake.take(b"the next", 1)
    assert (intake.refused, intake.first_refusal) == (2, complaint)


def test_frames_wait_for_room(ring: RingReader, intake: LinkIntake) -> None:
    waits, sent = ring.counters().full_waits, 0
    assert intake.take(frame(1, sent, bytes(400)), 1)
    while intake.deliver(0):
        sent += 1
        assert intake.take(frame(1, sent, bytes(400)), 1)
    assert not intake.deliver(0.001)
    assert ring.counters().full_waits == waits + 1
    read = len(ring.read_many(100, 0))
    ring.finish()
    assert intake.deliver(0)
    assert (read, len(ring.read_many(100, 0))) == (sent, 1)


def test_a_writer_that_is_forgotten_keeps_its_slot_until_its_intake_is_gone() -> None:
    with RingReader.create(SETTINGS) as ring:
        intake = LinkIntake(RingWriter.attach(ring.address))
        assert len(ring.live_slots()) == 1
        del intake
        wait_until(lambda: not ring.live_slots(), "the slot of the writer is free")


def test_a_ring_that_is_closed(intake: LinkIntake) -> None:
    with RingReader.create(SETTINGS) as ring, RingWriter.attach(ring.address) as writer:
        other = LinkIntake(writer)
        assert other.take(frame(1, 0), 1)
        ring.close()
        with pytest.raises(RingClosedError, match="the ring was closed by its consumer"):
            other.deliver(0)
        other.close()
    for closed in (intake, other):
        closed.close()
        with pytest.raises(RingClosedError, match="the intake of this link is closed"):
            closed.take(frame(1, 1), 1)
    with pytest.raises(RingClosedError):
        LinkIntake(writer)
