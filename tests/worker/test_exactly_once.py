"""Exactly once: whatever dies, state and results are those of a run in which nothing died."""

import itertools
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.connectors.collect import Collect
from penstock.connectors.lines import Lines
from penstock.errors import RunError
from penstock.testing import LocalCluster
from penstock.topology.bolts import BatchBolt, KeyedBolt, StatefulBolt
from penstock.topology.topology import Topology
from penstock.topology.transactional import TransactionalSink
from penstock.topology.tuples import Tuple
from penstock.worker.settings import WorkerSettings
from tests.trickle import Trickle
from tests.tries import tried
from tests.worker.deaths import endure_after_epochs

COUNT = 60
KEYS = 7


class Numbered(KeyedBolt):
    """Numbers the tuples of each key."""

    fields = ("key", "number")

    def process(self, key: Any, tup: Tuple) -> Iterator[Any]:  # noqa: ARG002
        number = self.state[key] = self.state.get(key, 0) + 1
        yield key, number


class Total(StatefulBolt):
    """Adds up, and tells the sum at the end."""

    fields = ("total",)
    total = 0

    def process(self, tup: Tuple) -> None:
        self.total += tup.number

    def finish(self) -> Any:
        return (self.total,)

    def snapshot(self) -> Any:
        return self.total

    def restore(self, state: Any) -> None:
        self.total = state


