"""At least once: whatever fails or dies, every tuple is processed; what fails each time is given up, and told of."""

from collections import Counter
from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.connectors.lines import Lines
from penstock.plan.shape import shape_of
from penstock.plan.tasks import tasks_of
from penstock.testing import CapturedSink, FedSpout, LocalCluster, run_topology
from penstock.topology.bolts import BatchBolt, KeyedBolt
from penstock.topology.emit import Emit
from penstock.topology.spouts import Spout
from penstock.topology.topology import Topology
from penstock.topology.tuples import Tuple
from penstock.worker.settings import WorkerSettings
from tests.tries import tried
from tests.worker.deaths import endure

COUNT = 100

sizes = st.builds(
    WorkerSettings,
    credit_window_bytes=st.integers(1, 300),
    inbox_bytes=st.integers(1, 300),
    outgoing=st.sampled_from(["fifo", "round_robin", "lbf"]),
    outgoing_interval_ms=st.sampled_from([0.0, 10.0]),
    turn_tuples=st.integers(1, 8),
    spout_turn_tuples=st.integers(1, 8),
    max_pending=st.integers(1, 50),
    singly_tuples=st.sampled_from([0, 5, 1000]),
)


class Passed(BatchBolt):
    """Passes batches on."""

    fields = ("n",)

    def process_batch(self, batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
        yield batch


class Doubled(KeyedBolt):
    """Emits two tuples for each."""

    fields = ("n",)

    def process(self, key: Any, tup: Tuple) -> Iterator[Any]:  # noqa: ARG002
        yield (key,)
        yield (key,)


def several_ways(sink: CapturedSink, tasks: int) -> Topology:
    """Two ways to one sink: plain and by key, and one through batches."""
    topo = Topology("ways")
    numbers = topo.spout("numbers", Lines(range(COUNT), fields=("n",)), tasks=2)
    a = topo.bolt("a", lambda tup: tup, numbers.shuffle(), tasks=tasks, fields=("n",))
    b = topo.bolt("b", Doubled(), a.by("n"), tasks=tasks)
    c = topo.bolt("c", Passed(), a.shuffle(), tasks=tasks)
    topo.bolt("sink", sink, b.partial_key("n"), c.broadcast())
    return topo


@tried(20)
@given(
    st.integers(1, 3),
    st.lists(st.tuples(st.integers(0, 80), st.integers(0, 2), st.integers(0, 40)), max_size=4),
    st.integers(0, 2**32),
    sizes,
)
def test_whatever_dies_every_tuple_is_processed(
    tasks: int, deaths: list[tuple[int, int, int]], seed: int, sized: WorkerSettings
) -> None:
    sink = CapturedSink()
    with LocalCluster(several_ways(sink, tasks), workers=3, seed=seed, settings=sized) as cluster:
        endure(cluster, deaths)
        cluster.run_to_end()

    seen = Counter(n for (n,) in sink.values)
    assert set(seen) == set(range(COUNT))
    assert min(seen.values()) >= 3
    if not deaths:
        assert set(seen.values()) == {3}, "nothing died, so nothing should have been emitted again"


@tried(10)
@given(st.integers(1, 3), st.integers(0, 2**32), sizes)
def test_nothing_is_emitted_again_because_it_is_slow(workers: int, seed: int, sized: WorkerSettings) -> None:
    sink = CapturedSink()
    with LocalCluster(several_ways(sink, 2), workers=workers, seed=seed, settings=sized) as cluster:
        for _ in range(200):
            cluster.step()
            cluster.begin_epoch()  # markers all the time, and queues that are always full
        cluster.run_to_end()
    assert set(Counter(sink.values).values()) == {3}


class Flaky(CapturedSink):
    """Fails on each tuple so many times before it takes it."""

    def __init__(self, failures: int) -> None:
        super().__init__()
        self.left: Counter[Any] = Counter()
        self.failures = failures

    def process(self, tup: Tuple) -> None:
        self.left[tup[0]] += 1
        if self.left[tup[0]] <= self.failures:
            message = f"not yet: {tup[0]}"
            raise RuntimeError(message)
        super().process(tup)

    def __deepcopy__(self, memo: Any) -> "Flaky":
        return self


@pytest.mark.parametrize("workers", [1, 3])
def test_what_fails_is_tried_again(workers: int) -> None:
    topo, sink = Topology("flaky"), Flaky(failures=2)
    topo.bolt("sink", sink, topo.spout("numbers", Lines(range(20), fields=("n",))).shuffle())
    result = run_topology(topo, workers=workers)

    assert sorted(sink.values) == [(n,) for n in range(20)]
    [failure] = result.failures
    assert (failure.component, failure.count) == ("sink", 40)


@pytest.mark.parametrize("workers", [1, 3])
@pytest.mark.parametrize(("tries", "singly", "doubled"), [(1, 0, 1), (3, 0, 2), (3, 100, 1)])
def test_what_fails_each_time_is_given_up_and_told_of(workers: int, tries: int, singly: int, doubled: int) -> None:
    def choosy(tup: Tuple) -> Any:
        if tup.n % 5 == 0:
            message = f"{tup.n} is a multiple of five"
            raise ValueError(message)
        return (tup.n,)

    topo, sink, letters = Topology("poison"), CapturedSink(), CapturedSink()
    numbers = topo.spout("numbers", Lines(range(20), fields=("n",)))
    topo.bolt("sink", sink, topo.bolt("choosy", choosy, numbers.shuffle(), fields=("n",)).shuffle())
    topo.bolt("letters", letters, numbers.dead_letters().to_one())
    result = run_topology(topo, workers=workers, settings=WorkerSettings(max_tries=tries, singly_tuples=singly))

    assert sorted(set(sink.values)) == [(n,) for n in range(20) if n % 5]
    assert len(sink.values) == len(set(sink.values)) * doubled, "emitted with a bad one, then each by itself"
    assert sorted(letters.values) == [
        ([n], "choosy", f"ValueError: {n} is a multiple of five", tries) for n in (0, 5, 10, 15)
    ]
    counts = {failure.component: failure.count for failure in result.failures}
    assert counts == {"choosy": 4 * tries, "numbers": 4}
    assert result.counts["choosy"].failed == 4 * tries


class InBatches(Spout):
    """Emits its numbers as one record batch."""

    fields = ("n",)

    def next(self) -> pa.RecordBatch:
        if self.__dict__.setdefault("given", False):
            raise StopIteration
        self.given = True
        return pa.RecordBatch.from_pydict({"n": list(range(20))})


@pytest.mark.parametrize("workers", [1, 3])
def test_of_a_batch_only_the_rows_that_fail_each_time_are_given_up(workers: int) -> None:
    def choosy(tup: Tuple) -> Any:
        if tup.n == 7:
            message = f"{tup.n} is no good"
            raise ValueError(message)
        return (tup.n,)

    topo, sink, letters = Topology("poison"), CapturedSink(), CapturedSink()
    numbers = topo.spout("numbers", InBatches())
    topo.bolt("sink", sink, topo.bolt("choosy", choosy, numbers.shuffle(), tasks=2, fields=("n",)).shuffle())
    topo.bolt("letters", letters, numbers.dead_letters().to_one())
    run_topology(topo, workers=workers)

    assert sorted(set(sink.values)) == [(n,) for n in range(20) if n != 7]
    assert letters.values == [([7], "choosy", "ValueError: 7 is no good", 4)]


def test_a_dead_letter_that_fails_too_is_given_up_in_the_end() -> None:
    def failing(tup: Tuple) -> Any:
        raise ValueError(tup[0])

    topo = Topology("hopeless")
    numbers = topo.spout("numbers", Lines([1], fields=("n",)))
    topo.bolt("failing", failing, numbers.shuffle())
    topo.bolt("letters", failing, numbers.dead_letters().shuffle())
    result = run_topology(topo, settings=WorkerSettings(max_tries=2))
    assert {failure.component: failure.count for failure in result.failures} == {
        "failing": 2,
        "letters": 2,
        "numbers": 2,
    }


class Told(Spout):
    """Gives ids, emits again itself, and keeps what it is told."""

    fields = ("n",)

    def __init__(self, count: int) -> None:
        self.todo = list(range(count))
        self.open_ids: set[int] = set()
        self.told: list[tuple[str, int]] = []

    def next(self) -> Any:
        if self.todo:
            number = self.todo.pop(0)
            self.open_ids.add(number)
            return Emit((number,), id=number)
        if not self.open_ids:
            raise StopIteration
        return None

    def ack(self, id: Any) -> None:
        self.open_ids.remove(id)
        self.told.append(("ack", id))

    def fail(self, id: Any) -> None:
        self.open_ids.remove(id)
        self.told.append(("fail", id))
        self.todo.append(id)

    def __deepcopy__(self, memo: Any) -> "Told":
        return self


@pytest.mark.parametrize("workers", [1, 2])
def test_a_spout_with_ids_is_told_and_emits_again_itself(workers: int) -> None:
    topo, spout, sink = Topology("ids"), Told(5), Flaky(failures=1)
    topo.bolt("sink", sink, topo.spout("numbers", spout).shuffle())
    run_topology(topo, workers=workers)

    assert sorted(spout.told) == sorted([("fail", n) for n in range(5)] + [("ack", n) for n in range(5)])
    assert sorted(sink.values) == [(n,) for n in range(5)]


def test_a_spout_is_not_asked_for_more_than_may_be_pending() -> None:
    topo, sink = Topology("bounded"), CapturedSink()
    spout = FedSpout([(n,) for n in range(100)], fields=("n",))
    topo.bolt("sink", sink, topo.spout("numbers", spout).shuffle())
    with LocalCluster(topo, worker_of={0: 0, 1: 1}, settings=WorkerSettings(max_pending=10)) as cluster:
        for _ in range(50):
            cluster.workers[0].do_work()
        assert spout.waiting == 90
        cluster.run_to_end()
    assert len(sink.values) == 100


def test_a_spout_with_positions_goes_on_from_the_oldest_that_is_not_done() -> None:
    topo, sink = Topology("positions"), CapturedSink()
    topo.bolt("sink", sink, topo.spout("numbers", Lines(range(1000), fields=("n",))).shuffle())
    sized = WorkerSettings(spout_turn_tuples=10, max_pending=20)
    with LocalCluster(topo, worker_of={0: 0, 1: 1}, settings=sized) as cluster:
        while len(sink.values) < 600:
            cluster.step()
        cluster.begin_epoch()
        cluster.kill(0)
        cluster.restart(0)
        cluster.run_to_end()
    seen = Counter(n for (n,) in sink.values)
    assert set(seen) == set(range(1000))
    assert sum(count > 1 for count in seen.values()) <= 600, "it went on, and did not begin anew"
    assert not any(seen[n] > 1 for n in range(300))


def test_ticks_belong_to_no_tree() -> None:
    class Ticking(KeyedBolt):
        fields = ("n",)
        tick_every_s = 1.0

        def process(self, key: Any, tup: Tuple) -> Any:  # noqa: ARG002
            self.state[key] = 1

        def tick(self) -> Any:
            return (len(self.state),)

    topo, sink = Topology("ticks"), Flaky(failures=1)
    ticking = topo.bolt("ticking", Ticking(), topo.spout("n", Lines(range(3), fields=("n",))).by("n"))
    topo.bolt("sink", sink, ticking.shuffle())
    assert [failure.count for failure in run_topology(topo, drain_after_s=2.5).failures] in ([], [1])


class Deadly(KeyedBolt):
    """Kills its worker on one tuple, each time."""

    fields = ("n",)

    def process(self, key: Any, tup: Tuple) -> Any:  # noqa: ARG002
        if key == 13:
            raise KeyboardInterrupt  # nobody catches this, so it stands for a crash
        return (key,)


def test_a_tuple_that_kills_its_worker_each_time_is_given_up_and_no_other_is() -> None:
    topo, sink, letters = Topology("deadly"), CapturedSink(), CapturedSink()
    numbers = topo.spout("numbers", Lines(range(40), fields=("n",)))
    topo.bolt("sink", sink, topo.bolt("deadly", Deadly(), numbers.by("n")).shuffle())
    topo.bolt("letters", letters, numbers.dead_letters().shuffle())
    deaths = 0
    with LocalCluster(topo, worker_of={0: 0, 1: 1, 2: 0, 3: 0}) as cluster:
        while not cluster.ended:
            try:
                cluster.settle()
                cluster.advance(0.5)
            except KeyboardInterrupt:
                deaths += 1
                cluster.kill(1)
                cluster.restart(1)
    assert {n for (n,) in sink.values} == set(range(40)) - {13}
    assert [values for values, *_ in letters.values] == [[13]]
    assert deaths == 5


def test_a_tuple_that_kills_its_worker_costs_other_spout_tasks_nothing() -> None:
    """They lose tuples by the same deaths, each time, and the oldest first."""
    topo, sink, letters = Topology("deadly"), CapturedSink(), CapturedSink()
    deadly = Deadly()
    guilty = topo.spout("guilty", Lines([13, *range(100, 105)], fields=("n",)))
    innocent = topo.spout("innocent", Lines(range(200, 206), fields=("n",)))
    topo.bolt("sink", sink, topo.bolt("deadly", deadly, innocent.by("n"), guilty.by("n")).shuffle())
    topo.bolt("letters", letters, guilty.dead_letters().shuffle(), innocent.dead_letters().shuffle())
    deaths = 0
    worker_of = {task.id: int(task.component == "deadly") for task in tasks_of(shape_of(topo))}
    with LocalCluster(topo, worker_of=worker_of) as cluster:
        while not cluster.ended:
            try:
                cluster.settle()
                cluster.advance(0.5)
            except KeyboardInterrupt:
                deaths += 1
                cluster.kill(1)
                cluster.restart(1)
    assert {n for (n,) in sink.values} == {*range(100, 105), *range(200, 206)}
    assert [values for values, *_ in letters.values] == [[13]]
    assert deaths == 4


@pytest.mark.parametrize("through", [Passed(), lambda tup: tup])
def test_what_is_lost_again_and_again_by_chance_is_not_given_up(through: Any) -> None:
    """Also what a batch bolt made of it: that a part of its own tree was lost is no failure of what went into it."""
    topo, sink, letters = Topology("unlucky"), CapturedSink(), CapturedSink()
    numbers = topo.spout("numbers", Lines(range(40), fields=("n",)))
    passed = topo.bolt("through", through, numbers.shuffle(), fields=("n",))
    topo.bolt("sink", sink, topo.bolt("unlucky", lambda tup: tup, passed.shuffle(), fields=("n",)).shuffle())
    topo.bolt("letters", letters, numbers.dead_letters().shuffle())
    worker_of = {task.id: int(task.component == "unlucky") for task in tasks_of(shape_of(topo))}
    with LocalCluster(topo, worker_of=worker_of, settings=WorkerSettings(max_tries=2)) as cluster:
        spout = cluster.workers[0].spouts[0]
        for death in (1, 2):
            while spout.outputs.emitted < death * 40:
                cluster.begin_epoch()
                cluster.step()
            for _ in range(20):
                cluster.step(without=1)
            cluster.kill(1)
            cluster.restart(1)
        cluster.run_to_end()
    assert {n for (n,) in sink.values} == set(range(40))
    assert letters.values == []
