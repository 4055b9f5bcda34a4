"""What one call emits has no bound: it is emitted in pieces, and the next one when there is room for it."""

from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.flow.delivery import Delivery
from penstock.testing import CapturedSink, FedSpout, LocalCluster, run_topology
from penstock.topology.bolts import BatchBolt, Bolt, KeyedBolt
from penstock.topology.emit import Emit
from penstock.topology.spouts import Spout
from penstock.topology.topology import Topology
from penstock.topology.tuples import Tuple
from penstock.worker.bolt_task import BoltTask
from penstock.worker.settings import WorkerSettings
from penstock.worker.worker import Worker
from tests.tries import tried

MANY = 500
DELIVERIES: list[Delivery] = ["at_most_once", "at_least_once", "exactly_once"]
SMALL = WorkerSettings(high_water_tuples=10)
"""A piece is ten tuples."""


def yielding(tup: Tuple) -> Iterator[Any]:
    for number in range(MANY):
        yield (tup.n, number)


def listing(tup: Tuple) -> Any:
    return [*yielding(tup)]


def giving_generators(tup: Tuple) -> Any:
    return yielding(tup)


def with_nothing_in_between(tup: Tuple) -> Iterator[Any]:
    for number in range(MANY):
        yield None
        yield Emit((tup.n, number))
        yield None


class OfBatches(BatchBolt):
    fields = ("n", "m")

    def process_batch(self, batch: pa.RecordBatch) -> Iterator[Any]:
        for n in batch["n"].to_pylist():
            for first in range(0, MANY, 4):
                numbers = [*range(first, first + 4)]
                yield pa.RecordBatch.from_pydict({"n": [n] * 4, "m": numbers})


class Ticking(Bolt):
    """Emits all of it at once, at the end."""

    fields = ("n", "m")

    def __init__(self) -> None:
        self.seen: list[Any] = []

    def process(self, tup: Tuple) -> None:
        self.seen.append(tup)

    def finish(self) -> Iterator[Any]:
        for tup in self.seen:
            yield from yielding(tup)


class OfKeys(KeyedBolt):
    fields = ("n", "m")

    def process(self, key: Any, tup: Tuple) -> Iterator[Any]:
        for _, number in yielding(tup):
            self.state[key] = self.state.get(key, 0) + 1
            yield (key, number)


BOLTS = [yielding, listing, giving_generators, with_nothing_in_between, OfBatches(), Ticking(), OfKeys()]


class Watched(LocalCluster):
    """Knows how much was ever waiting between tasks, and at how many turns somebody was in the middle of a call."""

    most_waiting = 0
    turns_in_call = 0

    def _turn(self, number: int) -> bool:
        worked = super()._turn(number)
        worker = self.workers[number]
        self.most_waiting = max(self.most_waiting, *(bolt.queued_tuples for bolt in worker.bolts), 0)
        self.turns_in_call += any(task.is_in_call for task in worker.roster.all)
        return worked


def watched(topo: Topology, delivery: Delivery, *, workers: int, sizes: WorkerSettings = SMALL) -> Watched:
    with Watched(topo, workers=workers, delivery=delivery, settings=sizes, seed=1) as cluster:
        cluster.run_to_end()
    return cluster


@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize("delivery", DELIVERIES)
@pytest.mark.parametrize("bolt", BOLTS, ids=lambda bolt: getattr(bolt, "__name__", type(bolt).__name__))
def test_what_a_call_emits_waits_until_there_is_room(bolt: Any, delivery: Delivery, workers: int) -> None:
    topo, sink = Topology("pieces"), CapturedSink()
    numbers = topo.spout("numbers", FedSpout([(n,) for n in range(3)], fields=("n",)))
    taken = numbers.by("n") if isinstance(bolt, KeyedBolt) else numbers.shuffle()
    many = topo.bolt("many", bolt, taken, fields=("n", "m"))
    topo.bolt("sink", sink, many.to_one())
    cluster = watched(topo, delivery, workers=workers)

    assert cluster.turns_in_call > 10
    assert cluster.most_waiting <= 40, "some pieces, and not all 1,500"
    assert Counter(sink.values) == Counter((n, m) for n in range(3) for m in range(MANY))
    for n in range(3):
        assert [m for key, m in sink.values if key == n] == [*range(MANY)], "in order"
    assert not cluster.result().failures


class Giving(Spout):
    """Gives all at once, twice."""

    fields = ("n",)

    def __init__(self, give: Callable[[int], Any]) -> None:
        self.give = give
        self.calls = 0

    def next(self) -> Any:
        if self.calls == 2:
            raise StopIteration
        self.calls += 1
        return self.give(self.calls)

    def position(self) -> int:
        return self.calls

    def seek(self, position: int) -> None:
        self.calls = position


