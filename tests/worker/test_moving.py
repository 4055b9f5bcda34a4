"""Tasks that move while they run: nothing is lost, doubled or out of order, whatever moves and whoever dies."""

from __future__ import annotations

import random
from collections import Counter, defaultdict
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.connectors.collect import Collect
from penstock.connectors.lines import Lines
from penstock.flow.delivery import Delivery
from penstock.testing import CapturedSink, FedSpout, LocalCluster
from penstock.topology.bolts import BatchBolt, KeyedBolt, StatefulBolt
from penstock.topology.topology import Topology
from penstock.topology.tuples import Tuple
from penstock.worker.settings import WorkerSettings
from tests.tries import tried
from tests.worker.moved_word_count import Count, counted, moves, moves_and_scales, rows_of_a_run, word_count
from tests.worker.random_topologies import KINDS, Plan, plans

DELIVERIES: tuple[Delivery, ...] = ("at_most_once", "at_least_once", "exactly_once")

seeds = st.integers(0, 2**32)


def lines(count: int) -> list[str]:
    return [" ".join(f"w{(line * place) % 17}" for place in range(5)) for line in range(count)]


@pytest.mark.parametrize("delivery", DELIVERIES)
@tried(8)
@given(seed=seeds)
def test_tasks_move_all_the_time_and_every_count_is_there_once(delivery: Delivery, seed: int) -> None:
    assert rows_of_a_run(seed, delivery, word_count(lines(800)), moves) == counted(lines(800))


@pytest.mark.parametrize("delivery", DELIVERIES)
@tried(8)
@given(seed=seeds)
def test_bolts_are_given_other_numbers_of_tasks_and_every_count_is_there_once(delivery: Delivery, seed: int) -> None:
    assert rows_of_a_run(seed, delivery, word_count(lines(800)), moves_and_scales) == counted(lines(800))


@tried(12)
@given(seed=seeds)
def test_workers_die_while_tasks_move_and_every_count_is_there_once(seed: int) -> None:
    assert rows_of_a_run(seed, "exactly_once", word_count(lines(800)), moves, kills=5) == counted(lines(800))


def passing_on(count: int) -> Topology:
    """Nothing in it has state, and something is broadcast."""
    topo = Topology("passing-on")
    numbers = topo.spout("numbers", Lines(range(count), fields=("n",)), tasks=2)
    once = topo.bolt("once", lambda tup: (tup.n,), numbers.shuffle(), tasks=2, fields=("n",))
    keyed = topo.bolt("keyed", lambda tup: (tup.n,), once.by("n"), tasks=2, fields=("n",))
    twice = topo.bolt("twice", lambda tup: (tup.n,), keyed.broadcast("ring"), tasks=2, fields=("n",))
    topo.bolt("all", Collect(), twice.shuffle())
    return topo


@tried(12)
@given(seed=seeds)
def test_workers_die_while_tasks_move_and_nothing_is_missing(seed: int) -> None:
    found = rows_of_a_run(seed, "at_least_once", passing_on(600), moves, kills=5)
    assert not Counter({(number,): 2 for number in range(600)}) - found


@tried(8)
@given(seed=seeds)
def test_workers_die_while_tasks_move_and_what_promises_nothing_ends_all_the_same(seed: int) -> None:
    found = rows_of_a_run(seed, "at_most_once", passing_on(600), moves, kills=5)
    assert {number for (number,) in found} <= {*range(600)}


@st.composite
def movable_plans(draw: st.DrawFn) -> Plan:
    """Without bolts that keep what no runtime knows of."""
    plan = draw(plans())
    kinds = sorted(KINDS.keys() - {"holding"})
    bolts = {
        name: (tasks, kind if kind != "holding" else draw(st.sampled_from(["passing", *kinds[:1]])), takes)
        for name, (tasks, kind, takes) in plan.bolts.items()
    }
    return Plan(plan.spouts, bolts)