class Passed(BatchBolt):
    fields = ("n",)

    def process_batch(self, batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
        yield batch


class Shelf(TransactionalSink):
    """Puts what it was given on a shelf that everybody sees, when that is committed.

    It knows again what it has committed by the token alone: a row that comes with two of them is there twice.
    """

    shelf: list[Any] = []  # noqa: RUF012 # everybody's
    committed: set[int] = set()  # noqa: RUF012 # everybody's
    numbers = itertools.count()

    def open(self, context: Any) -> None:  # noqa: ARG002
        self.waiting: list[Any] = []

    def process(self, tup: Tuple) -> None:
        self.waiting.append(tuple(tup))

    def prepare(self) -> Any:
        waiting, self.waiting = self.waiting, []
        return (next(self.numbers), waiting) if waiting else None

    def commit(self, token: Any) -> None:
        number, rows = token
        if number not in self.committed:
            self.committed.add(number)
            self.shelf.extend(rows)


def topology(tasks: int) -> Topology:
    topo = Topology("exact")
    lines = topo.spout("lines", Trickle(range(COUNT), field="n"), tasks=2)
    keyed = topo.bolt("keyed", lambda tup: (tup.n % KEYS,), lines.shuffle(), tasks=tasks, fields=("key",))
    numbered = topo.bolt("numbered", Numbered(), keyed.by("key"), tasks=tasks)
    total = topo.bolt("total", Total(), numbered.to_one())
    batches = topo.bolt("batches", Passed(), lines.shuffle(), tasks=tasks)
    topo.bolt("rows", Collect(), numbered.shuffle())
    topo.bolt("sum", Collect(), total.shuffle())
    topo.bolt("shelf", Shelf(), batches.shuffle())
    return topo


def wanted() -> tuple[list[Any], int]:
    counts = Counter(n % KEYS for n in range(COUNT))
    rows = sorted((key, number) for key, count in counts.items() for number in range(1, count + 1))
    return rows, sum(number for _, number in rows)


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


@tried(20)
@given(
    st.integers(1, 3),
    st.lists(st.tuples(st.integers(0, 80), st.integers(0, 2), st.booleans(), st.integers(0, 150)), max_size=6),
    st.integers(0, 2**32),
    sizes,
)
def test_whatever_dies_the_results_are_those_of_a_run_in_which_nothing_died(
    tasks: int, deaths: list[tuple[int, int, bool, int]], seed: int, sized: WorkerSettings
) -> None:
    Shelf.shelf.clear()
    with LocalCluster(topology(tasks), workers=3, seed=seed, settings=sized, delivery="exactly_once") as cluster:
        endure_after_epochs(cluster, deaths)
        cluster.run_to_end()
        result = cluster.result()

    rows, total = wanted()
    assert sorted(result.collected("rows")) == rows
    assert result.collected("sum") == [(total,)]
    assert sorted(Shelf.shelf) == [(n,) for n in range(COUNT)]
    assert not result.failures


@given(st.integers(0, 2**32), sizes)
def test_markers_all_the_time_and_queues_that_are_always_full_do_not_stop_it(seed: int, sized: WorkerSettings) -> None:
    Shelf.shelf.clear()
    with LocalCluster(topology(2), workers=3, seed=seed, settings=sized, delivery="exactly_once") as cluster:
        for step in range(400):
            cluster.step()
            if step % 3 == 0 and not cluster.checkpoint_under_way:
                cluster.begin_epoch()
        cluster.run_to_end()
        result = cluster.result()
    assert sorted(result.collected("rows")) == wanted()[0]


def test_a_full_disk_costs_epochs_and_nothing_else() -> None:
    Shelf.shelf.clear()
    with LocalCluster(
        topology(2), workers=2, delivery="exactly_once", settings=WorkerSettings(spout_turn_tuples=2)
    ) as cluster:
        for _ in range(6):
            cluster.step()
        cluster.begin_epoch()
        for _ in range(4):
            cluster.step()
        cluster.parts.is_full = True
        for _ in range(10):
            cluster.step()
            cluster.begin_epoch()
        cluster.kill(1)
        cluster.restart(1)
        cluster.parts.is_full = False
        cluster.run_to_end()
        result = cluster.result()
    rows, total = wanted()
    assert sorted(result.collected("rows")) == rows
    assert result.collected("sum") == [(total,)]


def test_state_that_cannot_be_saved_ends_the_run_by_name() -> None:
    class Odd(KeyedBolt):
        fields = ("n",)

        def process(self, key: Any, tup: Tuple) -> None:  # noqa: ARG002
            self.state[key] = object()

    topo = Topology("odd")
    topo.bolt("odd", Odd(), topo.spout("lines", Lines(range(3), fields=("n",))).by("n"))
    with (
        LocalCluster(topo, delivery="exactly_once") as cluster,
        pytest.raises(RunError, match=r"'odd' \(task 1\) could not be saved: TypeError: keyed state, key 0"),
    ):
        cluster.run_to_end()


def test_a_marker_that_comes_before_the_word_of_its_epoch_counts() -> None:
    """A bolt that missed it would be saved later, as it is at its end: state that does not fit the positions."""
    topo = Topology("early")
    lines = topo.spout("lines", Trickle(range(COUNT), field="n"))
    numbered = topo.bolt("numbered", Numbered(), lines.by("n"))
    topo.bolt("rows", Collect(), numbered.shuffle())
    sized = WorkerSettings(spout_turn_tuples=1, turn_tuples=4)
    apart = {0: 0, 1: 1, 2: 1}  # the spout, and the others
    with LocalCluster(topo, settings=sized, delivery="exactly_once", worker_of=apart) as cluster:
        cluster.step()
        epoch = cluster.begin_epoch()  # worker 1 hears of it some turns after worker 0, and has the marker by then
        while cluster.committed_epoch < epoch:
            cluster.step()
        assert cluster.workers[0].spouts[0].ended is False, "the bolts were saved when nothing came any more"
        cluster.kill(1)
        cluster.restart(1)
        cluster.run_to_end()
        assert sorted(cluster.result().collected("rows")) == [(n, 1) for n in range(COUNT)]


def test_a_sink_that_dies_before_it_has_committed_the_last_epoch_commits_it_when_it_is_back() -> None:
    Shelf.shelf.clear()
    topo = Topology("last")
    topo.bolt("shelf", Shelf(), topo.spout("lines", Trickle(range(COUNT), field="n")).shuffle())
    with LocalCluster(topo, delivery="exactly_once", worker_of={0: 0, 1: 1}) as cluster:
        while not all(worker.ended for worker in cluster.workers.values()):
            cluster.step()
        epoch = cluster.begin_epoch()
        while cluster.committed_epoch < epoch:
            cluster.step()
        assert Shelf.shelf == [], "it has not heard yet that the epoch is committed"
        assert not cluster.ended
        cluster.kill(1)
        cluster.restart(1)
        cluster.run_to_end()
    assert sorted(Shelf.shelf) == [(n,) for n in range(COUNT)]


def test_a_key_that_cannot_be_hashed_fails_its_tuple_and_no_other() -> None:
    topo = Topology("sets")
    lines = topo.spout("lines", Lines([{1, 2}, 3, 4], fields=("n",)))
    topo.bolt("rows", Collect(), topo.bolt("numbered", Numbered(), lines.by("n")).shuffle())
    with LocalCluster(topo, delivery="exactly_once") as cluster:
        cluster.run_to_end()
        result = cluster.result()
    assert sorted(result.collected("rows")) == [(3, 1), (4, 1)]
    [failure] = result.failures
    assert (failure.component, failure.count) == ("numbered", 1)
    assert failure.kind.startswith("TypeError")


class NeverEmpty(Shelf):
    """Gives a token also if nothing came."""

    def prepare(self) -> Any:
        return super().prepare() or []


def test_a_sink_that_always_has_a_token_does_not_keep_a_run_from_its_end() -> None:
    Shelf.shelf.clear()
    topo = Topology("tokens")
    topo.bolt("shelf", NeverEmpty(), topo.spout("lines", Trickle(range(COUNT), field="n")).shuffle())
    with LocalCluster(topo, delivery="exactly_once") as cluster:
        cluster.run_to_end(most_s=10.0)
    assert sorted(Shelf.shelf) == [(n,) for n in range(COUNT)]