GIFTS: dict[str, Callable[[int], Any]] = {
    "list": lambda call: [(call * 1000 + n,) for n in range(MANY)],
    "generator": lambda call: ((call * 1000 + n,) for n in range(MANY)),
    "emits": lambda call: (Emit((call * 1000 + n,)) for n in range(MANY)),
    "batches": lambda call: (
        pa.RecordBatch.from_pydict({"n": [call * 1000 + n, call * 1000 + n + 1]}) for n in range(0, MANY, 2)
    ),
}


@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize("delivery", DELIVERIES)
@pytest.mark.parametrize("give", GIFTS)
def test_what_a_spout_gives_waits_until_there_is_room(give: str, delivery: Delivery, workers: int) -> None:
    topo, sink = Topology("pieces"), CapturedSink()
    topo.bolt("sink", sink, topo.spout("numbers", Giving(GIFTS[give])).to_one())
    cluster = watched(
        topo, delivery, workers=workers, sizes=WorkerSettings(high_water_tuples=10, spout_turn_tuples=5, max_pending=20)
    )

    assert cluster.turns_in_call > 10
    assert cluster.most_waiting <= 40
    assert sink.values == [(call * 1000 + n,) for call in (1, 2) for n in range(MANY)]
    assert not cluster.result().failures


def bolt_of(worker: Worker, component: str) -> BoltTask:
    (bolt,) = (bolt for bolt in worker.bolts if bolt.component == component)
    return bolt


@pytest.mark.parametrize("delivery", ["at_most_once", "at_least_once"])
def test_others_in_the_worker_go_on_meanwhile(delivery: Delivery) -> None:
    def endless(tup: Tuple) -> Iterator[Any]:  # noqa: ARG001
        n = 0
        while True:
            n += 1
            yield (n,)

    topo, others = Topology("fair"), CapturedSink()
    one, words = FedSpout([(0,)], fields=("n",)), FedSpout(fields=("word",))
    many = topo.bolt("many", endless, topo.spout("one", one).shuffle(), fields=("n",))
    topo.bolt("nothing", lambda _: None, many.shuffle())
    topo.bolt("others", others, topo.spout("words", words).shuffle())
    with LocalCluster(topo, delivery=delivery, settings=SMALL) as cluster:
        for word in "abc":
            words.feed((word,))
            for _ in range(20):
                cluster.step()
            assert others.values[-1] == (word,)
        assert bolt_of(cluster.workers[0], "many").is_in_call


@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize("tracked_by_itself", [False, True])
def test_what_was_given_counts_as_processed_when_the_call_has_ended(workers: int, tracked_by_itself: bool) -> None:
    class Batches(BatchBolt):
        fields = ("n",)

        def process_batch(self, batch: pa.RecordBatch) -> Iterator[Any]:
            for n in range(MANY):
                yield pa.RecordBatch.from_pydict({"n": [n + batch.num_rows]})

    def tuples(tup: Tuple) -> Iterator[Any]:  # noqa: ARG001
        for n in range(MANY):
            yield (n,)

    topo, one = Topology("anchored"), FedSpout([(0,)], fields=("n",))
    many = topo.bolt(
        "many", Batches() if tracked_by_itself else tuples, topo.spout("one", one).shuffle(), fields=("n",)
    )
    topo.bolt("nothing", lambda _: None, many.shuffle())
    with LocalCluster(topo, workers=workers, settings=SMALL) as cluster:
        (spout,) = (spout for worker in cluster.workers.values() for spout in worker.spouts)
        was_in_call = False
        for _ in range(5000):
            cluster.step()
            bolts = [bolt for worker in cluster.workers.values() for bolt in worker.bolts]
            if any(bolt.is_in_call for bolt in bolts):
                was_in_call = True
                assert spout.pending == 1
        assert was_in_call
        assert spout.pending == 0


