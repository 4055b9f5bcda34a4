"""How long a worker sleeps when it has nothing to do: never longer than until it may have."""

import copy
import itertools
import pickle
from typing import Any

import msgspec
import pytest

from penstock._native import FastPath, Record
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
from penstock.worker.wakeup import Waker, Wakeup
from penstock.worker.worker import Worker


class WatchedInbox(MemoryInbox):
    """Notes how long it was asked to wait."""

    def __init__(self) -> None:
        super().__init__(capacity_bytes=1000)
        self.waits: list[float | None] = []

    def read_fast(self, fast_path: FastPath, max_records: int = 256, timeout_s: float | None = None) -> Any:
        self.waits.append(timeout_s)
        return super().read_fast(fast_path, max_records, timeout_s)


class Ticking(Bolt):
    tick_every_s = 1.0

    def process(self, tup: Tuple) -> None: ...


def deployed(
    bolt: Bolt, worker_of: dict[int, int], peer: MemoryInbox, **settings: Any
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
        settings=WorkerSettings(idle_spout_wait_us=300, **settings),
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


def test_a_spout_that_has_had_nothing_for_long_is_asked_less_often() -> None:
    worker, inbox, spout, clock = deployed(CapturedSink(), {0: 0, 1: 0}, full())
    worker.begin()
    waits = []
    for _ in range(200):
        worker.do_work()
        waits.append(slept(worker, inbox))
        clock.advance(waits[-1])
    assert waits == sorted(waits)
    assert [waits[0], waits[-1]] == pytest.approx([0.0003, 0.05])
    late = [wait / since for wait, since in zip(waits, itertools.accumulate(waits, initial=0.0), strict=False) if since]
    assert max(late[8:]) <= 0.126, "what comes is never late by more than an eighth of the pause before it"
    spout.feed((1,))
    worker.do_work()
    assert slept(worker, inbox) == pytest.approx(0.0003)


def test_a_turn_sleeps_unless_the_last_one_has_left_something_to_do() -> None:
    worker, inbox, _, _ = deployed(CapturedSink(), {0: 1, 1: 0}, full())
    worker.begin()
    worker.turn(0.05)  # the first one never sleeps
    inbox.put(frame(1))
    assert worker.turn(0.05) == 3, "a frame, and two tuples"
    assert not worker.is_restless, "there is nothing left, and nobody has to look for it"
    worker.turn(0.05)
    worker.stir()
    worker.turn(0.05)
    assert inbox.waits == [0.0, 0.05, 0.05, 0.0]


def test_a_turn_does_not_sleep_while_a_queue_is_not_empty() -> None:
    worker, inbox, _, _ = deployed(CapturedSink(), {0: 1, 1: 0}, full(), turn_tuples=1)
    worker.begin()
    worker.turn(0.05)
    for number in range(3):
        inbox.put(frame(number))
    while worker.turn(0.05):
        pass
    assert inbox.waits == [0.0, 0.05, 0.0, 0.0, 0.05]


def test_a_turn_sleeps_while_a_bolt_is_kept_from_working() -> None:
    """Until somebody says that it may go on, which wakes the worker."""
    topo, inbox = Topology("kept"), WatchedInbox()
    passing = topo.bolt(
        "pass", lambda tup: (tup.n,), topo.spout("numbers", FedSpout(fields=("n",))).shuffle(), fields="n"
    )
    topo.bolt("sink", CapturedSink(), passing.shuffle())
    worker = Deployment(
        worker=0,
        topology=topo,
        assignment=Assignment(number=1, worker_of={0: 1, 1: 0, 2: 1}),
        inbox=inbox,
        ways={1: MemoryWay(MemoryInbox(capacity_bytes=1 << 20))},
        colleagues=[Colleague(0, "here"), Colleague(1, "here")],
        settings=WorkerSettings(credit_window_bytes=1),
        clock=VirtualClock(),
    ).build()
    worker.begin()
    for number in range(3):
        inbox.put(frame(number))
    while worker.turn(0.05):
        pass
    assert worker.bolts[0].has_work, "there is no credit for what it would emit"
    assert not worker.is_restless
    worker.turn(0.05)
    assert inbox.waits[-1] == pytest.approx(0.05)


def test_what_wakes_a_worker_is_the_same_for_copies_and_wakes_nobody_elsewhere() -> None:
    rung: list[int] = []

    class Rung:
        def read_fast(self, fast_path: FastPath, max_records: int = 0, timeout_s: float | None = None) -> list[Record]:  # noqa: ARG002
            return []

        def ring_bell(self, bits: int) -> None:
            rung.append(bits)

    waker = Waker(Rung(), Wakeup.SPOUT)
    copy.deepcopy([waker])[0]()
    assert rung == [Wakeup.SPOUT]
    pickle.loads(pickle.dumps(waker))()
    assert rung == [Wakeup.SPOUT]


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
