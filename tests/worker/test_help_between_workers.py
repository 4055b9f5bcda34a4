"""A bolt that is too slow is helped before anybody is stopped, by those that feed it, and then by whoever has time."""

from __future__ import annotations

import random
from collections import Counter
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.connectors.collect import Collect
from penstock.connectors.lines import Lines
from penstock.control.aggregation import Aggregation
from penstock.control.failures import FailureLog
from penstock.control.metrics import ComponentMetrics
from penstock.control.reporting import report_of
from penstock.flow.delivery import Delivery
from penstock.flow.relief import ReliefState
from penstock.plan.edges import edges_of, help_edges_of
from penstock.plan.shape import shape_of
from penstock.plan.tasks import tasks_of
from penstock.testing import CapturedSink, FedSpout, LocalCluster
from penstock.testing.virtual_clock import VirtualClock
from penstock.topology.bolts import Bolt
from penstock.topology.topology import Topology
from penstock.topology.tuples import Tuple
from penstock.worker.settings import WorkerSettings
from tests.tries import tried
from tests.worker.moved_word_count import moves, rows_of_a_run

DELIVERIES: tuple[Delivery, ...] = ("at_most_once", "at_least_once", "exactly_once")

SMALL = WorkerSettings(high_water_tuples=8, turn_tuples=1, spout_turn_tuples=4)
"""A task does one frame in a turn. So one that is fed by four is too slow for them."""

TASKS = 7


class Passing(Bolt):
    fields = ("n",)

    def process(self, tup: Tuple) -> Any:
        return (tup.n,)


class Counting(Passing):
    """Has a state, though it says it has none."""

    def open(self, context: Any) -> None:
        self.seen = 0
        self.helping = context.helping

    def process(self, tup: Tuple) -> Any:
        self.seen += 1
        return (tup.n,)


def chain(slow: Bolt | None = None, *, helping: bool | None = None) -> tuple[Topology, FedSpout, CapturedSink]:
    """Four tasks feed one, each in a worker of its own."""
    topo, spout, sink = Topology("chain"), FedSpout(fields=("n",)), CapturedSink()
    first = topo.bolt("first", Passing(), topo.spout("spout", spout).shuffle(), tasks=4, helping=False)
    it = topo.bolt("slow", slow or Passing(), first.shuffle(), helping=helping)
    topo.bolt("sink", sink, it.shuffle())
    return topo, spout, sink


def states(cluster: LocalCluster) -> set[ReliefState]:
    """Of the slow bolt."""
    (slow,) = cluster.tasks_of("slow")
    watch = cluster.workers[cluster.worker_of[slow]].pressure.pressure
    return {relief.state for task, relief in watch.reliefs.items() if task == slow}


def helped(cluster: LocalCluster) -> int:
    return sum(helper.processed for worker in cluster.workers.values() for helper in worker.roster.helpers)


@pytest.mark.parametrize("delivery", DELIVERIES)
def test_help_is_asked_for_first_and_ends_with_what_was_learned(delivery: Delivery) -> None:
    topo, spout, sink = chain()
    places = {task: task for task in range(TASKS)}
    with LocalCluster(topo, worker_of=places, settings=SMALL, delivery=delivery) as cluster:
        for n in range(400):
            spout.feed((n,))
        while not helped(cluster):
            cluster.step()
        assert states(cluster) == {ReliefState.ASKED}
        spout.end()
        cluster.run_to_end(most_s=60)
        assert Counter(sink.values) == Counter({(n,): 1 for n in range(400)})
        ratios = [worker.pressure.pressure.helping.ratio for worker in cluster.workers.values()]
        assert any(0 < r < 1 for ratio in ratios for r in ratio.values()), "r goes on when nobody asks"


def test_people_are_told_how_much_was_helped_and_how_much_waits_for_who_helps() -> None:
    topo, spout, _ = chain()
    shape = shape_of(topo)
    aggregation = Aggregation(tasks_of(shape), (*edges_of(shape), *help_edges_of(shape)), FailureLog())

    def slow() -> ComponentMetrics:
        for number, worker in cluster.workers.items():
            aggregation.report(number, 1, report_of(worker), cluster.clock.now_ns() / 1e9)
        metrics = aggregation.metrics(cluster.clock.now_ns() / 1e9, run_s=1.0, worker_of=cluster.worker_of, node_of={})
        return next(one for one in metrics.components if one.name == "slow")

    with LocalCluster(topo, worker_of={task: task for task in range(TASKS)}, settings=SMALL) as cluster:
        for n in range(400):
            spout.feed((n,))
        (task,) = cluster.tasks_of("slow")
        of_helpers = 0
        while not of_helpers:
            cluster.step()
            of_helpers = sum(one.queued_tuples for worker in cluster.workers.values() for one in worker.roster.helpers)
        own = cluster.workers[cluster.worker_of[task]].roster.bolt_by_task[task].queued_tuples
        assert slow().backlog == own + of_helpers
        spout.end()
        cluster.run_to_end(most_s=60)
        redirected = sum(worker.redirection.lending.repaid_tuples for worker in cluster.workers.values())
        assert (slow().helped, slow().processed, slow().backlog) == (helped(cluster) + redirected, 400, 0)


