"""How long a worker sleeps when it has nothing to do: never longer than until it may have."""

from typing import Any

import msgspec
import pytest

from penstock.plan.assignment import Assignment
from penstock.testing import CapturedSink, FedSpout, VirtualClock
from penstock.testing.memory import MemoryInbox, MemoryRecord, MemoryWay
from penstock.topology.bolts import Bolt
from penstock.topology.topology import Topology
from penstock.topology.tuples import Tuple
from penstock.transport.frames import FrameKind
from penstock.transport.ring import Route
from penstock.worker.company import Colleague
from penstock.worker.deployment import Deployment
from penstock.worker.settings import WorkerSettings
from penstock.worker.worker import Worker


class WatchedInbox(MemoryInbox):
    """Notes how long it was asked to wait."""

    def __init__(self) -> None:
        super().__init__(capacity_bytes=1000)
        self.waits: list[float | None] = []

    def read_many(self, max_records: int = 256, timeout_s: float | None = None) -> Any:
        self.waits.append(timeout_s)
        return super().read_many(max_records, timeout_s)


class Ticking(Bolt):
    tick_every_s = 1.0

    def process(self, tup: Tuple) -> None: ...


def deployed(
    bolt: Bolt, worker_of: dict[int, int], peer: MemoryInbox
) -> tuple[Worker, WatchedInbox, FedSpout, VirtualClock]:
    topo, spout, inbox, clock = Topology("idle"), FedSpout(fields=("n",)), WatchedInbox(), VirtualClock()
    topo.bolt("bolt", bolt, topo.spout("numbers", spout).shuffle())
    worker = Deployment(
        worker=0,
        topology=topo,
        assignment=Assignment(number=1, worker_of=worker_of),
        inbox=inbox,
        ways={1: MemoryWay(peer)},
        colleagues=[Colleague(0, "here"), Colleague(1, "here")],
        settings=WorkerSettings(idle_spout_wait_us=300),
        clock=clock,
    ).build()
    return worker, inbox, spout, clock


def full() -> MemoryInbox:
    """An inbox of a peer that never reads."""
    return MemoryInbox(capacity_bytes=1)


def slept(worker: Worker, inbox: WatchedInbox) -> float:
    worker.idle(0.05)
    assert inbox.waits[-1] is not None
    return inbox.waits[-1]


def test_a_worker_does_not_look_up_before_it_is_told_to_begin() -> None:
    worker, inbox, _, _ = deployed(Ticking(), {0: 0, 1: 0}, full())
    assert slept(worker, inbox) == 0.05


def test_a_worker_with_a_spout_asks_it_again_soon() -> None:
    worker, inbox, spout, _ = deployed(CapturedSink(), {0: 0, 1: 0}, full())
    worker.begin()
    assert slept(worker, inbox) == pytest.approx(0.0003)
    spout.end()
    worker.do_work()
    assert slept(worker, inbox) == 0.05


def test_a_worker_wakes_for_the_next_tick() -> None:
    worker, inbox, _, clock = deployed(Ticking(), {0: 1, 1: 0}, full())
    worker.begin()
    assert slept(worker, inbox) == 0.05
    clock.advance(0.99)
    assert slept(worker, inbox) == pytest.approx(0.01)
    clock.advance(0.5)
    assert slept(worker, inbox) == 0.0


def test_a_worker_with_frames_that_did_not_fit_tries_them_again_soon() -> None:
    worker, inbox, spout, _ = deployed(CapturedSink(), {0: 0, 1: 1}, full())
    worker.begin()
    for number in range(2):
        spout.feed((number,))
        worker.do_work()
    spout.end()
    worker.do_work()
    assert not worker.ended
    assert slept(worker, inbox) <= 0.001


def frame(number: int, *, target: int = 1, assignment: int = 1) -> MemoryRecord:
    route = Route(target=target, source=0, stream=0, assignment=assignment, flags=FrameKind.TUPLES)
    return MemoryRecord(route, msgspec.msgpack.encode((1, 2, 0, [(0, 2)], [(number,), (number,)])))


def test_what_arrives_while_it_sleeps_is_taken() -> None:
    sink = CapturedSink()
    worker, inbox, _, _ = deployed(sink, {0: 1, 1: 0}, full())
    worker.begin()
    inbox.put(frame(7))
    worker.idle(0.05)

    assert worker.do_work() == 2
    assert sink.values == [(7,), (7,)]


def test_what_is_for_a_task_elsewhere_is_lost_and_what_is_of_a_later_assignment_waits_for_it() -> None:
    sink = CapturedSink()
    worker, inbox, _, _ = deployed(sink, {0: 1, 1: 0}, full())
    for wrong in (frame(1, target=0), frame(2, assignment=2), frame(3)):
        inbox.put(wrong)
    worker.do_work()

    assert sink.values == [(3,), (3,)]
    assert worker.lost_tuples == 2
    assert [early.assignment for early in worker.intake.take_early_frames()] == [2]
