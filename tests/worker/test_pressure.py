"""Who is stopped by a task that is too slow, in which order, and who is not."""

from collections import Counter
from typing import Any

import pytest

from penstock.control.aggregation import Aggregation
from penstock.control.failures import FailureLog
from penstock.control.pressure_metrics import PressureMetrics
from penstock.control.reporting import report_of
from penstock.flow.delivery import Delivery
from penstock.flow.relief import ReliefState
from penstock.plan.edges import edges_of
from penstock.plan.shape import shape_of
from penstock.plan.tasks import tasks_of
from penstock.testing import CapturedSink, FedSpout, LocalCluster
from penstock.topology.bolts import Bolt
from penstock.topology.topology import Topology
from penstock.worker.pressure import PressureWatch
from penstock.worker.settings import WorkerSettings

SMALL = WorkerSettings(high_water_tuples=8, turn_tuples=1, spout_turn_tuples=4)
"""A task does one frame in a turn. So one that is fed by four is too slow for them."""


class Passing(Bolt):
    fields = ("n",)

    def process(self, tup: Any) -> tuple[int]:
        return (tup.n,)


def chain() -> tuple[Topology, FedSpout, CapturedSink, FedSpout, CapturedSink]:
    """Spout, first, second and slow, which is too slow; and beside them a spout and a bolt that have no part in it."""
    topo, sink, unrelated = Topology("chain"), CapturedSink(), CapturedSink()
    spout, other = FedSpout(fields=("n",)), FedSpout(fields=("n",))
    first = topo.bolt("first", Passing(), topo.spout("spout", spout).shuffle())
    second = topo.bolt("second", Passing(), first.shuffle(), tasks=4)
    topo.bolt("slow", sink, second.shuffle())
    topo.bolt("unrelated", unrelated, topo.spout("other", other).shuffle())
    return topo, spout, sink, other, unrelated


TASKS = 9


def watches(cluster: LocalCluster) -> list[PressureWatch]:
    return [worker.pressure for worker in cluster.workers.values()]


def stopping(cluster: LocalCluster) -> set[str]:
    """Those that have others stopped."""
    return {
        name
        for name in ("first", "second", "slow", "unrelated")
        for watch in watches(cluster)
        if not watch.pressure.helping.stopping.isdisjoint(cluster.tasks_of(name))
    }


@pytest.mark.parametrize("spread", [False, True], ids=["in one worker", "a worker each"])
def test_stages_stop_one_after_the_other_up_to_the_spout_and_nobody_else(spread: bool) -> None:
    topo, spout, sink, other, unrelated = chain()
    places = {task: task if spread else 0 for task in range(TASKS)}
    with LocalCluster(topo, worker_of=places, settings=SMALL, delivery="at_most_once") as cluster:
        for n in range(300):
            spout.feed((n,))
        seen: list[str] = []
        while "first" not in seen:  # then the spout is stopped, too
            cluster.step()
            seen += sorted(stopping(cluster) - {*seen})
        assert seen == ["slow", "second", "first"]
        for n in range(20):
            other.feed((n,))
        while len(unrelated.values) < 20:
            cluster.step()
        assert stopping(cluster) == {*seen}, "the others have not had to wait for these"
        backlogs = [bolt.queued_tuples for worker in cluster.workers.values() for bolt in worker.bolts]
        assert max(backlogs) < 8 * SMALL.high_water_tuples
        spout.end()
        other.end()
        cluster.run_to_end()
        assert Counter(sink.values) == Counter((n,) for n in range(300))
        assert not stopping(cluster)
        assert not any(watch.blocked for watch in watches(cluster))


@pytest.mark.parametrize("delivery", ["at_most_once", "at_least_once", "exactly_once"])
def test_nothing_is_lost_or_doubled_by_backpressure_and_moves(delivery: Delivery) -> None:
    topo, spout, sink, other, _ = chain()
    places = {task: task % 3 for task in range(TASKS)}
    with LocalCluster(topo, worker_of=places, settings=SMALL, delivery=delivery, seed=7) as cluster:
        for n in range(100):
            spout.feed((n,))
        for name, place in (("slow", 0), ("second", 1), ("first", 2), ("slow", 2)):
            while not stopping(cluster) and not spout.is_idle:
                cluster.step()
            cluster.move({cluster.tasks_of(name)[0]: place})
            while cluster.moving:
                cluster.step()
        spout.end()
        other.end()
        cluster.run_to_end(most_s=60)
        assert Counter(sink.values) == Counter((n,) for n in range(100))
        assert not stopping(cluster)


