"""What is fuzzed: every decoder of what comes from a socket or a ring, with the errors that it documents."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import NamedTuple

import pyarrow as pa

from penstock._native import Histogram, LinkIntake, pack_link_head
from penstock.control.codec import decode_answer, decode_from_controller, decode_to_controller, encode
from penstock.errors import ProtocolError
from penstock.testing import CapturedSink, FedSpout, LocalCluster
from penstock.testing.memory import MemoryRecord
from penstock.topology.topology import Topology
from penstock.transport import door
from penstock.transport.frames import FrameKind
from penstock.transport.ring import RingReader, RingSettings, RingWriter, Route
from penstock.transport.values import UNREADABLE, decode_rows
from penstock.worker.batches import batch_from_payload, rows_of
from tests.control.stage import Stage
from tests.fuzz import corpus

__all__ = ["TARGETS", "Target"]


class Target(NamedTuple):
    """A decoder, what it may raise, and what to start from."""

    decode: Callable[[bytes], object]
    errors: tuple[type[BaseException], ...]
    corpus: Callable[[], list[bytes]]

    def check(self, data: bytes) -> None:
        """Raises what the decoder must not."""
        with contextlib.suppress(*self.errors):
            self.decode(data)


def _link_frame(data: bytes) -> None:
    """What comes over a link gets into the ring as it is, or is refused."""
    settings = RingSettings(capacity_bytes=1 << 12, max_message_bytes=3000, max_producers=1)
    with RingReader.create(settings) as ring, RingWriter.attach(ring.address) as writer:
        intake, records = LinkIntake(writer), []
        if intake.take(data, 1):
            while not intake.deliver(0):
                records += ring.read_many(10, 0)
            records += ring.read_many(10, 0)
            (record,) = records
            route = Route(
                target=record.target,
                source=record.source,
                stream=record.stream,
                assignment=record.assignment,
                flags=record.flags,
            )
            link, number = (int.from_bytes(data[at : at + 8], "little") for at in (0, 8))
            assert pack_link_head(link, number, route) + bytes(record.payload) == data
        assert intake.refused + len(records) == 1
        intake.close()


def _rows(data: bytes) -> None:
    for row in decode_rows(data):
        repr(row)  # touches everything


def _batch(data: bytes) -> None:
    batch = batch_from_payload(data)[0]
    # A right batch may hold what Python has no value for; to reach outside of its memory would be a crash.
    with contextlib.suppress(ValueError, OverflowError, KeyError, TypeError, pa.ArrowException):
        for row in rows_of(batch):
            repr(row)


def _histogram(data: bytes) -> None:
    histogram = Histogram.from_bytes(data)
    histogram.merge(Histogram.from_bytes(histogram.to_bytes()))
    histogram.buckets()


def _frame(data: bytes) -> None:
    """A worker takes any payload of a peer, and goes on. Record batches have a target of their own."""
    if not data or data[0] == FrameKind.BATCH:
        return
    topo = Topology("fuzzed")
    values = topo.spout("values", FedSpout(fields=("value", "number")))
    topo.bolt("sink", CapturedSink(), values.shuffle(), values.broadcast("ring"))
    with LocalCluster(topo, worker_of={0: 0, 1: 1}) as cluster:
        to, back = (0, 1) if data[0] == FrameKind.GOT else (1, 0)
        edge = 1 if data[0] >= FrameKind.CAST else 0
        route = Route(target=1, source=back, stream=edge, assignment=1, flags=data[0])
        cluster._inboxes[to].put(MemoryRecord(route, data[1:]))
        cluster.settle()


def _to_controller(data: bytes) -> None:
    message = decode_to_controller(data)
    assert decode_to_controller(encode(message)) == message or "nan" in repr(message)


def _controller(data: bytes) -> None:
    """A controller takes any message of a worker of its run, and can be asked afterwards."""
    message = decode_to_controller(data)
    stage = Stage()
    first, *_ = stage.runs()
    stage.says(first, message)
    stage.status()
    encode(stage.controller.metrics(stage.now_s))  # type: ignore[arg-type]


TARGETS = {
    "link": Target(_link_frame, (), corpus.link_frames),
    "rows": Target(_rows, UNREADABLE, corpus.rows),
    "batch": Target(_batch, (ValueError,), corpus.batches),
    "greeting": Target(door._decode_hello, door._UNREADABLE, corpus.greetings),
    "histogram": Target(_histogram, (ValueError,), corpus.histograms),
    "frame": Target(_frame, (), corpus.frames),
    "to-controller": Target(_to_controller, (ProtocolError,), corpus.to_controller),
    "to-worker": Target(decode_from_controller, (ProtocolError,), corpus.to_worker),
    "answer": Target(decode_answer, (ProtocolError,), corpus.answers),
    "controller": Target(_controller, (ProtocolError,), corpus.to_controller),
}
