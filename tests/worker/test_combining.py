"""What combine is given and may do, what the one task is given, and what happens when either fails, waits or dies."""

from collections import Counter
from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pytest

from penstock.connectors.collect import Collect
from penstock.connectors.lines import Lines
from penstock.control.reporting import report_of
from penstock.flow.delivery import Delivery
from penstock.testing import CapturedSink, FedSpout, LocalCluster
from penstock.testing.memory import MemoryWay
from penstock.topology.bolts import BatchBolt, Bolt
from penstock.topology.topology import Topology
from penstock.topology.tuples import Tuple
from penstock.transport.ring import Route
from penstock.worker.company import Colleague
from penstock.worker.settings import WorkerSettings

TASKS = 16
NODE_OF = {worker: "ab"[worker // 4] for worker in range(8)}
"""Two nodes of four workers; the one task is on the first of them."""
TARGET_WORKER = 0


def added(a: Tuple, b: Tuple) -> tuple[Any, ...]:
    return (a.n + b.n,)


def joined(a: Tuple, b: Tuple) -> tuple[Any, ...]:
    return (a.n + b.n,) if isinstance(a.n, list) else ([a.n, b.n],)


def sixteen(sink: Any, combine: Any, items: Any, bolt: Any = lambda tup: tup) -> Topology:
    """A spout beside each of sixteen tasks, two on each worker, and one task that gets all that they emit."""
    topo = Topology("sixteen")
    numbers = topo.spout("numbers", Lines(items, fields=("n",)), tasks=TASKS)
    parts = topo.bolt("parts", bolt, numbers.local_or_shuffle(), tasks=TASKS, fields=("n",))
    topo.bolt("sink", sink, parts.to_one(combine))
    return topo


WORKER_OF = {**{task: task % 8 for task in range(2 * TASKS)}, 2 * TASKS: TARGET_WORKER}


EIGHT = {**{task: task for task in range(8)}, 8: TARGET_WORKER}
"""Eight tasks, one on each worker, and the one task."""


def cluster_of(topology: Topology, **options: Any) -> LocalCluster:
    return LocalCluster(topology, worker_of=WORKER_OF, node_of=NODE_OF, **options)


def total(sink: CapturedSink) -> int:
    return sum(n for (n,) in sink.values)


@pytest.mark.parametrize("delivery", ["at_most_once", "at_least_once", "exactly_once"])
def test_the_one_task_is_given_fewer_tuples_for_the_same_sum(delivery: Delivery) -> None:
    sinks = [CapturedSink(), CapturedSink()]
    for sink, combine in zip(sinks, (None, added), strict=True):
        with cluster_of(sixteen(sink, combine, range(8000)), delivery=delivery) as cluster:
            cluster.run_to_end()

    assert [total(sink) for sink in sinks] == [sum(range(8000))] * 2
    assert len(sinks[0].values) == 8000
    # In each turn, one from each worker of its own node at most, and one from the other node.
    assert len(sinks[1].values) < 100


def test_the_other_node_sends_one_tuple_for_all_its_workers() -> None:
    sink, words = CapturedSink(), FedSpout(fields=("n",))
    topo = Topology("eight")
    numbers = topo.spout("numbers", words, tasks=8)
    topo.bolt("sink", sink, numbers.to_one(lambda a, b: (a.n + b.n,)))
    with LocalCluster(topo, worker_of=EIGHT, node_of=NODE_OF) as cluster:
        words.feed(*[(1,) for _ in range(80)])
        cluster.settle()
        words.end()
        cluster.run_to_end()

    assert total(sink) == 80
    assert len(sink.values) <= 4 + 1


def test_an_idle_system_passes_each_tuple_on_at_once() -> None:
    sink, words, topo = CapturedSink(), FedSpout(fields=("n",)), Topology("idle")
    topo.bolt("sink", sink, topo.spout("numbers", words).to_one(added))
    with LocalCluster(topo, worker_of={0: 1, 1: 0}, node_of={0: "a", 1: "b"}) as cluster:
        for n in range(3):
            words.feed((n,))
            cluster.settle()
            assert sink.values == [(number,) for number in range(n + 1)]


def test_what_the_source_emitted_is_what_is_counted() -> None:
    with cluster_of(sixteen(CapturedSink(), added, range(800))) as cluster:
        cluster.run_to_end()
        pairs = [pair for worker in cluster.workers.values() for pair in report_of(worker).pairs]

    into_sink = [pair for pair in pairs if pair.target == 2 * TASKS]
    assert sum(pair.tuples for pair in into_sink) == 800
    assert 0 < sum(pair.bytes for pair in into_sink) < 800 * 20


class Batched(BatchBolt):
    fields = ("n",)

    def process_batch(self, batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
        yield batch


@pytest.mark.parametrize("delivery", ["at_least_once", "exactly_once"])
def test_the_rows_of_record_batches_are_put_together(delivery: Delivery) -> None:
    sink = CapturedSink()
    with cluster_of(sixteen(sink, added, range(4000), Batched()), delivery=delivery) as cluster:
        cluster.run_to_end()

    assert total(sink) == sum(range(4000))
    assert len(sink.values) < 100


def test_a_batch_bolt_can_be_the_one_task() -> None:
    sink, topo = CapturedSink(), Topology("batches")
    numbers = topo.spout("numbers", Lines(range(500), fields=("n",)), tasks=3)
    topo.bolt("sink", sink, topo.bolt("one", Batched(), numbers.to_one(added)).shuffle())
    with LocalCluster(topo, worker_of={0: 0, 1: 1, 2: 1, 3: 0, 4: 2}) as cluster:
        cluster.run_to_end()

    assert total(sink) == sum(range(500))


def refuses_seven(a: Tuple, b: Tuple) -> tuple[Any, ...]:
    if 7 in (a.n, b.n):
        message = "not seven"
        raise RuntimeError(message)
    return (a.n + b.n,)


@pytest.mark.parametrize(
    ("combine", "told"),
    [
        (refuses_seven, "not seven"),
        (lambda a, b: (a.n, b.n), "combine: wanted a tuple of values for the fields ('n',), got tuple"),
        (lambda a, b: a.n + b.n, "combine: wanted a tuple of values for the fields ('n',), got int"),
    ],
)
def test_what_cannot_be_put_together_travels_as_it_is_and_is_told_of(combine: Any, told: str) -> None:
    sink = CapturedSink()
    with cluster_of(sixteen(sink, combine, range(320)), delivery="exactly_once") as cluster:
        cluster.run_to_end()
        failures = cluster.result().failures

    assert total(sink) == sum(range(320))
    assert {failure.component for failure in failures} == {"sink"}
    assert all(told in failure.message for failure in failures)


def test_one_that_cannot_travel_does_not_keep_the_others() -> None:
    sink = CapturedSink()
    topo = sixteen(sink, added, range(640), lambda tup: (object() if tup.n == 7 else tup.n,))  # 7 is not on worker 0
    with cluster_of(topo, settings=WorkerSettings(max_tries=1)) as cluster:
        cluster.run_to_end()
        failure, *_ = cluster.result().failures

    assert total(sink) == sum(range(640)) - 7
    assert failure.component == "parts"
    assert "field 'n', a object, cannot travel to another worker" in failure.message


def unable_to_travel(a: Tuple, b: Tuple) -> tuple[Any, ...]:  # noqa: ARG001
    return (object(),)


def test_what_combine_has_made_and_cannot_travel_is_told_of_with_what_it_is() -> None:
    sink = CapturedSink()
    settings = WorkerSettings(max_tries=2)
    with cluster_of(sixteen(sink, unable_to_travel, range(64)), settings=settings) as cluster:
        cluster.run_to_end()
        failures = cluster.result().failures

    assert any(
        failure.component == "sink" and "got one of type builtins.object" in failure.message for failure in failures
    )


class Picky(Bolt):
    """Fails the first time that it is given anything, and passes everything on from then on."""

    fields = ("n",)
    calls = 0

    def process(self, tup: Tuple) -> Any:
        self.calls += 1
        if self.calls == 1:
            message = "not the first"
            raise RuntimeError(message)
        return [(n,) for n in (tup.n if isinstance(tup.n, list) else [tup.n])]


def test_when_one_fails_that_stands_for_many_all_of_them_come_again() -> None:
    sink, topo = CapturedSink(), Topology("picky")
    numbers = topo.spout("numbers", Lines(range(300), fields=("n",)), tasks=3)
    listed = topo.bolt("listed", lambda tup: ([tup.n],), numbers.shuffle(), tasks=3, fields=("n",))
    topo.bolt("sink", sink, topo.bolt("picky", Picky(), listed.to_one(joined)).shuffle())
    worker_of = {0: 0, 1: 1, 2: 2, 3: 0, 4: 1, 5: 2, 6: 3, 7: 3}
    with LocalCluster(topo, worker_of=worker_of, node_of={0: "a", 1: "a", 2: "a", 3: "b"}) as cluster:
        cluster.run_to_end()
        [failure] = cluster.result().failures

    assert (failure.component, failure.count) == ("picky", 1)
    assert {n for (n,) in sink.values} == {*range(300)}


@pytest.mark.parametrize("delivery", ["at_most_once", "exactly_once"])
def test_sources_wait_for_a_target_that_is_slow(delivery: Delivery) -> None:
    """What is put together grows with every tuple here: it is credit that bounds it."""
    sink = CapturedSink()
    settings = WorkerSettings(credit_window_bytes=500, spout_turn_tuples=4, turn_tuples=4)
    topo = sixteen(sink, joined, range(20_000), lambda tup: ([tup.n],))
    with cluster_of(topo, settings=settings, delivery=delivery) as cluster:
        for _ in range(3000):
            cluster.step(without=TARGET_WORKER)
        others = [worker for number, worker in cluster.workers.items() if number != TARGET_WORKER]
        assert sum(bolt.outputs.emitted for worker in others for bolt in worker.bolts) < 3000
        cluster.run_to_end()

    assert Counter(n for (numbers,) in sink.values for n in numbers) == Counter(range(20_000))


def head_of_other_node(cluster: LocalCluster) -> int:
    return next(worker for worker in range(4, 8) if cluster.workers[worker].uplinks[0].next_worker == TARGET_WORKER)


def test_when_the_head_of_a_node_dies_the_others_go_on_without_it() -> None:
    sink, words = CapturedSink(), FedSpout(fields=("n",))
    topo = Topology("eight")
    topo.bolt("sink", sink, topo.spout("numbers", words, tasks=8).to_one(lambda a, b: (a.n + b.n,)))
    with LocalCluster(topo, worker_of=EIGHT, node_of=NODE_OF, delivery="at_most_once") as cluster:
        head = head_of_other_node(cluster)
        cluster.kill(head)
        words.feed(*[(1,) for _ in range(70)])
        cluster.settle()
        before = total(sink)  # without what was on its way to the head
        words.feed(*[(1,) for _ in range(70)])
        cluster.settle()

        assert total(sink) == before + 70
        words.end()
        cluster.restart(head)
        cluster.run_to_end()


@pytest.mark.parametrize("delivery", ["at_most_once", "at_least_once"])
def test_an_end_that_the_head_had_in_hand_is_told_again(delivery: Delivery) -> None:
    for steps in range(40):
        sink, topo = CapturedSink(), Topology("eight")
        topo.bolt("sink", sink, topo.spout("numbers", Lines(range(40), fields=("n",)), tasks=8).to_one(added))
        with LocalCluster(topo, worker_of=EIGHT, node_of=NODE_OF, delivery=delivery) as cluster:
            head = head_of_other_node(cluster)
            for _ in range(steps):
                cluster.step()
            cluster.kill(head)
            cluster.settle()
            cluster.restart(head)
            cluster.settle()
            cluster.begin_epoch()  # so that what was lost is found without waiting for it
            cluster.run_to_end()
            assert cluster.ended


class PickyCollect(Collect):
    """Fails the first time that it is given anything."""

    calls = 0

    def process(self, tup: Tuple) -> None:
        self.calls += 1
        if self.calls == 1:
            message = "not the first"
            raise RuntimeError(message)
        super().process(tup)


def test_a_sink_counts_what_stands_for_many_when_it_lasts_and_fails_all_of_it() -> None:
    topo = sixteen(PickyCollect(), joined, range(400), lambda tup: ([tup.n],))
    with cluster_of(topo) as cluster:
        cluster.run_to_end()
        result = cluster.result()

    assert Counter(n for (numbers,) in result.collected("sink") for n in numbers).keys() == {*range(400)}
    assert [(failure.component, failure.count) for failure in result.failures] == [("sink", 1)]


class SlowWay(MemoryWay):
    """Takes nothing as long as it is held."""

    held = False

    def try_send(self, route: Route, payload: bytes | memoryview) -> bool:
        return not self.held and super().try_send(route, payload)


def test_nothing_is_taken_for_lost_because_a_head_tells_of_it_late() -> None:
    """The head's own task has passed a marker, and it passes on what came before the marker of another."""
    sink, words, topo = CapturedSink(), FedSpout(fields=("n",)), Topology("late")
    parts = topo.bolt("parts", lambda tup: tup, topo.spout("numbers", words).by("n"), tasks=2, fields=("n",))
    topo.bolt("sink", sink, parts.to_one(added))
    spout, target = 0, 1
    worker_of = {0: spout, 1: 2, 2: 3, 3: target}
    node_of = {spout: "a", target: "a", 2: "b", 3: "b"}
    with LocalCluster(topo, worker_of=worker_of, node_of=node_of) as cluster:
        head = cluster.workers[2].uplinks[1].next_worker
        head, other = (3, 2) if head == 3 else (2, 3)
        way = SlowWay(cluster._inboxes[spout])
        cluster.workers[head].meet(Colleague(spout, "a"), way)
        words.feed(*[(n,) for n in range(20)])
        cluster.workers[spout].do_work()
        cluster.begin_epoch()
        for worker in (head, head):
            cluster.workers[worker].do_work()
        way.held = True
        for worker in (other, head, target, target, spout):
            cluster.workers[worker].do_work()
        way.held = False
        cluster.settle()
        words.end()
        cluster.run_to_end()

    assert total(sink) == sum(range(20))