@pytest.mark.parametrize("victim", ["spout", "first", "second", "slow"])
def test_who_dies_while_it_stops_others_or_is_stopped_leaves_nobody_stopped(victim: str) -> None:
    topo, spout, sink, other, _ = chain()
    with LocalCluster(topo, worker_of={task: task for task in range(TASKS)}, settings=SMALL, seed=3) as cluster:
        for n in range(100):
            spout.feed((n,))
        while len(stopping(cluster)) < 3:
            cluster.step()
        task = cluster.tasks_of(victim)[0]
        cluster.kill(task)
        for _ in range(300):
            cluster.step()
        words = [watch.pressure.helping.stopping for watch in watches(cluster)]
        assert not any(task in word for word in words), "what a dead worker has said does not hold"
        cluster.restart(task)
        spout.end()
        other.end()
        cluster.run_to_end(most_s=60)
        assert {*sink.values} == {(n,) for n in range(100)}
        assert not stopping(cluster)


def test_only_the_last_of_the_chain_is_too_slow_and_the_others_wait_for_it() -> None:
    topo, spout, _, _, _ = chain()
    shape = shape_of(topo)
    aggregation = Aggregation(tasks_of(shape), edges_of(shape), FailureLog())
    with LocalCluster(topo, worker_of={task: task for task in range(TASKS)}, settings=SMALL) as cluster:
        for n in range(1000):
            spout.feed((n,))
        while "first" not in stopping(cluster):
            cluster.step()
        named = []
        for _ in range(40):  # each report is of another moment: who is stopped at one may be going on at the next
            for _ in range(25):
                cluster.step()
                cluster.clock.let_pass(0.001)
            for number, worker in cluster.workers.items():
                aggregation.report(number, 1, report_of(worker), cluster.clock.now_ns() / 1e9)
            pressed = [one for one in aggregation.pressures() if one.state is not ReliefState.FLOWING]
            named.append([(one.component, one.waits_for) for one in pressed])
        # The first reports have none before them.
        told = {pair for pairs in named[1:] for pair in pairs}
        assert ("second", ("slow",)) in told
        assert ("first", ("slow",)) in told
        assert {name for name, waits_for in told if not waits_for} == {"slow"}
        assert all(pairs[0] == ("slow", ()) for pairs in named[1:] if ("slow", ()) in pairs), "who is to blame is first"


def test_people_are_told_who_is_too_slow_and_who_is_stopped_by_it() -> None:
    topo, spout, _, other, _ = chain()
    shape = shape_of(topo)
    aggregation = Aggregation(tasks_of(shape), edges_of(shape), FailureLog())

    def pressures() -> dict[str, PressureMetrics]:
        for number, worker in cluster.workers.items():
            aggregation.report(number, 1, report_of(worker), cluster.clock.now_ns() / 1e9)
        return {one.component: one for one in aggregation.pressures()}

    with LocalCluster(topo, worker_of={task: task for task in range(TASKS)}, settings=SMALL) as cluster:
        for n in range(100):
            spout.feed((n,))
        assert pressures() == {}
        while "first" not in stopping(cluster):
            cluster.step()
        now = pressures()
        assert (now["slow"].state, now["slow"].stops) == (ReliefState.STOPPING, ("second",))
        assert now["first"].stops == ("spout",)
        assert "unrelated" not in now
        spout.end()
        other.end()
        cluster.run_to_end(most_s=60)
        after = pressures()
        assert {one.state for one in after.values()} == {ReliefState.FLOWING}
        assert not any(one.stops for one in after.values())
        assert after["slow"].episodes >= now["slow"].episodes >= 1
        assert after["slow"].stopped_s.keys() == {"second"}
