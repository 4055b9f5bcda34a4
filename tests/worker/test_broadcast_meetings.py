"""Workers meet anew, each at its own time: what was under way between them is lost, and nobody waits for it."""

from __future__ import annotations

from typing import Any

import pytest

from penstock.flow.delivery import Delivery
from penstock.testing import CapturedSink, FedSpout, LocalCluster
from penstock.testing.memory import MemoryInbox, MemoryRecord, MemoryWay
from penstock.topology.topology import Topology
from penstock.transport.frames import FrameKind
from penstock.worker.company import Colleague
from penstock.worker.settings import WorkerSettings
from tests.worker.test_broadcast import ALGORITHMS, Tagged


def fed_broadcast(algorithm: str, spout: FedSpout, sink: CapturedSink, tasks: int) -> Topology:
    topo = Topology("broadcasts")
    tagged = topo.bolt("tagged", Tagged(), topo.spout("numbers", spout).broadcast(algorithm), tasks=tasks)
    topo.bolt("sink", sink, tagged.to_one())
    return topo


@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.parametrize("delivery", ["at_most_once", "at_least_once"])
@pytest.mark.parametrize("late", [1, 2, 3])
def test_a_relay_may_be_the_last_to_hear_who_is_back(
    algorithm: str, delivery: Delivery, late: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also if what it has passed on to the dead one was the end, and nothing follows."""
    spout, sink = FedSpout(fields=("n",)), CapturedSink()
    topo = fed_broadcast(algorithm, spout, sink, tasks=4)
    places = {0: 0, 1: 1, 2: 2, 3: 3, 4: 4, 5: 0}
    node_of = dict(enumerate("aabbb"))
    with LocalCluster(topo, delivery=delivery, worker_of=places, node_of=node_of) as cluster:
        spout.feed((1,))
        cluster.settle()
        cluster.kill(4)
        cluster.settle()
        spout.end()
        cluster.settle()
        meetings: list[tuple[Any, ...]] = []
        with monkeypatch.context() as patched:
            patched.setattr(cluster.workers[late], "meet", lambda *meeting: meetings.append(meeting))
            cluster.restart(4)
            cluster.settle()
        for meeting in meetings:
            cluster.workers[late].meet(*meeting)
        cluster.run_to_end(most_s=20)
        assert meetings
        assert cluster.ended


@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.parametrize("delivery", ["at_most_once", "at_least_once"])
def test_an_origin_that_waits_hears_how_far_others_are_when_they_meet_again(
    algorithm: str, delivery: Delivery, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What they had said before was lost, and all they have was processed: they would say nothing more."""
    spout, sink = FedSpout(fields=("n",)), CapturedSink()
    topo = fed_broadcast(algorithm, spout, sink, tasks=1)
    small = WorkerSettings(credit_window_bytes=400, spout_turn_tuples=4)
    with LocalCluster(topo, delivery=delivery, worker_of={0: 0, 1: 1, 2: 1}, settings=small) as cluster:
        put = MemoryInbox.put

        def put_or_lose(inbox: MemoryInbox, record: MemoryRecord) -> bool:
            return record.flags in (FrameKind.GOT, FrameKind.CREDIT) or put(inbox, record)

        for n in range(200):
            spout.feed((n,))
        with monkeypatch.context() as broken:
            broken.setattr(MemoryInbox, "put", put_or_lose)
            cluster.settle()
            assert len(sink.values) < 200, "the origin waits"
        for one, other in ((0, 1), (1, 0)):
            cluster.workers[one].meet(Colleague(other, "here"), MemoryWay(cluster._inboxes[other]))
        spout.end()
        cluster.run_to_end(most_s=20)
    assert {n for _, n in sink.values} == set(range(200))


def test_markers_that_all_have_passed_are_not_kept() -> None:
    spout, sink = FedSpout(fields=("n",)), CapturedSink()
    topo = fed_broadcast("ring", spout, sink, tasks=2)
    small = WorkerSettings(credit_window_bytes=16 << 10)
    with LocalCluster(topo, worker_of={0: 0, 1: 1, 2: 2, 3: 0}, settings=small) as cluster:
        cluster.settle()
        for _ in range(200):
            cluster.begin_epoch()
            cluster.settle()
        cluster.kill(2)
        cluster.workers[0].lose(2, 1)  # worker 1 gets again what it is not known to have
        assert len(cluster._inboxes[1]) < 50
