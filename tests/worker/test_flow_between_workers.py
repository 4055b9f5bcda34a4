"""Topologies over workers whose queues are as small as can be: all arrives, nothing twice, nobody waits for ever."""

from collections import Counter
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.plan.shape import shape_of
from penstock.plan.tasks import tasks_of
from penstock.testing import CapturedSink, FedSpout, LocalCluster, VirtualClock
from penstock.testing.memory import MemoryWay
from penstock.topology.topology import Topology
from penstock.topology.tuples import Tuple
from penstock.worker.outputs import FIRST_PIECE_TUPLES
from penstock.worker.settings import WorkerSettings
from tests.worker.random_topologies import Plan, plans

tiny_settings = st.builds(
    WorkerSettings,
    inbox_bytes=st.integers(1, 600),
    outgoing=st.sampled_from(["fifo", "round_robin", "lbf"]),
    outgoing_interval_ms=st.sampled_from([0.0, 10.0]),
    credit_window_bytes=st.integers(1, 400),
    high_water_tuples=st.integers(1, 20),
    turn_tuples=st.integers(1, 8),
    spout_turn_tuples=st.integers(1, 8),
)

seeds = st.integers(0, 2**32) | st.none()


def run_and_compare(plan: Plan, sized: WorkerSettings, seed: int | None, worker_of: dict[int, int]) -> None:
    with LocalCluster(plan.topology(), settings=sized, seed=seed, worker_of=worker_of) as cluster:
        cluster.run_to_end()
    result = cluster.result()

    assert result.failures == []
    assert result.lost == 0
    assert {name: Counter(rows) for name, rows in result.captures.items()} == plan.expected()


@given(plans(), tiny_settings, seeds, st.data())
def test_any_topology_ends_with_exactly_the_right_tuples(
    plan: Plan, sized: WorkerSettings, seed: int | None, data: st.DataObject
) -> None:
    workers = st.integers(0, data.draw(st.integers(0, 3)))
    worker_of = {task.id: data.draw(workers) for task in tasks_of(shape_of(plan.topology()))}
    run_and_compare(plan, sized, seed, worker_of)


def there_and_back(tuples: int) -> tuple[Topology, CapturedSink]:
    """A chain to be placed in turns on two workers, so that each is upstream of the other."""
    topo, sink = Topology("there-and-back"), CapturedSink()
    stream = topo.spout("words", FedSpout([(f"{number:04}",) for number in range(tuples)], fields=("word",)))
    for name in ("a", "b", "c"):
        stream = topo.bolt(name, lambda tup: [tup, tup], stream.shuffle(), fields=("word",))
    topo.bolt("sink", sink, stream.shuffle())
    return topo, sink


@pytest.mark.parametrize("window_bytes", [1, 50, 1000])
@pytest.mark.parametrize("inbox_bytes", [1, 100])
def test_two_workers_that_are_full_towards_each_other_do_not_wait_for_ever(window_bytes: int, inbox_bytes: int) -> None:
    topo, sink = there_and_back(500)
    sized = WorkerSettings(credit_window_bytes=window_bytes, inbox_bytes=inbox_bytes, turn_tuples=16)
    with LocalCluster(topo, settings=sized, worker_of={0: 0, 1: 1, 2: 0, 3: 1, 4: 0}) as cluster:
        cluster.run_to_end()

    assert Counter(sink.values) == Counter({(f"{number:04}",): 8 for number in range(500)})


def test_what_waits_for_a_task_is_bounded_by_its_window() -> None:
    """The last worker gets no turn at all: the others stop by themselves, and go on when it does."""
    topo, sink = there_and_back(100_000)
    sized = WorkerSettings(
        credit_window_bytes=2000, inbox_bytes=1000, high_water_tuples=8192, turn_tuples=16, spout_turn_tuples=16
    )
    with LocalCluster(topo, settings=sized, worker_of={0: 0, 1: 0, 2: 0, 3: 0, 4: 1}) as cluster:
        first, last = cluster.workers[0], cluster.workers[1]
        for _ in range(10_000):
            first.do_work()
        emitted = first.bolts[-1].outputs.emitted
        # A window, and what one turn of the last bolt adds to it; a tuple takes 6 bytes, and its tree up to 11 more.
        assert 2000 / 17 < emitted < 2000 / 6 + 16 * 2 + 100
        assert all(bolt.queued_tuples < 10_000 for bolt in first.bolts)
        assert first.spouts[0].processed < 30_000

        for _ in range(20):
            last.do_work()
            first.do_work()
        assert first.bolts[-1].outputs.emitted > emitted
        assert len(sink.tuples) > 0


def test_a_bolt_that_emits_much_at_once_is_stopped_in_the_middle() -> None:
    topo, sink = Topology("burst"), CapturedSink()
    numbers = topo.spout("numbers", FedSpout([(n,) for n in range(50)], fields=("n",)))
    burst = topo.bolt("burst", lambda tup: [tup] * 1000, numbers.shuffle(), fields=("n",))
    topo.bolt("sink", sink, burst.shuffle())
    sized = WorkerSettings(credit_window_bytes=100, inbox_bytes=100, turn_tuples=1, spout_turn_tuples=1)
    with LocalCluster(topo, settings=sized, worker_of={0: 0, 1: 0, 2: 1}) as cluster:
        for _ in range(100):
            cluster.workers[0].do_work()
        bolt = cluster.workers[0].bolts[0]
        assert bolt.outputs.emitted == FIRST_PIECE_TUPLES < 1000
        assert bolt.is_in_call
        cluster.run_to_end()

    assert len(sink.tuples) == 50_000


