"""What a peer may send in place of a broadcast: the worker counts it, tells of it, and goes on."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import msgspec
import pytest

from penstock.testing import CapturedSink, FedSpout, LocalCluster
from penstock.testing.memory import MemoryRecord
from penstock.topology.topology import Topology
from penstock.transport.frames import CastGot, CastHeader, CastTree, FrameKind, pack_cast_header
from penstock.transport.ring import Route
from penstock.worker.cast_receiver import MOST_CASTS_OF_ONE

SPOUT, EDGE, MINE = 0, 0, 77
encode = msgspec.msgpack.encode


class Hostile:
    """Worker 0 has the spout; workers 1 and 2 a task each, and get frames from somebody who should not send any."""

    def __init__(self, cluster: LocalCluster, spout: FedSpout, sink: CapturedSink) -> None:
        self.cluster = cluster
        self.spout = spout
        self.sink = sink

    def sends(self, kind: FrameKind, payload: bytes, *, to: int = 1, source: int = SPOUT, edge: int = EDGE) -> None:
        route = Route(target=0, source=source, stream=edge, assignment=1, flags=kind)
        assert self.cluster._inboxes[to].put(MemoryRecord(route, payload))
        self.cluster.settle()

    def all_goes_on(self) -> None:
        self.sink.clear()
        self.spout.feed(("after",))
        self.cluster.settle()
        assert self.sink.values == [("after",)] * 2


@contextmanager
def hostile() -> Iterator[Hostile]:
    topo, sink, spout = Topology("hostile"), CapturedSink(), FedSpout(fields=("word",))
    topo.bolt("sink", sink, topo.spout("words", spout).broadcast("ring"), tasks=2)
    with LocalCluster(topo, worker_of={0: 0, 1: 1, 2: 2}, delivery="at_most_once") as cluster:
        yield Hostile(cluster, spout, sink)


def cast(number: int, payload: bytes, *, version: int = 1, kind: int = FrameKind.TUPLES) -> bytes:
    return pack_cast_header(CastHeader(MINE, number, version, kind, 0)) + payload


@pytest.mark.parametrize(
    ("kind", "payload"),
    [
        (FrameKind.CAST, b""),
        (FrameKind.CAST, b"short"),
        (FrameKind.TREE, b"\xc1"),
        (FrameKind.TREE, encode((1, 2, 3, 4))),
        (FrameKind.GOT, b"\xc1"),
        (FrameKind.GOT, encode((1, 2))),
    ],
)
def test_what_is_no_frame_is_counted(kind: FrameKind, payload: bytes) -> None:
    with hostile() as peer:
        peer.sends(kind, payload)
        assert peer.cluster.workers[1].intake.unreadable == 1
        peer.all_goes_on()


def test_an_edge_that_is_not_broadcast_and_a_task_that_is_nowhere_are_refused() -> None:
    with hostile() as peer:
        peer.sends(FrameKind.CAST, cast(0, b""), edge=9)
        peer.sends(FrameKind.CAST, cast(0, b""), source=9)
        assert peer.cluster.workers[1].intake.unreadable == 2
        peer.all_goes_on()


def test_a_tree_that_goes_in_a_circle_ends() -> None:
    with hostile() as peer:
        tree = CastTree(MINE, 1, {1: (2, 5), 2: (1, 0)}, {1: (1, 0), 2: (1, 0)})
        peer.sends(FrameKind.TREE, encode(tree))
        row = encode((1, 1, 0, [], [["hello"]]))
        peer.sends(FrameKind.CAST, cast(0, row))
        assert peer.sink.values == [("hello",)] * 2
        peer.all_goes_on()


def test_a_payload_that_cannot_be_read_is_told_of_and_holds_nothing_up() -> None:
    with hostile() as peer:
        peer.sends(FrameKind.TREE, encode(CastTree(MINE, 1, {}, {1: (1, 0)})))
        peer.sends(FrameKind.CAST, cast(0, b"\xc1"))
        peer.sends(FrameKind.CAST, cast(1, b"", kind=99))
        peer.sends(FrameKind.CAST, cast(2, encode((1, 1, 0, [], [["hello"]]))))
        assert peer.cluster.workers[1].intake.unreadable == 2
        assert sum(failure.count for failure in peer.cluster.result().failures) == 2
        assert peer.sink.values == [("hello",)]
        peer.all_goes_on()


def test_a_tree_for_another_process_is_not_taken() -> None:
    with hostile() as peer:
        peer.sends(FrameKind.TREE, encode(CastTree(MINE, 1, {1: (2,)}, {1: (2, 0)})))
        peer.sends(FrameKind.CAST, cast(0, encode((1, 1, 0, [], [["hello"]]))))
        assert peer.sink.values == []
        peer.all_goes_on()


def test_many_casts_of_one_task_do_not_pile_up() -> None:
    with hostile() as peer:
        for number in range(100):
            tree = CastTree(number, 1, {}, {1: (1, 0)})
            peer.sends(FrameKind.TREE, encode(tree))
        assert len(peer.cluster.workers[1]._casts._receiver._casts) <= MOST_CASTS_OF_ONE
        peer.all_goes_on()


def test_news_of_what_was_never_sent_are_not_believed() -> None:
    with hostile() as peer:
        peer.spout.feed(("first",))
        peer.cluster.settle()
        (own,) = peer.cluster.workers[0]._casts._senders
        for got in (CastGot(own, 1, 10**9, 10**9, 0), CastGot(own, 7, 0, 0, 1), CastGot(5, 1, 0, 0, 1)):
            peer.sends(FrameKind.GOT, encode(got), to=0, source=1)
        peer.all_goes_on()
