"""A peer that sends what is no frame does not end a worker: it is counted, reported, and the next frame is taken."""

from __future__ import annotations

import random
import struct
from collections.abc import Callable
from functools import cache

import msgspec
import pytest

from penstock.transport.frames import FOR_WORKERS, FrameKind
from penstock.worker import intake as intake_module
from tests.security.frames import (
    EDGE,
    RECEIVING,
    SENDING,
    SINK,
    WINDOW_BYTES,
    real_frames,
    receiving_worker,
    refused_frame,
)

# Kinds whose payload nobody reads.
EMPTY = {FrameKind.MET, FrameKind.SWITCHED, FrameKind.WANTED}


@cache
def real(kind: FrameKind, value: str = "word") -> bytes:
    frames = real_frames([value], batches=kind == FrameKind.BATCH)
    return next(payload for flags, payload in frames if flags == kind)


def with_rows(rows: bytes) -> bytes:
    """A frame of tuples whose rows are these bytes."""
    head = msgspec.msgpack.decode(real(FrameKind.TUPLES))[:-1]
    return bytes([0x91 + len(head)]) + b"".join(map(msgspec.msgpack.encode, head)) + rows


def before_time() -> bytes:
    _, _, *rest = msgspec.msgpack.decode(real(FrameKind.TUPLES))
    return msgspec.msgpack.encode([-(2**63), -(2**63), *rest])


def batch_with_a_wild_offset() -> bytes:
    """Arrow reads it without a word; used, it would reach outside of its memory."""
    batch, offsets = real(FrameKind.BATCH), struct.pack("<2i", 0, 4)
    assert batch.count(offsets + b"\0") >= 1
    return batch.replace(offsets, struct.pack("<2i", -(1 << 30), 4))