CLOCK = VirtualClock()


class Waiting(Passing):
    """As one that asks a service, which takes its time."""

    def process(self, tup: Tuple) -> Any:
        CLOCK.let_pass(0.004)
        return (tup.n,)


def test_who_helps_is_given_no_more_at_a_time_than_it_can_do_until_its_mark() -> None:
    topo, spout, sink = chain(Waiting())
    with LocalCluster(topo, worker_of={task: task for task in range(TASKS)}, clock=CLOCK) as cluster:
        for n in range(2000):
            spout.feed((n,))
        spout.end()
        longest = 0
        while len(sink.values) < 2000:
            cluster.step()
            helpers = [one for worker in cluster.workers.values() for one in worker.roster.helpers]
            longest = max(longest, *(helper.queued_tuples for helper in helpers))
        cluster.run_to_end(most_s=60)
        assert helped(cluster)
        mark, frame = WorkerSettings().high_water_ms / 4, WorkerSettings().spout_turn_tuples / 4
        assert longest <= mark + frame, "its host begins with no frame that is beyond the mark"
        assert Counter(sink.values) == Counter({(n,): 1 for n in range(2000)})


def test_one_whose_attributes_change_is_not_helped_unless_its_user_says_so() -> None:
    for helping, wanted in ((None, False), (True, True)):
        topo, spout, sink = chain(Counting(), helping=helping)
        with LocalCluster(topo, worker_of={task: task for task in range(TASKS)}, settings=SMALL) as cluster:
            for n in range(400):
                spout.feed((n,))
            spout.end()
            cluster.run_to_end(most_s=60)
            assert Counter(sink.values) == Counter({(n,): 1 for n in range(400)})
            assert bool(helped(cluster)) == wanted


def test_a_bolt_that_wants_no_help_has_others_stopped() -> None:
    topo, spout, sink = chain(helping=False)
    with LocalCluster(topo, worker_of={task: task for task in range(TASKS)}, settings=SMALL) as cluster:
        for n in range(400):
            spout.feed((n,))
        while not states(cluster):
            cluster.step()
        assert states(cluster) == {ReliefState.STOPPING}
        spout.end()
        cluster.run_to_end(most_s=60)
        assert len(sink.values) == 400


class Stationary(Passing):
    """Can be opened nowhere but where it belongs."""

    def open(self, context: Any) -> None:
        if context.helping:
            message = "not here"
            raise ValueError(message)


def test_those_that_cannot_open_the_bolt_are_stopped_like_any_other_that_does_not_help() -> None:
    topo, spout, sink = chain(Stationary())
    with LocalCluster(topo, worker_of={task: task for task in range(TASKS)}, settings=SMALL) as cluster:
        for n in range(400):
            spout.feed((n,))
        (slow,) = cluster.tasks_of("slow")
        reliefs = cluster.workers[cluster.worker_of[slow]].pressure.pressure.reliefs
        while slow not in reliefs or not reliefs[slow].stopped:
            assert cluster.step() or len(sink.values) < 400, "all was sent, and nobody was stopped"
        assert not reliefs[slow].helping
        spout.end()
        cluster.run_to_end(most_s=60)
        assert len(sink.values) == 400


def test_who_comes_to_a_worker_helps_as_much_as_was_learned_there() -> None:
    topo, _, _ = chain()
    with LocalCluster(topo, worker_of={task: task for task in range(TASKS)}, settings=SMALL) as cluster:
        cluster.settle()
        here, other = cluster.tasks_of("first")[:2]
        pressure = cluster.workers[cluster.worker_of[here]].pressure.pressure
        pressure.helping.ratio[cluster.workers[cluster.worker_of[here]].roster.helpers[0].edge] = 0.5
        pressure.changed = True
        cluster.settle()
        cluster.move({other: cluster.worker_of[here]})
        cluster.settle()
        helpers = cluster.workers[cluster.worker_of[here]].roster.helpers
        assert [(helper.task, helper.share) for helper in helpers] == [(here, 0.5), (other, 0.5)]


