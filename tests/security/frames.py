"""A worker with one bolt, that the test sends frames to as a peer would; and the frames that real peers send."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pyarrow as pa

from penstock.testing import CapturedSink, FedSpout, LocalCluster, Result
from penstock.testing.memory import MemoryInbox, MemoryRecord
from penstock.topology.bolts import BatchBolt
from penstock.topology.groupings import Combine
from penstock.topology.topology import Topology
from penstock.transport.frames import FrameKind
from penstock.transport.ring import Route
from penstock.worker.settings import WorkerSettings
from penstock.worker.worker import Worker

__all__ = ["Receiver", "real_frames", "receiving_worker", "refused_frame"]

SENDING, RECEIVING = 0, 1
SPOUT, SINK, EDGE, ASSIGNMENT = 0, 1, 0, 1
WINDOW_BYTES = 1000


class Receiver:
    """Worker 1, which runs the sink; worker 0 runs the spout and is an honest peer."""

    def __init__(self, cluster: LocalCluster, spout: FedSpout, sink: CapturedSink) -> None:
        self._cluster = cluster
        self._spout = spout
        self.sink = sink

    @property
    def worker(self) -> Worker:
        return self._cluster.workers[RECEIVING]

    def sends(self, payload: bytes, **route: int) -> None:
        """A peer sends a frame, right but for what is said, and the worker takes it."""
        about = {"target": SINK, "source": SPOUT, "stream": EDGE, "assignment": ASSIGNMENT, "flags": FrameKind.TUPLES}
        assert self._cluster._inboxes[RECEIVING].put(MemoryRecord(Route(**(about | route)), payload))
        self._cluster.settle()

    def honest_peer_sends(self, row: tuple[object, ...]) -> None:
        self._spout.feed(row)
        self._cluster.settle()

    def result(self) -> Result:
        return self._cluster.result()


@contextmanager
def receiving_worker(*, combine: Combine | None = None) -> Iterator[Receiver]:
    topo, sink, spout = Topology("receiving"), CapturedSink(), FedSpout(fields=("word",))
    topo.bolt("sink", sink, topo.spout("words", spout).to_one(combine))
    settings = WorkerSettings(credit_window_bytes=WINDOW_BYTES)
    with LocalCluster(topo, worker_of={SPOUT: SENDING, SINK: RECEIVING}, settings=settings) as cluster:
        cluster.settle()
        yield Receiver(cluster, spout, sink)


def refused_frame(receiver: Receiver, payload: bytes, **route: int) -> None:
    """Sends what is no frame: the worker counts it, and takes the next."""
    before, rows = receiver.worker.intake.unreadable, len(receiver.sink.values)
    receiver.sends(payload, **route)
    receiver.honest_peer_sends(("after",))

    assert receiver.worker.intake.unreadable == before + 1
    assert receiver.sink.values[rows:] == [("after",)]


class _Passing(BatchBolt):
    fields = ("value", "number")

    def process_batch(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        return batch


def real_frames(values: list[Any], *, batches: bool = False, broadcast: bool = False) -> list[tuple[FrameKind, bytes]]:
    """What workers send each other when these values flow from one to the other: tuples, or batches; and small talk."""
    recorded: list[tuple[FrameKind, bytes]] = []

    class Recording(MemoryInbox):
        def put(self, record: MemoryRecord) -> bool:
            recorded.append((FrameKind(record.flags), record.payload))
            return super().put(record)

    spout, topo, sink = FedSpout(fields=("value", "number")), Topology("recorded"), CapturedSink()
    stream = topo.spout("values", spout)
    if batches:
        stream = topo.bolt("batches", _Passing(), stream.shuffle())
    topo.bolt("sink", sink, stream.broadcast("ring") if broadcast else stream.shuffle())
    worker_of = {0: 0, 1: 0, 2: 1} if batches else {0: 0, 1: 1}
    with LocalCluster(topo, worker_of=worker_of, settings=WorkerSettings(credit_window_bytes=100)) as cluster:
        for inbox in cluster._inboxes.values():
            inbox.__class__ = Recording
        for number, value in enumerate(values):
            spout.feed((value, number))
            cluster.settle()
        spout.end()
        cluster.run_to_end()
    assert len(sink.values) == len(values)
    return recorded