BAD: dict[str, Callable[[], tuple[FrameKind, bytes]]] = {
    "empty": lambda: (FrameKind.TUPLES, b""),
    "noise": lambda: (FrameKind.TUPLES, random.Random(1).randbytes(1000)),
    "truncated": lambda: (FrameKind.TUPLES, real(FrameKind.TUPLES)[:-2]),
    "with something after it": lambda: (FrameKind.TUPLES, real(FrameKind.TUPLES) + b"\0"),
    "too few values": lambda: (FrameKind.TUPLES, with_rows(b"\x91\x90")),
    "no list of rows": lambda: (FrameKind.TUPLES, with_rows(b"\x01")),
    "a length that lies": lambda: (FrameKind.TUPLES, with_rows(b"\xdd\xff\xff\xff\xff")),
    "a time before time": lambda: (FrameKind.TUPLES, before_time()),
    "an unknown extension": lambda: (FrameKind.TUPLES, with_rows(b"\x91\x91\xd4\x63\0")),
    "nested too deep": lambda: (FrameKind.TUPLES, with_rows(b"\x91\x91" + b"\x91" * 100_000 + b"\0")),
    "no text": lambda: (FrameKind.TUPLES, with_rows(b"\x91\x91\xa2\xff\xff")),
    "tuples as a batch": lambda: (FrameKind.BATCH, real(FrameKind.TUPLES)),
    "an empty batch": lambda: (FrameKind.BATCH, b""),
    "a batch of zeros": lambda: (FrameKind.BATCH, bytes(100)),
    "half a batch": lambda: (FrameKind.BATCH, real(FrameKind.BATCH)[: len(real(FrameKind.BATCH)) // 2]),
    "a batch with a wild offset": lambda: (FrameKind.BATCH, batch_with_a_wild_offset()),
    "a marker that is none": lambda: (FrameKind.MARKER, b"\x92\xa1a\xc3"),
    "a credit that is none": lambda: (FrameKind.CREDIT, b"\xc1"),
    "a negative credit": lambda: (FrameKind.CREDIT, msgspec.msgpack.encode([((0, SINK), -(2**62))])),
}


@pytest.mark.parametrize("name", BAD)
def test_what_is_no_frame_is_counted_and_the_next_is_taken(name: str) -> None:
    kind, payload = BAD[name]()
    with receiving_worker() as receiver:
        refused_frame(receiver, payload, flags=kind)


ROOT = 1
BAD_COMBINED = {
    "noise": b"\xc1",
    "a sender that is none": msgspec.msgpack.encode((1, 1, 1, 7, [(ROOT, 1)], ["word"])),
    "no trees": msgspec.msgpack.encode((1, 1, 1, 0, [], ["word"])),
    "trees without tuples": msgspec.msgpack.encode((1, 1, 1, 0, [(ROOT, 0)], ["word"])),
    "too few values": msgspec.msgpack.encode((1, 1, 1, 0, [(ROOT, 1)], [])),
    "a time before time": msgspec.msgpack.encode((-1, 1, 1, 0, [(ROOT, 1)], ["word"])),
}


@pytest.mark.parametrize("name", BAD_COMBINED)
def test_what_is_no_frame_of_one_that_stands_for_many_is_counted(name: str) -> None:
    with receiving_worker(combine=lambda a, b: (a.word + b.word,)) as receiver:
        refused_frame(receiver, BAD_COMBINED[name], flags=FrameKind.COMBINED)


def test_one_that_stands_for_many_is_refused_where_nothing_is_put_together() -> None:
    good = msgspec.msgpack.encode((1, 1, 1, 0, [(ROOT, 1)], ["word"]))
    with receiving_worker() as receiver:
        refused_frame(receiver, good, flags=FrameKind.COMBINED)


def test_it_is_reported_once_with_a_count_as_a_failure_of_the_task() -> None:
    with receiving_worker() as receiver:
        for _ in range(3):
            refused_frame(receiver, b"\xc1")
        (failure,) = receiver.result().failures

    assert (failure.component, failure.count) == ("sink", 3)


def test_a_kind_that_does_not_exist_is_refused() -> None:
    with receiving_worker() as receiver:
        refused_frame(receiver, msgspec.msgpack.encode((0, True)), flags=77)


FOR_A_WORKER = sorted({FrameKind.CREDIT, FrameKind.PASSED, FrameKind.PRESSURE, FrameKind.ANSWER} | FOR_WORKERS - EMPTY)


@pytest.mark.parametrize("kind", FOR_A_WORKER, ids=lambda kind: kind.name)
def test_a_bad_frame_for_the_worker_is_no_failure_of_the_bolt_that_has_its_number(kind: FrameKind) -> None:
    assert SINK == RECEIVING, "the numbers are the same"
    with receiving_worker() as receiver:
        refused_frame(receiver, b"\xc1", flags=kind, target=RECEIVING, source=SENDING)
        assert receiver.result().failures == []


def test_a_worker_knows_what_to_do_with_every_kind_of_frame() -> None:
    opened = {FrameKind.TUPLES, FrameKind.BATCH, FrameKind.MARKER, FrameKind.COMBINED}
    with receiving_worker() as receiver:
        assert {*receiver.worker.intake._takers} == {*FrameKind} - opened


@pytest.mark.parametrize("stream", [EDGE + 1, 2**32 - 1])
def test_an_edge_that_does_not_exist_is_refused(stream: int) -> None:
    with receiving_worker() as receiver:
        refused_frame(receiver, real(FrameKind.TUPLES), stream=stream)


def test_a_task_that_does_not_exist_is_counted_as_lost_and_an_assignment_is_waited_for_within_bounds() -> None:
    with receiving_worker() as receiver:
        receiver.sends(with_rows(b"\x91\x91\xa4word"), target=99)
        receiver.sends(with_rows(b"\x91\x91\xa4word"), assignment=99)
        receiver.honest_peer_sends(("after",))

        assert receiver.worker.intake.misrouted == 1
        assert len(receiver.worker.intake.take_early_frames()) == 1
        assert receiver.sink.values == [("after",)]


def test_frames_of_an_assignment_that_never_comes_do_not_fill_the_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(intake_module, "MOST_EARLY_BYTES", 100)
    with receiving_worker() as receiver:
        for _ in range(50):
            receiver.sends(with_rows(b"\x91\x91\xa4word"), assignment=99)
        receiver.honest_peer_sends(("after",))
        assert sum(len(frame.payload) for frame in receiver.worker.intake.take_early_frames()) <= 100
        assert receiver.worker.intake.misrouted > 0


def test_a_sender_is_not_held_back_by_what_was_refused() -> None:
    """As much as ten windows: if credit did not come back, the sender would stop."""
    with receiving_worker() as receiver:
        for _ in range(10):
            refused_frame(receiver, bytes(WINDOW_BYTES))
