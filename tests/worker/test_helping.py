"""Helpers: tasks do part of the work of the bolt that they feed, and nothing is lost, doubled or out of order."""

from __future__ import annotations

import random
from collections import Counter, defaultdict
from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock._native import ShareTaker
from penstock.connectors.collect import Collect
from penstock.connectors.lines import Lines
from penstock.control.reporting import report_of
from penstock.flow.delivery import Delivery
from penstock.testing import CapturedSink, FedSpout, LocalCluster
from penstock.topology.bolts import BatchBolt, Bolt
from penstock.topology.context import TaskContext
from penstock.topology.topology import Topology
from penstock.topology.tuples import Tuple
from penstock.worker.settings import WorkerSettings
from tests.tries import tried
from tests.worker.moved_word_count import moves, rows_of_a_run
from tests.worker.random_topologies import Plan, plans

DELIVERIES: tuple[Delivery, ...] = ("at_most_once", "at_least_once", "exactly_once")

seeds = st.integers(0, 2**32)


def set_shares(cluster: LocalCluster, chance: random.Random) -> None:
    """Any worker may help with any share, and change its mind."""
    for worker in cluster.workers.values():
        for edge in sorted({helper.edge for helper in worker.roster.helpers}):
            if chance.random() < 0.7:
                worker.helpers.set_share(edge, chance.choice((0.0, 0.3, 0.5, 1.0)))


def helps_and_moves(cluster: LocalCluster, chance: random.Random) -> None:
    set_shares(cluster, chance)
    moves(cluster, chance)


def helps_moves_and_scales(cluster: LocalCluster, chance: random.Random) -> None:
    set_shares(cluster, chance)
    if chance.random() < 0.5:
        moves(cluster, chance)
    else:
        bolt = chance.choice(["first", "second", "third"])
        cluster.scale(bolt, [chance.randrange(4) for _ in range(chance.randint(1, 4))])


def chain(count: int, *, broadcast: bool = False) -> Topology:
    """Each of its bolts but the sink can be helped; what they do leads to one row for each number."""
    topo = Topology("chain")
    numbers = topo.spout("numbers", Lines(range(count), fields=("n",)), tasks=2)
    first = topo.bolt("first", lambda tup: (tup.n,), numbers.shuffle(), tasks=2, fields=("n",))
    second = topo.bolt("second", lambda tup: (tup.n,), first.local_or_shuffle(), tasks=2, fields=("n",))
    third = topo.bolt(
        "third", lambda tup: (tup.n,), second.broadcast() if broadcast else second.by("n"), tasks=2, fields=("n",)
    )
    topo.bolt("all", Collect(), third.shuffle())
    return topo


@pytest.mark.parametrize("delivery", DELIVERIES)
@tried(8)
@given(seed=seeds)
def test_who_helps_while_tasks_move_loses_and_doubles_nothing(delivery: Delivery, seed: int) -> None:
    assert rows_of_a_run(seed, delivery, chain(600), helps_and_moves) == Counter({(n,): 1 for n in range(600)})


@pytest.mark.parametrize("delivery", DELIVERIES)
@tried(8)
@given(seed=seeds)
def test_who_helps_while_bolts_are_given_other_numbers_of_tasks_loses_nothing(delivery: Delivery, seed: int) -> None:
    found = rows_of_a_run(seed, delivery, chain(600), helps_moves_and_scales)
    assert found == Counter({(n,): 1 for n in range(600)})


@tried(10)
@given(seed=seeds)
def test_who_helps_may_die_and_each_result_is_there_once(seed: int) -> None:
    found = rows_of_a_run(seed, "exactly_once", chain(600), helps_and_moves, kills=5)
    assert found == Counter({(n,): 1 for n in range(600)})


@tried(10)
@given(seed=seeds)
def test_who_helps_may_die_and_nothing_is_missing(seed: int) -> None:
    found = rows_of_a_run(seed, "at_least_once", chain(600, broadcast=True), helps_and_moves, kills=5)
    assert not Counter({(n,): 2 for n in range(600)}) - found