def test_the_same_seed_gives_the_same_order_of_everything() -> None:
    def order(seed: int) -> list[tuple[object, ...]]:
        topo, sink = there_and_back(50)
        with LocalCluster(topo, workers=3, seed=seed, settings=WorkerSettings(turn_tuples=2)) as cluster:
            cluster.run_to_end()
        return sink.values

    assert order(1) == order(1)


def test_tuples_of_one_task_for_another_keep_their_order() -> None:
    topo, sink = Topology("in-order"), CapturedSink()
    numbers = topo.spout("numbers", FedSpout([(n,) for n in range(1000)], fields=("n",)))
    passed = topo.bolt("pass", lambda tup: tup, numbers.to_one(), fields=("n",))
    topo.bolt("sink", sink, passed.to_one())
    sized = WorkerSettings(credit_window_bytes=64, inbox_bytes=64, turn_tuples=5, spout_turn_tuples=7)
    with LocalCluster(topo, workers=3, seed=3, settings=sized) as cluster:
        cluster.run_to_end()

    assert sink.values == [(n,) for n in range(1000)]


def test_a_slow_bolt_does_a_little_at_a_time_and_all_in_the_end() -> None:
    clock, sink, spout = VirtualClock(), CapturedSink(), FedSpout([(n,) for n in range(500)], fields=("n",))

    def slow(tup: Tuple) -> Any:
        clock._now_ns += 15_000_000  # as if each took 15 ms
        return (tup.n,)

    topo = Topology("slow")
    numbers = topo.spout("numbers", spout)
    topo.bolt("sink", sink, topo.bolt("slow", slow, numbers.shuffle(), fields=("n",), helping=False).shuffle())
    with LocalCluster(topo, clock=clock, worker_of={0: 0, 1: 1, 2: 2}) as cluster:
        for _ in range(4):
            cluster.workers[0].do_work()
        cluster.workers[1].do_work()
        done = []
        for _ in range(10):
            before = clock.now_ns()
            cluster.workers[1].do_work()
            done.append((clock.now_ns() - before) // 15_000_000)
        assert max(done) <= 2, "turns are short once it is known how long a tuple takes"
        cluster.run_to_end()
    assert [n for (n,) in sink.values] == list(range(500))


@pytest.mark.parametrize("receiver_first", [True, False])
def test_a_link_that_was_broken_costs_no_credit_whoever_hears_of_it_first(receiver_first: bool) -> None:
    """Nobody was restarted, so a receiver gives credit back by the window that it told of in between."""
    words, sink = FedSpout(fields=("word",)), CapturedSink()
    topo = Topology("broken-link")
    topo.bolt("sink", sink, topo.spout("words", words).shuffle())
    with LocalCluster(topo, worker_of={0: 0, 1: 1}, delivery="at_most_once") as cluster:
        for me, peer in ((1, 0), (0, 1)) if receiver_first else ((0, 1), (1, 0)):
            words.feed(*[("x" * 50,)] * 2000)
            cluster.settle()
            cluster.workers[me].meet(cluster._colleague(peer), MemoryWay(cluster._inboxes[peer]))
        words.feed(*[("x" * 50,)] * 5000)
        cluster.settle()
        assert len(sink.values) == 9000


def test_a_task_that_is_also_broadcast_to_has_credit_when_another_moves() -> None:
    words, sink = FedSpout(fields=("word",)), CapturedSink()
    topo = Topology("both")
    spout = topo.spout("words", words)
    topo.bolt("sink", sink, spout.by("word"), spout.broadcast("flat"), tasks=2)
    with LocalCluster(topo, worker_of={0: 0, 1: 1, 2: 2}, delivery="at_most_once") as cluster:
        words.feed(*((f"{'x' * 50}{n}",) for n in range(1000)))
        cluster.settle()
        cluster.move({2: 3})
        for _ in range(100):
            cluster.step()
            cluster.clock.let_pass(0.001)
        assert not cluster.moving
        words.feed(*((f"{'x' * 50}{n}",) for n in range(5000)))
        cluster.settle()
        assert len(sink.values) == 3 * 6000


@pytest.mark.parametrize("high_water_tuples", [1000, 4096])
def test_who_is_let_go_on_within_a_worker_has_its_next_turn_at_once(high_water_tuples: int) -> None:
    words, sink = FedSpout([(n,) for n in range(400)], fields=("n",)), CapturedSink()
    topo = Topology("within")
    many = topo.bolt("many", lambda tup: [(tup.n,)] * 250, topo.spout("words", words).shuffle(), fields=("n",))
    topo.bolt("sink", sink, many.shuffle())
    sized = WorkerSettings(high_water_tuples=high_water_tuples)
    with LocalCluster(topo, worker_of={0: 0, 1: 1, 2: 1}, settings=sized, delivery="at_most_once") as cluster:
        feeding, working = cluster.workers[0], cluster.workers[1]
        first = working.roster.bolt_by_task[1]
        while len(sink.values) < 400 * 250:
            feeding.do_work()
            working.do_work()
            can_work = first.has_work and not first.blocked_by(working._exhausted())
            assert working.is_restless or not can_work