@tried(40)
@given(plan=movable_plans(), seed=seeds, delivery=st.sampled_from(DELIVERIES))
def test_whatever_the_topology_all_of_its_tuples_get_where_they_belong(
    plan: Plan, seed: int, delivery: Delivery
) -> None:
    topology, chance = plan.topology(), random.Random(seed)
    with LocalCluster(topology, workers=3, seed=seed, delivery=delivery) as cluster:
        fed = {task for name in plan.spouts for task in cluster.tasks_of(name)}
        for _ in range(60):
            if not cluster.moving:
                able = sorted(cluster.worker_of.keys() - fed)
                tasks = chance.sample(able, min(len(able), 2))
                cluster.move({task: chance.randrange(4) for task in tasks})
            cluster.step()
        for name in plan.spouts:
            spout: Any = topology.components[name].logic
            spout.end()
        cluster.run_to_end()
        result = cluster.result()
    assert not result.failures
    for sink, wanted in plan.expected().items():
        captured: Any = topology.components[sink].logic
        assert Counter(tuple(row) for row in captured.values) == wanted


@pytest.mark.parametrize("delivery", DELIVERIES)
@pytest.mark.parametrize("seed", range(5))
def test_what_one_task_sends_another_keeps_its_order(delivery: Delivery, seed: int) -> None:
    topo, sink = Topology("in-order"), CapturedSink()
    numbers = topo.spout("numbers", Lines(range(400), fields=("n",)), tasks=2)
    passed = topo.bolt("pass", lambda tup: (tup.n % 2, tup.n), numbers.by("n"), tasks=1, fields=("spout", "n"))
    again = topo.bolt("again", lambda tup: tup, passed.by("spout"), tasks=2, fields=("spout", "n"))
    topo.bolt("sink", sink, again.to_one())
    chance = random.Random(seed)
    with LocalCluster(topo, workers=3, seed=seed, delivery=delivery) as cluster:
        while not cluster.ended and chance is not None:
            if not cluster.moving:
                moves(cluster, chance)
            cluster.step()
            cluster.clock.let_pass(0.01)
            if not any(cluster.workers[number].do_work() for number in cluster.workers) and len(sink.values) >= 400:
                break
        cluster.run_to_end()
    by_spout: dict[int, list[int]] = defaultdict(list)
    for spout, number in sink.values:
        by_spout[spout].append(number)
    assert {spout: sorted(found) for spout, found in by_spout.items()} == by_spout
    assert sum(map(len, by_spout.values())) == 400


class Total(StatefulBolt):
    fields = ("total",)

    def open(self, context: Any) -> None:  # noqa: ARG002
        self.total = 0

    def process(self, tup: Tuple) -> None:
        self.total += tup.n

    def finish(self) -> tuple[int]:
        return (self.total,)

    def snapshot(self) -> int:
        return self.total

    def restore(self, state: int) -> None:
        self.total = state


class Ticking(KeyedBolt):
    fields = ("key", "ticks")
    tick_every_s = 0.5

    def process(self, key: Any, tup: Tuple) -> None:  # noqa: ARG002
        self.state.setdefault(key, 0)

    def tick(self) -> None:
        for key in self.state:
            self.state[key] += 1

    def finish(self) -> Iterator[Any]:
        yield from self.state.items()


@pytest.mark.parametrize("delivery", DELIVERIES)
def test_state_of_its_own_moves_too(delivery: Delivery) -> None:
    topo, numbers, sink = Topology("total"), FedSpout(fields=("n",)), CapturedSink()
    total = topo.bolt("total", Total(), topo.spout("numbers", numbers).shuffle())
    topo.bolt("sink", sink, total.shuffle())
    with LocalCluster(topo, workers=2, delivery=delivery) as cluster:
        (task,) = cluster.tasks_of("total")
        for step, worker in enumerate((1, 0, 2, 0)):
            numbers.feed((step + 1,))
            cluster.settle()
            cluster.move({task: worker})
            cluster.settle()
            assert cluster.worker_of[task] == worker
            assert not cluster.moving
        numbers.end()
        cluster.run_to_end()
    assert sink.values == [(10,)]


@pytest.mark.parametrize("delivery", DELIVERIES[:2])
def test_what_a_bolt_does_by_the_clock_goes_on_elsewhere(delivery: Delivery) -> None:
    topo, keys, sink = Topology("ticking"), FedSpout(fields=("key",)), CapturedSink()
    ticking = topo.bolt("ticking", Ticking(), topo.spout("keys", keys).by("key"))
    topo.bolt("sink", sink, ticking.shuffle())
    with LocalCluster(topo, workers=2, delivery=delivery) as cluster:
        (task,) = cluster.tasks_of("ticking")
        keys.feed(("a",))
        cluster.settle()
        cluster.advance(1.1)
        cluster.move({task: 1 - cluster.worker_of[task]})
        cluster.settle()
        cluster.advance(1.1)
        keys.end()
        cluster.run_to_end()
    assert sink.values == [("a", 4)]


