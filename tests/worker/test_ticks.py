"""Ticks: on time, in order, and under the same rules as everything else that emits."""

from typing import Any

import pytest

from penstock.connectors.rate import Rate
from penstock.plan.assignment import Assignment
from penstock.testing import CapturedSink, FedSpout, LocalCluster, VirtualClock, run_topology
from penstock.testing.memory import MemoryInbox
from penstock.topology.bolts import Bolt
from penstock.topology.context import TaskContext
from penstock.topology.topology import Topology
from penstock.topology.tuples import Tuple
from penstock.worker.clock import SystemClock
from penstock.worker.company import Colleague
from penstock.worker.deployment import Deployment
from penstock.worker.settings import WorkerSettings


class Ticking(Bolt):
    """Says when it ticks, in milliseconds, and what it has seen since."""

    fields = ("at_ms", "seen")
    tick_every_s = 1.0

    def open(self, context: TaskContext) -> None:
        self.now_ns, self.start_ns, self.seen = context.now_ns, context.now_ns(), 0

    def process(self, tup: Tuple) -> None:  # noqa: ARG002
        self.seen += 1

    def tick(self) -> Any:
        seen, self.seen = self.seen, 0
        return (self.now_ns() - self.start_ns) // 1_000_000, seen


def ticking(**settings: Any) -> tuple[LocalCluster, FedSpout, CapturedSink]:
    topo, spout, sink = Topology("ticking"), FedSpout(fields=("n",)), CapturedSink()
    ticks = topo.bolt("ticking", Ticking(), topo.spout("numbers", spout).shuffle())
    topo.bolt("sink", sink, ticks.shuffle())
    return LocalCluster(topo, **settings), spout, sink


def test_ticks_come_when_time_passes_and_not_before() -> None:
    cluster, spout, sink = ticking()
    with cluster:
        cluster.settle()
        assert sink.values == []
        spout.feed((1,), (2,))
        cluster.advance(0.999)
        assert sink.values == []
        cluster.advance(0.001)
        assert sink.values == [(1000, 2)]
        cluster.advance(2.5)
        assert sink.values == [(1000, 2), (2000, 0), (3000, 0)]


def test_it_makes_no_difference_in_how_many_steps_time_passes() -> None:
    def ticks(steps: int) -> list[tuple[Any, ...]]:
        cluster, _, sink = ticking(workers=2)
        with cluster:
            for _ in range(steps):
                cluster.advance(10 / steps)
        return sink.values

    assert ticks(1) == ticks(4) == ticks(50)
    assert len(ticks(1)) == 10


def test_tuples_of_an_instant_come_before_the_tick_of_that_instant() -> None:
    topo, sink = Topology("windows"), CapturedSink()
    ticks = topo.bolt("ticking", Ticking(), topo.spout("rate", Rate(100)).shuffle())
    topo.bolt("sink", sink, ticks.shuffle())
    run_topology(topo, workers=1, drain_after_s=3.0)

    assert sink.values == [(1000, 101), (2000, 100), (3000, 100)]


def test_missed_ticks_are_not_made_up_for() -> None:
    """A worker that was held up for five seconds ticks once, and then in its own rhythm again."""
    cluster, _, sink = ticking()
    with cluster:
        cluster.clock.detach(cluster)
        cluster.advance(5.25)
        cluster.clock.attach(cluster)
        cluster.settle()
        assert sink.values == [(5250, 0)]
        cluster.advance(1.0)
        assert sink.values == [(5250, 0), (6250, 0)]


def test_a_bolt_that_has_ended_does_not_tick() -> None:
    cluster, spout, sink = ticking()
    with cluster:
        spout.end()
        cluster.settle()
        assert cluster.ended
        cluster.advance(10)
        assert sink.values == []
        assert cluster.due_ns() is None


def test_a_tick_waits_for_credit() -> None:
    cluster, _, sink = ticking(
        worker_of={0: 0, 1: 0, 2: 1}, settings=WorkerSettings(credit_window_bytes=1, inbox_bytes=1)
    )
    with cluster:
        cluster.clock.detach(cluster)
        worker = cluster.workers[0]
        for _ in range(20):
            cluster.clock.advance(1.0)
            worker.do_work()
        assert worker.bolts[0].outputs.emitted == 1
        cluster.clock.attach(cluster)
        cluster.settle()
        assert sink.values == [(1000, 0), (20000, 0)]


def test_every_task_ticks_by_its_own() -> None:
    topo, spout, sink = Topology("ticking"), FedSpout(fields=("n",)), CapturedSink()
    numbers = topo.spout("numbers", spout)
    slow = topo.bolt("slow", Ticking(), numbers.shuffle(), tasks=2, tick_every_s=0.5)
    fast = topo.bolt("fast", Ticking(), numbers.shuffle(), tick_every_s=0.2)
    topo.bolt("sink", sink, slow.shuffle(), fast.shuffle())
    clock = VirtualClock()
    with LocalCluster(topo, workers=2, clock=clock):
        clock.advance(1.0)

    by_source = [tup.source for tup in sink.tuples]
    assert (by_source.count("slow"), by_source.count("fast")) == (4, 5)


def test_a_tick_that_raises_is_reported_and_ticks_again() -> None:
    class Failing(Bolt):
        tick_every_s = 1.0

        def process(self, tup: Tuple) -> None: ...

        def tick(self) -> None:
            message = "not now"
            raise RuntimeError(message)

    topo = Topology("failing")
    topo.bolt("bolt", Failing(), topo.spout("numbers", FedSpout(fields=("n",))).shuffle())
    with LocalCluster(topo) as cluster:
        cluster.advance(3.0)
    [failure] = cluster.result().failures
    assert (failure.message, failure.count) == ("not now", 3)


class SetClock(SystemClock):
    """The clock of a machine whose time somebody sets."""

    def __init__(self) -> None:
        self.wall_ns = 10**18
        self.passed_ns = 0

    def now_ns(self) -> int:
        return self.wall_ns + self.passed_ns

    def steady_ns(self) -> int:
        return self.passed_ns


@pytest.mark.parametrize("set_by_s", [-3600, 3600])
def test_ticks_keep_their_rhythm_when_the_clock_is_set(set_by_s: int) -> None:
    topo, clock = Topology("ticking"), SetClock()
    topo.bolt("ticking", Ticking(), topo.spout("numbers", FedSpout(fields=("n",))).shuffle())
    assignment = Assignment(number=1, worker_of={0: 0, 1: 0})
    inbox = MemoryInbox(capacity_bytes=1000)
    worker = Deployment(
        worker=0,
        topology=topo,
        assignment=assignment,
        inbox=inbox,  # type: ignore[arg-type] # its records are read like a ring's
        ways={},
        colleagues=[Colleague(0, "here")],
        settings=WorkerSettings(delivery="at_most_once"),
        clock=clock,
    ).build()
    worker.begin()
    ticks = []
    for step in range(1, 41):
        clock.passed_ns = step * 100_000_000
        if step == 15:
            clock.wall_ns += set_by_s * 1_000_000_000
        worker.do_work()
        ticks.append(worker.bolts[0].outputs.emitted)
    worker.close()

    assert [ticks.index(count) + 1 for count in (1, 2, 3, 4)] == [10, 20, 30, 40]