@tried(40)
@given(plan=plans(), seed=seeds, delivery=st.sampled_from(DELIVERIES))
def test_whatever_the_topology_help_makes_no_difference(plan: Plan, seed: int, delivery: Delivery) -> None:
    topology, chance = plan.topology(), random.Random(seed)
    with LocalCluster(topology, workers=3, seed=seed, delivery=delivery) as cluster:
        set_shares(cluster, chance)
        for _ in range(60):
            set_shares(cluster, chance)
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


class Marked(Bolt):
    """Tells where it works."""

    fields = ("n", "helping", "index")

    def open(self, context: TaskContext) -> None:
        self.context = context
        if context.helping and context.index == 99:
            raise AssertionError

    def process(self, tup: Tuple) -> Any:
        if tup.n == 13:
            message = "thirteen"
            raise ValueError(message)
        return tup.n, self.context.helping, self.context.index


def marked(*, batches: bool = False) -> tuple[Topology, FedSpout, CapturedSink]:
    """A spout in worker 0, the bolt that may be helped in worker 1, and who sees what comes of it in worker 2."""
    topo, fed, sink = Topology("marked"), FedSpout(fields=("n",)), CapturedSink()
    source = topo.spout("numbers", fed)
    if batches:
        source = topo.bolt("batch", _Same(), source.shuffle())
    topo.bolt("sink", sink, topo.bolt("mark", Marked(), source.shuffle()).shuffle())
    return topo, fed, sink


class _Same(BatchBolt):
    fields = ("n",)

    def process_batch(self, batch: pa.RecordBatch) -> Iterator[Any]:
        yield batch


@pytest.mark.parametrize("batches", [False, True])
def test_the_share_is_kept_and_what_stays_away_is_done_elsewhere(batches: bool) -> None:
    topo, fed, sink = marked(batches=batches)
    places = {0: 0, 1: 0, 2: 1, 3: 2} if batches else {0: 0, 1: 1, 2: 2}
    with LocalCluster(topo, workers=3, worker_of=places) as cluster:
        (helper,) = [helper for helper in cluster.workers[0].roster.helpers if helper.component == "mark"]
        assert not cluster.workers[1].roster.helpers
        cluster.workers[0].helpers.set_share(helper.edge, 0.25)
        for number in range(100, 200):
            fed.feed((number,))
        cluster.settle()
        assert sorted(number for number, _, _ in sink.values) == [*range(100, 200)]
        assert Counter((helping, index) for _, helping, index in sink.values) == {(True, 1): 25, (False, 0): 75}
        cluster.workers[0].helpers.set_share(helper.edge, 1.0)
        fed.feed((200,))
        cluster.workers[0].helpers.set_share(helper.edge, 0.0)
        fed.feed((201,))
        fed.end()
        cluster.run_to_end()
        assert cluster.ended
        assert helper.ended
        counts = {(help.edge, help.task): help for help in report_of(cluster.workers[0]).helps}
        assert counts[helper.edge, helper.task].processed in (25, 26)  # 200 may have been asked for later


def test_the_bolt_is_opened_where_it_helps_only_if_it_does() -> None:
    topo, fed, sink = marked()
    with LocalCluster(topo, workers=3, worker_of={0: 0, 1: 1, 2: 2}) as cluster:
        (helper,) = cluster.workers[0].roster.helpers
        fed.feed((1,))
        cluster.settle()
        assert not hasattr(helper.logic, "context")
        cluster.workers[0].helpers.set_share(helper.edge, 1.0)
        fed.feed((2,))
        cluster.settle()
        assert helper.logic.context.helping
        assert sink.values == [(1, False, 0), (2, True, 1)]


