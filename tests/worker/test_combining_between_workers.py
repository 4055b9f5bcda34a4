"""Tuples put together on the way to one task: what comes of them is the same, whatever the layout, and whoever dies."""

from collections import Counter
from collections.abc import Iterator
from typing import Any

import msgspec
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from penstock.connectors.collect import Collect
from penstock.flow.delivery import Delivery
from penstock.plan.shape import shape_of
from penstock.plan.tasks import tasks_of
from penstock.testing import CapturedSink, LocalCluster
from penstock.testing.late_words import HEARS_AFTER_TURNS
from penstock.topology.bolts import StatefulBolt
from penstock.topology.topology import Topology
from penstock.topology.tuples import Tuple
from penstock.worker.settings import WorkerSettings
from tests.trickle import Trickle
from tests.tries import tried

COUNT = 60
DELIVERIES: list[Delivery] = ["at_most_once", "at_least_once", "exactly_once"]

sizes = st.builds(
    WorkerSettings,
    credit_window_bytes=st.integers(1, 300),
    inbox_bytes=st.integers(1, 300),
    outgoing=st.sampled_from(["fifo", "round_robin", "lbf"]),
    outgoing_interval_ms=st.sampled_from([0.0, 10.0]),
    high_water_tuples=st.integers(1, 20),
    turn_tuples=st.integers(1, 8),
    spout_turn_tuples=st.integers(1, 8),
)


def both(a: Tuple, b: Tuple) -> tuple[Any, ...]:
    return ([*a.numbers, *b.numbers],)


class Layout(msgspec.Struct, frozen=True):
    """How many tasks the sources have, and where everything is."""

    tasks: int
    workers: dict[int, int]
    nodes: dict[int, str]


class Numbers(StatefulBolt):
    """Keeps all numbers that it was ever given, with how often, and tells them at the end."""

    fields = ("numbers",)

    def __init__(self) -> None:
        self.seen: Counter[int] = Counter()

    def process(self, tup: Tuple) -> None:
        self.seen.update(tup.numbers)

    def finish(self) -> Iterator[Any]:
        yield (sorted(self.seen.elements()),)

    def snapshot(self) -> Any:
        return [*self.seen.elements()]

    def restore(self, state: Any) -> None:
        self.seen = Counter(state)


def topology(tasks: int, sink: CapturedSink) -> Topology:
    """From two spouts over some bolts to one that keeps everything, to one that passes it on, and to a sink."""
    topo = Topology("one")
    numbers = topo.spout("numbers", Trickle(range(COUNT), field="n"), tasks=2)
    listed = topo.bolt("listed", lambda tup: ([tup.n],), numbers.shuffle(), tasks=tasks, fields=("numbers",))
    topo.bolt("all", Collect(), topo.bolt("kept", Numbers(), listed.to_one(both)).shuffle())
    passed = topo.bolt("passed", lambda tup: [tup], listed.to_one(both), fields=("numbers",), tasks=2)
    topo.bolt("sink", sink, passed.to_one(both))
    return topo


@st.composite
def layouts(draw: st.DrawFn) -> Layout:
    tasks = draw(st.integers(1, 6))
    ids = [task.id for task in tasks_of(shape_of(topology(tasks, CapturedSink())))]
    workers = draw(st.integers(1, 5))
    nodes = draw(st.lists(st.sampled_from("ab"), min_size=workers, max_size=workers))
    return Layout(tasks, {task: draw(st.integers(0, workers - 1)) for task in ids}, dict(enumerate(nodes)))


def cluster_of(layout: Layout, sink: CapturedSink, **options: Any) -> LocalCluster:
    return LocalCluster(topology(layout.tasks, sink), worker_of=layout.workers, node_of=layout.nodes, **options)


def numbers_in(rows: Any) -> Counter[int]:
    return Counter(number for (numbers,) in rows for number in numbers)


ONCE = Counter(range(COUNT))


@pytest.mark.parametrize("delivery", DELIVERIES)
@given(layouts(), sizes, st.integers(0, 2**32), st.integers(0, 3))
@tried(12)
def test_whatever_the_layout_all_that_was_emitted_arrives_once(
    delivery: Delivery, layout: Layout, sized: WorkerSettings, seed: int, epochs_every: int
) -> None:
    sink = CapturedSink()
    with cluster_of(layout, sink, settings=sized, seed=seed, delivery=delivery) as cluster:
        for _ in range(100 if epochs_every and delivery != "at_most_once" else 0):
            for _ in range(epochs_every):
                cluster.step()
            cluster.begin_epoch()
        cluster.run_to_end()
        result = cluster.result()

    assert (result.failures, result.lost) == ([], 0)
    assert numbers_in(result.collected("all")) == ONCE
    assert numbers_in(sink.values) == ONCE


deaths = st.lists(st.tuples(st.integers(0, 80), st.integers(0, 4), st.booleans(), st.integers(0, 60)), max_size=4)


