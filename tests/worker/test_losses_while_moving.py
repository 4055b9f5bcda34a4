"""Workers that die, or come, in the middle of a move: nothing waits for ever, and nothing is lost that need not be."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from penstock.connectors.collect import Collect
from penstock.connectors.lines import Lines
from penstock.flow.delivery import Delivery
from penstock.testing import CapturedSink, FedSpout, LocalCluster
from penstock.topology.bolts import KeyedBolt
from penstock.topology.topology import Topology
from penstock.topology.tuples import Tuple
from penstock.worker.settings import WorkerSettings

DELIVERIES: tuple[Delivery, ...] = ("at_most_once", "at_least_once", "exactly_once")
KEYS = [f"key {number}" for number in range(40)]
SPOUT, FIRST, SECOND, SINK = range(4)


def steps_until(cluster: LocalCluster, is_so: Callable[[], bool]) -> None:
    for _ in range(50_000):
        if is_so():
            return
        cluster.step()
        cluster.clock.let_pass(0.0001)
    raise AssertionError


def switched(cluster: LocalCluster, number: int) -> Callable[[], bool]:
    """Whether all workers have switched to the assignment of this number."""
    return lambda: all(worker._places.assignment == number for worker in cluster.workers.values())


class Ticking(KeyedBolt):
    fields = ("key", "count")
    tick_every_s = 0.5

    def process(self, key: Any, tup: Tuple) -> None:  # noqa: ARG002
        self.state[key] = self.state.get(key, 0) + 1

    def tick(self) -> None:
        self.state.pop(KEYS[0], None)

    def finish(self) -> Iterator[Any]:
        yield from self.state.items()


@pytest.mark.parametrize("delivery", DELIVERIES)
def test_bolts_that_tick_share_out_the_state_of_all_of_their_tasks(delivery: Delivery) -> None:
    topo, keys, sink = Topology("ticking"), FedSpout(fields=("key",)), CapturedSink()
    ticking = topo.bolt("ticking", Ticking(), topo.spout("keys", keys).by("key"), tasks=3)
    topo.bolt("sink", sink, ticking.shuffle())
    with LocalCluster(topo, workers=3, delivery=delivery) as cluster:
        keys.feed(*((key,) for key in KEYS))
        cluster.settle()
        cluster.scale("ticking", [0, 1])
        cluster.settle()
        keys.end()
        cluster.run_to_end()
    assert Counter(sink.values) == Counter((key, 1) for key in KEYS)


class Count(KeyedBolt):
    fields = ("key", "count")

    def process(self, key: Any, tup: Tuple) -> Iterator[Any]:  # noqa: ARG002
        self.state[key] = self.state.get(key, 0) + 1
        yield key, self.state[key]


def test_who_dies_while_a_bolt_is_scaled_takes_nothing_with_it_of_what_others_have() -> None:
    topo, keys = Topology("scaled"), FedSpout(fields=("key",))
    counts = topo.bolt("count", Count(), topo.spout("keys", keys).by("key"), tasks=2)
    topo.bolt("sink", CapturedSink(), counts.shuffle())
    places = {SPOUT: 0, FIRST: 1, SECOND: 2, SINK: 3}
    # Small frames: a turn does a whole one, and there has to be something left when everybody has switched.
    slow = WorkerSettings(credit_window_bytes=8000, spout_turn_tuples=32, turn_tuples=1)
    with LocalCluster(topo, worker_of=places, delivery="at_most_once", settings=slow) as cluster:
        keys.feed(*((key,) for key in KEYS * 200))
        for _ in range(200):
            cluster.step(without=3)
        cluster.scale("count", [0, 4, 4])
        steps_until(cluster, lambda: cluster.worker_of.keys() != places.keys())
        living = cluster.workers[1].roster.bolt_by_task[FIRST]
        assert living.queued_tuples, "it has to work through this before it hands over"
        cluster.kill(2)
        cluster.settle()
        cluster.restart(2)
        cluster.settle()
        assert not cluster.moving
        bolts = [bolt for worker in cluster.workers.values() for bolt in worker.bolts if bolt.component == "count"]
        state = {key: count for bolt in bolts for key, count in bolt.logic.state.items()}
        assert all(state.get(key, 0) >= count for key, count in living.logic.state.items())


@pytest.mark.parametrize("delivery", DELIVERIES)
def test_a_task_that_broadcasts_moves_to_a_worker_that_has_come_since_others_moved(delivery: Delivery) -> None:
    topo = Topology("broadcasting")
    numbers = topo.spout("numbers", Lines(range(6000), fields=("n",)))
    told = topo.bolt("tell", lambda tup: (tup.n,), numbers.shuffle(), fields=("n",))
    heard = topo.bolt("hear", lambda tup: (tup.n,), told.broadcast("ring"), tasks=2, fields=("n",))
    topo.bolt("all", Collect(), heard.shuffle())
    small = WorkerSettings(credit_window_bytes=2000)
    with LocalCluster(topo, workers=3, seed=1, delivery=delivery, settings=small) as cluster:
        for component, worker in (("all", 0), ("all", 1), ("tell", 3)):
            (task,) = cluster.tasks_of(component)
            cluster.begin_epoch()
            steps_until(cluster, lambda: not cluster.checkpoint_under_way)
            cluster.move({task: worker})
            steps_until(cluster, lambda: not cluster.moving)
        cluster.run_to_end()
        rows = cluster.result().collected("all")
    assert Counter(tuple(row) for row in rows) == Counter({(number,): 2 for number in range(6000)})


def chain(keys: FedSpout, sink: CapturedSink) -> Topology:
    topo = Topology("chain")
    first = topo.bolt("first", lambda tup: [(tup.key,)] * 4, topo.spout("keys", keys).shuffle(), fields=("key",))
    second = topo.bolt("second", lambda tup: tup, first.shuffle(), fields=("key",))
    topo.bolt("sink", sink, second.shuffle())
    return topo


@pytest.mark.parametrize("dies", [2, 3])
def test_a_task_that_has_much_to_do_before_it_leaves_gets_it_done_whoever_dies(dies: int) -> None:
    keys, sink = FedSpout(fields=("key",)), CapturedSink()
    # Small frames: a turn does a whole one, and there has to be something left when everybody has switched.
    slow = WorkerSettings(credit_window_bytes=8000, spout_turn_tuples=32, turn_tuples=1)
    places = {SPOUT: 0, FIRST: 1, SECOND: 3, SINK: 0}
    topo = chain(keys, sink)
    with LocalCluster(topo, worker_of=places, delivery="at_most_once", settings=slow) as cluster:
        keys.feed(*((key,) for key in KEYS * 200))
        for _ in range(200):
            cluster.step(without=3)
        cluster.move({FIRST: 2})
        steps_until(cluster, switched(cluster, 2))
        assert cluster.workers[1].roster.bolt_by_task[FIRST].queued_tuples
        cluster.kill(dies)
        cluster.restart(dies)
        cluster.move({SINK: 1})
        for _ in range(200):
            cluster.step(without=3)
        keys.end()
        cluster.run_to_end(most_s=60)
        assert not cluster.moving