@pytest.mark.parametrize("workers", [1, 2])
def test_what_fails_half_way_is_done_again_as_a_whole(workers: int) -> None:
    tries = Counter[int]()

    def half_way(tup: Tuple) -> Iterator[Any]:
        tries[tup.n] += 1
        for n in range(MANY):
            if n == MANY // 2 and tries[tup.n] < 3:
                message = "half way"
                raise OSError(message)
            yield (tup.n, n)

    topo, sink = Topology("half-way"), CapturedSink()
    numbers = topo.spout("numbers", FedSpout([(0,), (1,)], fields=("n",)))
    topo.bolt("sink", sink, topo.bolt("many", half_way, numbers.shuffle(), fields=("n", "m")).to_one())
    result = run_topology(topo, workers=workers, settings=SMALL)

    assert tries == {0: 3, 1: 3}
    first_half, second_half = range(MANY // 2), range(MANY // 2, MANY)
    times = dict.fromkeys(first_half, 3) | dict.fromkeys(second_half, 1)
    assert Counter(sink.values) == Counter({(n, m): times[m] for n in (0, 1) for m in times})
    assert [(failure.component, failure.count) for failure in result.failures] == [("many", 4)]


def test_a_generator_that_waits_is_closed_with_its_task() -> None:
    closed: list[str] = []

    class Tidy(Bolt):
        fields = ("n",)

        def process(self, tup: Tuple) -> Iterator[Any]:  # noqa: ARG002
            try:
                while True:
                    yield (1,)
            finally:
                closed.append("generator")

        def close(self) -> None:
            closed.append("bolt")

    topo = Topology("closed")
    many = topo.bolt("many", Tidy(), topo.spout("one", FedSpout([(0,)], fields=("n",))).shuffle())
    topo.bolt("nothing", lambda _: None, many.shuffle())
    with LocalCluster(topo, settings=SMALL) as cluster:
        for _ in range(20):
            cluster.step()
        assert bolt_of(cluster.workers[0], "many").is_in_call
        assert closed == []
    assert closed == ["generator", "bolt"]


class Summing(KeyedBolt):
    """Counts in its state while it emits, in the middle of a call, too."""

    fields = ("key", "count")

    def process(self, key: Any, tup: Tuple) -> Iterator[Any]:
        for _ in range(tup.times):
            self.state[key] = self.state.get(key, 0) + 1
            yield (key, self.state[key])


@tried(60)
@given(
    delivery=st.sampled_from(["at_least_once", "exactly_once"]),
    feed=st.lists(st.tuples(st.integers(0, 3), st.integers(0, 60)), min_size=1, max_size=12),
    moves=st.lists(st.integers(0, 1), max_size=4),
    seed=st.integers(0, 1000),
    high_water=st.integers(1, 20),
)
def test_a_task_moves_between_calls_and_not_within(
    delivery: Delivery, feed: list[tuple[int, int]], moves: list[int], seed: int, high_water: int
) -> None:
    topo, sink = Topology("moved"), CapturedSink()
    numbers = topo.spout("numbers", FedSpout(feed, fields=("key", "times")))
    topo.bolt("sink", sink, topo.bolt("sum", Summing(), numbers.by("key")).to_one())
    sizes = WorkerSettings(high_water_tuples=high_water)
    with LocalCluster(topo, workers=2, delivery=delivery, seed=seed, settings=sizes) as cluster:
        for worker in moves:
            for _ in range(30):
                cluster.step()
            (task,) = cluster.tasks_of("sum")
            cluster.move({task: worker})
        cluster.run_to_end()
    for key in {key for key, _ in feed}:
        total = sum(times for one, times in feed if one == key)
        assert sorted(count for one, count in sink.values if one == key) == [*range(1, total + 1)]


class Blocks(Spout):
    """Always has more, and gives it by blocks of which each is more than a piece."""

    fields = ("n",)

    def __init__(self, blocks: int) -> None:
        self.blocks = blocks
        self.at = 0

    def next(self) -> Any:
        if self.at == self.blocks:
            raise StopIteration
        self.at += 1
        return [(number,) for number in range((self.at - 1) * MANY, self.at * MANY)]

    def position(self) -> int:
        return self.at

    def seek(self, position: int) -> None:
        self.at = position


def test_a_spout_that_is_never_idle_commits_epochs() -> None:
    topo, sink = Topology("busy"), CapturedSink()
    topo.bolt("sink", sink, topo.spout("blocks", Blocks(10_000)).shuffle())
    with LocalCluster(topo, workers=1, delivery="exactly_once") as cluster:
        for epoch in range(1, 4):
            cluster.begin_epoch()
            for _ in range(100):
                if cluster.committed_epoch == epoch:
                    break
                cluster.step()
            assert cluster.committed_epoch == epoch


def test_a_spout_that_is_never_idle_goes_on_from_where_it_was() -> None:
    topo, sink, blocks = Topology("busy"), CapturedSink(), 40
    topo.bolt("sink", sink, topo.spout("blocks", Blocks(blocks)).shuffle())
    with LocalCluster(topo, workers=2, worker_of={0: 0, 1: 1}) as cluster:
        while len(sink.values) < MANY * blocks // 2:
            cluster.step()
        cluster.begin_epoch()  # and what is done is told
        for _ in range(5):
            cluster.step()
        cluster.kill(0)
        cluster.restart(0)
        cluster.run_to_end()
    counted = Counter(sink.values)
    assert counted.keys() == {(number,) for number in range(MANY * blocks)}
    assert counted.total() - len(counted) < MANY * blocks // 4, "most of it was done, and does not come again"