# A worker that was restarted has used up its credit before the one that it sends to has met it.
RESTARTED_SENDER = {
    "layout": Layout(1, {0: 4, 1: 1, 2: 0, 3: 2, 4: 4, 5: 3, 6: 4, 7: 0}, {0: "a", 1: "b", 2: "a", 3: "a", 4: "b"}),
    "sized": WorkerSettings(
        credit_window_bytes=214, inbox_bytes=123, high_water_tuples=7, turn_tuples=5, spout_turn_tuples=4
    ),
    "seed": 281,
    "deaths": [(78, 4, True, 2), (33, 0, True, 22), (21, 4, False, 12), (69, 3, False, 19)],
}

# So has the head of a node, in the name of its neighbour's task, and the target's worker has none of the sources.
RESTARTED_HEAD = {
    "layout": Layout(2, {0: 1, 1: 2, 2: 0, 3: 1, 4: 2, 5: 0, 6: 0, 7: 0, 8: 2}, {0: "a", 1: "a", 2: "b"}),
    "sized": WorkerSettings(
        credit_window_bytes=1, inbox_bytes=163, high_water_tuples=1, turn_tuples=3, spout_turn_tuples=7
    ),
    "seed": 20,
    "deaths": [(74, 2, False, 9), (65, 3, False, 2), (42, 3, True, 6), (31, 1, True, 7)],
}


@given(layout=layouts(), sized=sizes, seed=st.integers(0, 2**32), deaths=deaths)
@example(**RESTARTED_SENDER)
@example(**RESTARTED_HEAD)
@tried(10)
def test_at_least_once_every_tuple_arrives_whoever_dies(
    layout: Layout, sized: WorkerSettings, seed: int, deaths: list[tuple[int, int, bool, int]]
) -> None:
    sink = CapturedSink()
    with cluster_of(layout, sink, settings=sized, seed=seed) as cluster:
        die(cluster, deaths)
        cluster.run_to_end(most_s=10)

    assert numbers_in(sink.values).keys() == ONCE.keys()


@pytest.mark.parametrize("seed", [0, 3, 6, 7, 8, 10])
def test_credit_comes_back_for_what_was_sent_before_the_target_met_its_new_sender(seed: int) -> None:
    """The head of a node is restarted, and sends at once to a worker that has the target, and none of the sources."""
    places = {0: 0, 1: 4, 2: 3, 3: 1, 4: 1, 5: 4, 6: 3, 7: 3, 8: 3, 9: 3}
    layout = Layout(3, places, {0: "a", 1: "b", 2: "a", 3: "b", 4: "a"})
    sized = WorkerSettings(
        credit_window_bytes=88, inbox_bytes=2, high_water_tuples=6, turn_tuples=4, spout_turn_tuples=6
    )
    with cluster_of(layout, CapturedSink(), settings=sized, seed=seed) as cluster:
        die(cluster, [(70, 4, False, 32), (75, 3, False, 10)])
        cluster.run_to_end(most_s=30)


@given(layouts(), sizes, st.integers(0, 2**32), deaths)
@tried(10)
def test_exactly_once_every_tuple_counts_once_whoever_dies(
    layout: Layout, sized: WorkerSettings, seed: int, deaths: list[tuple[int, int, bool, int]]
) -> None:
    with cluster_of(layout, CapturedSink(), settings=sized, seed=seed, delivery="exactly_once") as cluster:
        die(cluster, deaths)
        cluster.run_to_end(most_s=10)
        result = cluster.result()

    assert numbers_in(result.collected("all")) == ONCE
    assert not result.failures


def die(cluster: LocalCluster, deaths: list[tuple[int, int, bool, int]]) -> None:
    for before, victim, epoch, away in deaths:
        for _ in range(before):
            cluster.step()
        if epoch:
            cluster.begin_epoch()
        if victim in cluster.workers:
            cluster.kill(victim)
            for _ in range(away):
                cluster.step()
            cluster.restart(victim)
    for _ in range(4):  # so that what was lost is found without waiting for it
        cluster.settle()
        cluster.begin_epoch()


def test_exactly_once_a_marker_takes_no_other_way_than_what_was_before_it() -> None:
    """The head of a node dies with tuples of its neighbours in hand, when its own tasks are saved already."""
    topo = Topology("direct")
    numbers = topo.spout("numbers", Trickle([[n] for n in range(400)], field="numbers"), tasks=8)
    topo.bolt("all", Collect(), topo.bolt("kept", Numbers(), numbers.to_one(both)).shuffle())
    worker_of = {**{task: task for task in range(8)}, 8: 0, 9: 0}
    node_of = {worker: "ab"[worker // 4] for worker in range(8)}
    places: dict[str, Any] = {"worker_of": worker_of, "node_of": node_of}
    sized = WorkerSettings(spout_turn_tuples=1)
    with LocalCluster(topo, settings=sized, delivery="exactly_once", **places) as cluster:
        [edge] = {lane.edge for lane in cluster.workers[7].spouts[0].outputs.lanes}
        head = next(worker for worker in range(4, 8) if cluster.workers[worker].uplinks[edge].next_worker == 0)
        cluster.begin_epoch()
        for _ in range(HEARS_AFTER_TURNS * head + 1):
            cluster._turn(head)
        for other in sorted({4, 5, 6, 7} - {head}):
            cluster.workers[other].do_work()
        cluster.kill(head)
        for _ in range(200):
            cluster.step()
        cluster.restart(head)
        cluster.run_to_end()
        result = cluster.result()

    assert numbers_in(result.collected("all")) == Counter(range(400))