def hard_pressed(count: int) -> Topology:
    """Whatever of it is slow depends on who has which worker for itself."""
    topo = Topology("hard-pressed")
    numbers = topo.spout("numbers", Lines(range(count), fields=("n",)), tasks=2)
    first = topo.bolt("first", Passing(), numbers.shuffle(), tasks=3)
    second = topo.bolt("second", Passing(), first.shuffle(), tasks=1)
    third = topo.bolt("third", Passing(), second.local_or_shuffle(), tasks=2)
    topo.bolt("all", Collect(), third.shuffle())
    return topo


def rows(seed: int, delivery: Delivery, *, kills: int, moving: bool) -> Counter[Any]:
    """What comes of a run in which queues are always too long."""
    chance = random.Random(seed)
    sizes = WorkerSettings(
        high_water_tuples=chance.choice([2, 8, 64]),
        high_water_ms=chance.choice([0.001, 1, 100]),
        turn_tuples=chance.choice([1, 8]),
        spout_turn_tuples=chance.choice([4, 64]),
        credit_window_bytes=chance.choice([2000, 1 << 20]),
        help_step=chance.choice([0.1, 0.5, 0.9]),
    )
    return rows_of_a_run(
        seed,
        delivery,
        hard_pressed(400),
        moves if moving else stay,
        kills=kills,
        workers=5,
        settings=sizes,
        epoch_turns=60,  # markers come no faster than they get through
    )


def stay(cluster: LocalCluster, chance: random.Random) -> None:
    """Nothing moves."""


ALL = Counter({(n,): 1 for n in range(400)})


@tried(12)
@given(seed=st.integers(0, 2**32), delivery=st.sampled_from(DELIVERIES), moving=st.booleans())
def test_however_hard_pressed_everybody_is_each_result_is_there_once(
    seed: int, delivery: Delivery, moving: bool
) -> None:
    assert rows(seed, delivery, kills=0, moving=moving) == ALL


@tried(8)
@given(seed=st.integers(0, 2**32), moving=st.booleans())
def test_hard_pressed_workers_die_and_each_result_is_there_once(seed: int, moving: bool) -> None:
    assert rows(seed, "exactly_once", kills=4, moving=moving) == ALL


@tried(8)
@given(seed=st.integers(0, 2**32), moving=st.booleans())
def test_hard_pressed_workers_die_and_nothing_is_missing(seed: int, moving: bool) -> None:
    assert not ALL - rows(seed, "at_least_once", kills=4, moving=moving)


def test_a_quick_task_does_no_more_in_a_turn_than_a_slow_one_has_room_for() -> None:
    topo, sink = Topology("burst"), CapturedSink()
    numbers = topo.spout("numbers", Lines([f"{n:0100}" for n in range(20_000)], fields=("n",)))
    quick = topo.bolt("quick", Passing(), numbers.shuffle(), helping=False)
    topo.bolt("sink", sink, topo.bolt("slow", Waiting(), quick.shuffle(), helping=False).shuffle())
    places, longest = {task: task for task in range(4)}, 0
    with LocalCluster(topo, worker_of=places, clock=CLOCK, delivery="at_most_once") as cluster:
        (slow,) = (bolt for bolt in cluster.workers[2].bolts if bolt.component == "slow")
        for _ in range(4_000):
            cluster.step()
            longest = max(longest, slow.queued_tuples)
    assert sink.values
    assert longest < 200, "what may be under way at first and a frame, and no turn of a thousand"


def test_one_that_is_fed_by_one_alone_is_helped_too() -> None:
    """What may be under way to it is more than its mark: else it would never be pressed."""
    topo, sink = Topology("alone"), CapturedSink()
    numbers = topo.spout("numbers", Lines([f"{n:0100}" for n in range(3_000)], fields=("n",)))
    quick = topo.bolt("quick", Passing(), numbers.shuffle())
    topo.bolt("sink", sink, topo.bolt("slow", Waiting(), quick.shuffle()).shuffle())
    with LocalCluster(topo, worker_of={task: task for task in range(4)}, clock=CLOCK) as cluster:
        cluster.run_to_end(most_s=600)
        ratios = [r for worker in cluster.workers.values() for r in worker.pressure.pressure.helping.ratio.values()]
        assert max(ratios) > 0.2, "it has asked again and again"
    assert len(sink.values) == 3_000
