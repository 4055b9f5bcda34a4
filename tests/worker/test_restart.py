"""A worker that is lost and comes back: the run goes on and ends, nothing comes twice, and losses are counted."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.connectors.lines import Lines
from penstock.errors import RunError
from penstock.testing import CapturedSink, FedSpout, LocalCluster
from penstock.testing.memory import MemoryInbox, MemoryWay
from penstock.topology.topology import Topology
from penstock.worker.company import Colleague
from penstock.worker.settings import WorkerSettings
from tests.worker.deaths import endure

NUMBERS = [(number,) for number in range(200)]


def chain(spout: FedSpout, sink: CapturedSink, tasks: int = 1) -> Topology:
    topo = Topology("chain")
    stream = topo.spout("numbers", spout)
    for name in ("a", "b"):
        stream = topo.bolt(name, lambda tup: tup, stream.shuffle(), tasks=tasks, fields=("n",))
    topo.bolt("sink", sink, stream.shuffle())
    return topo


def test_tuples_for_a_worker_that_is_gone_are_lost_and_counted() -> None:
    spout, sink = FedSpout(fields=("n",)), CapturedSink()
    with LocalCluster(chain(spout, sink), delivery="at_most_once", worker_of={0: 0, 1: 0, 2: 1, 3: 2}) as cluster:
        spout.feed((1,), (2,))
        cluster.settle()
        cluster.kill(1)
        spout.feed((3,), (4,), (5,))
        cluster.settle()
        assert cluster.result().lost == 3
        cluster.restart(1)
        cluster.settle()  # until the others know of it
        spout.feed((6,))
        spout.end()
        cluster.run_to_end()

    assert sink.values == [(1,), (2,), (6,)]
    assert cluster.result().lost == 3


def test_a_run_does_not_end_without_the_worker_that_was_lost() -> None:
    spout, sink = FedSpout(NUMBERS, fields=("n",)), CapturedSink()
    with LocalCluster(chain(spout, sink), delivery="at_most_once", worker_of={0: 0, 1: 0, 2: 1, 3: 0}) as cluster:
        cluster.kill(1)
        with pytest.raises(RunError, match="does not end"):
            cluster.run_to_end()
        cluster.restart(1)
        cluster.run_to_end()


def test_a_worker_that_comes_back_hears_of_ends_that_came_before() -> None:
    spout, sink = FedSpout(fields=("n",)), CapturedSink()
    with LocalCluster(chain(spout, sink), delivery="at_most_once", worker_of={0: 0, 1: 0, 2: 1, 3: 2}) as cluster:
        spout.end()
        cluster.workers[0].do_work()
        cluster.workers[0].do_work()
        assert cluster.workers[0].ended
        cluster.kill(1)
        cluster.restart(1)
        cluster.run_to_end()
        assert cluster.ended


def test_a_sender_that_was_out_of_credit_goes_on_with_the_successor() -> None:
    spout, sink = FedSpout(NUMBERS, fields=("n",)), CapturedSink()
    sized = WorkerSettings(credit_window_bytes=30, inbox_bytes=1000, spout_turn_tuples=1, turn_tuples=1)
    with LocalCluster(
        chain(spout, sink), delivery="at_most_once", worker_of={0: 0, 1: 0, 2: 1, 3: 0}, settings=sized
    ) as cluster:
        for _ in range(50):
            cluster.workers[0].do_work()
        cluster.kill(1)
        cluster.restart(1)
        cluster.run_to_end()

    assert 100 < len(sink.values) < len(NUMBERS)
    assert sink.values == sorted(set(sink.values))


@given(
    st.integers(1, 3),
    st.lists(st.tuples(st.integers(0, 60), st.integers(0, 2), st.integers(0, 30)), max_size=4),
    st.integers(0, 2**32),
    st.builds(
        WorkerSettings,
        credit_window_bytes=st.integers(1, 200),
        inbox_bytes=st.integers(1, 200),
        turn_tuples=st.integers(1, 5),
        spout_turn_tuples=st.integers(1, 5),
    ),
)
def test_whatever_dies_when_the_run_ends_and_nothing_comes_twice(
    tasks: int, deaths: list[tuple[int, int, int]], seed: int, sized: WorkerSettings
) -> None:
    spout, sink = FedSpout(NUMBERS, fields=("n",)), CapturedSink()
    with LocalCluster(
        chain(spout, sink, tasks), delivery="at_most_once", workers=3, seed=seed, settings=sized
    ) as cluster:
        endure(cluster, deaths)
        cluster.run_to_end()

    counts = Counter(sink.values)
    assert all(count == 1 for count in counts.values())
    assert counts.keys() <= set(NUMBERS)
    if not deaths:
        assert len(counts) == len(NUMBERS)


def test_a_worker_without_tasks_may_be_restarted_too() -> None:
    spout, sink = FedSpout(fields=("n",)), CapturedSink()
    with LocalCluster(chain(spout, sink), delivery="at_most_once", worker_of={0: 0, 1: 0, 2: 0, 3: 0}) as cluster:
        way = MemoryWay(MemoryInbox(capacity_bytes=100))
        cluster.workers[0].meet(Colleague(7, "here"), way)
        spout.feed((1,))
        spout.end()
        cluster.run_to_end()
    assert sink.values == [(1,)]


def test_at_most_once_a_spout_goes_on_from_where_it_was_last_heard_of() -> None:
    topo, sink = Topology("resumed"), CapturedSink()
    topo.bolt("sink", sink, topo.spout("numbers", Lines(range(300), fields=("n",))).shuffle())
    with LocalCluster(
        topo, delivery="at_most_once", worker_of={0: 0, 1: 1}, settings=WorkerSettings(spout_turn_tuples=1)
    ) as cluster:
        for _ in range(4):
            cluster.step()
        cluster.begin_epoch()  # which is when workers say where their spouts are
        before = len(sink.values)
        cluster.kill(0)
        cluster.restart(0)
        cluster.run_to_end()
    assert 0 < before < 300
    assert len(sink.values) == len(set(sink.values)) <= 300
    assert sink.values[-1] == (299,)