class Unmovable(KeyedBolt):
    """Keeps what cannot travel."""

    fields = ("key",)

    def process(self, key: Any, tup: Tuple) -> tuple[Any]:  # noqa: ARG002
        self.state[key] = object()
        return (key,)


def test_state_that_cannot_travel_stays_and_everything_goes_on() -> None:
    topo, keys, sink = Topology("unmovable"), FedSpout(fields=("key",)), CapturedSink()
    kept = topo.bolt("keeps", Unmovable(), topo.spout("keys", keys).by("key"))
    topo.bolt("sink", sink, kept.shuffle())
    with LocalCluster(topo, workers=2, delivery="at_most_once") as cluster:
        (task,) = cluster.tasks_of("keeps")
        here = cluster.worker_of[task]
        keys.feed(("a",))
        cluster.settle()
        cluster.move({task: 1 - here})
        trouble = []
        while cluster.moving:
            cluster.step()
            trouble += [t for worker in cluster.workers.values() if (t := worker.moving.trouble) is not None]
        assert "'keeps' (task 1) cannot move: TypeError: keyed state, key 'a'" in trouble[0]
        assert cluster.worker_of[task] == here
        keys.feed(("b",))
        keys.end()
        cluster.run_to_end()
    assert sink.values == [("a",), ("b",)]


def test_what_cannot_move_is_refused_with_the_reason() -> None:
    def generated() -> Iterator[Any]:
        yield (1,)

    topo = Topology("pinned")
    numbers = topo.spout("numbers", generated, fields=("n",))
    topo.bolt("sink", CapturedSink(), numbers.shuffle())
    with LocalCluster(topo, workers=2) as cluster:
        (task,) = cluster.tasks_of("numbers")
        with pytest.raises(ValueError, match="'numbers' stays where it is: it has no position"):
            cluster.move({task: 1})
        with pytest.raises(ValueError, match="wanted one of the tasks"):
            cluster.move({99: 0})
        with pytest.raises(ValueError, match="'numbers' keeps its tasks: it is a spout"):
            cluster.scale("numbers", [0, 1])


class Batches(BatchBolt):
    fields = ("n",)

    def process_batch(self, batch: Any) -> Any:
        return batch


@tried(6)
@given(seed=seeds)
def test_bolts_that_keep_trees_hand_over_when_those_are_done(seed: int) -> None:
    topo = Topology("batches")
    numbers = topo.spout("numbers", Lines(range(500), fields=("n",)), tasks=2)
    batched = topo.bolt("batches", Batches(), numbers.shuffle(), tasks=2)
    topo.bolt("all", Collect(), batched.shuffle())
    assert rows_of_a_run(seed, "at_least_once", topo, moves) == Counter({(number,): 1 for number in range(500)})


def test_what_was_saved_of_a_task_is_not_saved_again_when_it_has_moved() -> None:
    topo = Topology("saved")
    words = [f"word {number}" for number in range(500)]
    spout = topo.spout("lines", Lines(words + ["word 0"] * 2000, fields=("word",)))
    counts = topo.bolt("count", Count(), spout.by("word"))
    topo.bolt("all", Collect(), counts.shuffle())
    sizes: list[int] = []
    sized = WorkerSettings(spout_turn_tuples=256)  # so that the input lasts until the task has moved
    with LocalCluster(topo, workers=2, delivery="exactly_once", settings=sized) as cluster:
        (task,) = cluster.tasks_of("count")
        write = cluster.parts.write_part

        def noting(*, epoch: int, task: int, payload: bytes) -> Any:
            if task == saved:
                sizes.append(len(payload))
            return write(epoch=epoch, task=task, payload=payload)

        saved = task
        cluster.parts.write_part = noting  # type: ignore[method-assign]
        while len(sizes) < 2:
            cluster.step()
            if not cluster.checkpoint_under_way:
                cluster.begin_epoch()
        cluster.move({task: 1 - cluster.worker_of[task]})
        while cluster.moving:
            cluster.step()
        before = len(sizes)
        while len(sizes) == before:
            cluster.step()
            if not cluster.checkpoint_under_way:
                cluster.begin_epoch()
        cluster.run_to_end()
    assert sizes[before] < sizes[0] / 10