def test_one_that_cannot_be_opened_is_told_of_and_does_not_help() -> None:
    class Shy(Bolt):
        fields = ("n",)

        def open(self, context: TaskContext) -> None:
            if context.helping:
                message = "only at home"
                raise RuntimeError(message)

        def process(self, tup: Tuple) -> Any:
            return (tup.n,)

    topo, fed, sink = Topology("shy"), FedSpout(fields=("n",)), CapturedSink()
    topo.bolt("sink", sink, topo.bolt("shy", Shy(), topo.spout("numbers", fed).shuffle()).shuffle())
    with LocalCluster(topo, workers=3, worker_of={0: 0, 1: 1, 2: 2}) as cluster:
        (helper,) = cluster.workers[0].roster.helpers
        cluster.workers[0].helpers.set_share(helper.edge, 1.0)
        fed.feed((1,))
        cluster.settle()
        assert sink.values == [(1,)]
        assert helper.share == 0
        (failure,) = cluster.result().failures
        assert (failure.component, failure.message) == ("shy", "only at home")


def test_an_exception_in_a_helper_is_one_of_the_bolt_and_the_tuple_is_tried_again() -> None:
    topo, fed, sink = marked()
    with LocalCluster(topo, workers=3, worker_of={0: 0, 1: 1, 2: 2}) as cluster:
        (helper,) = cluster.workers[0].roster.helpers
        cluster.workers[0].helpers.set_share(helper.edge, 1.0)
        for number in (12, 13, 14):
            fed.feed((number,))
        fed.end()
        cluster.run_to_end()
        assert [number for number, _, _ in sink.values] == [12, 14]
        told = {failure.component: failure.message for failure in cluster.result().failures}
        assert told["mark"] == "thirteen"
        assert helper.failed > 1


@pytest.mark.parametrize("delivery", DELIVERIES)
def test_a_helper_that_cannot_go_on_stops_its_host_and_nothing_piles_up(delivery: Delivery) -> None:
    """The sink of the helped bolt is where nobody takes its turn."""
    topo, sink = Topology("stopped"), CapturedSink()
    numbers = topo.spout("numbers", Lines(range(20_000), fields=("n",)))
    topo.bolt("sink", sink, topo.bolt("pass", lambda tup: (tup.n,), numbers.shuffle(), fields=("n",)).shuffle())
    with LocalCluster(topo, workers=3, worker_of={0: 0, 1: 1, 2: 2}, delivery=delivery) as cluster:
        (helper,) = cluster.workers[0].roster.helpers
        cluster.workers[0].helpers.set_share(helper.edge, 1.0)
        cluster.run_to_end()
    assert sorted(sink.values) == [(number,) for number in range(20_000)]


def test_what_one_task_sends_by_way_of_a_helper_keeps_its_order() -> None:
    topo, sink = Topology("in-order"), CapturedSink()
    numbers = topo.spout("numbers", Lines(range(500), fields=("n",)), tasks=2)
    passed = topo.bolt("pass", Marked(), numbers.shuffle(), tasks=2)
    topo.bolt("sink", sink, passed.by("helping", "index"), tasks=2)
    with LocalCluster(topo, workers=3, seed=4, settings=WorkerSettings(spout_turn_tuples=8)) as cluster:
        chance = random.Random(4)
        for _ in range(60):
            set_shares(cluster, chance)
            cluster.step()
        cluster.run_to_end()
    order: dict[Any, list[int]] = defaultdict(list)
    for number, helping, index in sink.values:
        order[helping, index, number % 2].append(number)
    assert any(helping for helping, _, _ in order)
    assert all(numbers == sorted(numbers) for numbers in order.values())


def test_a_share_is_taken_evenly_and_the_same_each_time() -> None:
    taker = ShareTaker(0.4)
    assert [taker.take(1) for _ in range(10)] == [0, 0, 1, 0, 1, 0, 0, 1, 0, 1]
    assert taker.take(100) == 40


@pytest.mark.parametrize("share", [-0.1, 1.1, float("nan")])
def test_what_is_no_share_is_refused(share: float) -> None:
    with pytest.raises(ValueError, match="from 0 to 1"):
        ShareTaker(share)


@given(st.lists(st.integers(0, 50), max_size=50), st.floats(0, 1))
def test_a_share_is_never_more_than_a_tuple_off(counts: list[int], share: float) -> None:
    taker = ShareTaker(share)
    taken = [taker.take(count) for count in counts]
    assert all(0 <= got <= count for got, count in zip(taken, counts, strict=True))
    assert abs(sum(taken) - share * sum(counts)) < 1.001
