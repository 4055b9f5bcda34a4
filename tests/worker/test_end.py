"""The end: a bounded topology ends by itself, exactly once; a drained one too."""

from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.connectors.rate import Rate
from penstock.errors import RunError
from penstock.testing import CapturedSink, FedSpout, LocalCluster, run_topology
from penstock.topology.bolts import Bolt
from penstock.topology.context import TaskContext
from penstock.topology.spouts import Spout
from penstock.topology.topology import Topology
from penstock.topology.tuples import Tuple
from penstock.worker.settings import WorkerSettings


class Finishing(Bolt):
    """Says when it is asked to finish, and what it had seen by then."""

    fields = ("task", "seen")

    def open(self, context: TaskContext) -> None:
        self.task, self.seen = context.task_id, 0

    def process(self, tup: Tuple) -> None:  # noqa: ARG002
        self.seen += 1

    def finish(self) -> tuple[int, int]:
        return self.task, self.seen


@given(st.integers(1, 3), st.integers(1, 3), st.integers(1, 4), st.integers(0, 100), st.integers(0, 999))
def test_every_task_finishes_once_and_after_all_its_input(
    spout_tasks: int, bolt_tasks: int, workers: int, tuples: int, seed: int
) -> None:
    topo, sink = Topology("finishing"), CapturedSink()
    first = topo.spout("first", FedSpout([(n,) for n in range(tuples)], fields=("n",)), tasks=spout_tasks)
    second = topo.spout("second", FedSpout([(n,) for n in range(tuples)], fields=("n",)), tasks=spout_tasks)
    finishing = topo.bolt("finishing", Finishing(), first.shuffle(), second.broadcast(), tasks=bolt_tasks)
    topo.bolt("sink", sink, finishing.shuffle())
    run_topology(topo, workers=workers, seed=seed, settings=WorkerSettings(credit_window_bytes=50, turn_tuples=3))

    assert len(sink.values) == len({task for task, _ in sink.values}) == bolt_tasks
    assert sum(seen for _, seen in sink.values) == tuples + tuples * bolt_tasks


def test_what_finish_emits_is_finished_downstream_before_the_end() -> None:
    topo, sink = Topology("cascade"), CapturedSink()
    numbers = topo.spout("numbers", FedSpout([(n,) for n in range(10)], fields=("n",)))
    first = topo.bolt("first", Finishing(), numbers.shuffle(), tasks=3)
    second = topo.bolt("second", Finishing(), first.shuffle(), tasks=2)
    topo.bolt("sink", sink, second.shuffle())
    run_topology(topo, workers=3)

    assert sum(seen for _, seen in sink.values) == 3


def test_an_empty_topology_ends_at_once() -> None:
    topo, sink = Topology("empty"), CapturedSink()
    topo.bolt("sink", sink, topo.spout("nothing", FedSpout([], fields=("n",))).shuffle())
    result = run_topology(topo, workers=2)

    assert sink.values == []
    assert result.counts["nothing"].emitted == 0


def test_a_topology_without_bolts_ends() -> None:
    topo = Topology("lonely")
    topo.spout("numbers", FedSpout([(1,)], fields=("n",)))
    assert run_topology(topo).counts["numbers"].emitted == 1


def test_a_drained_topology_processes_what_is_inside_and_ends() -> None:
    topo, sink = Topology("drained"), CapturedSink()
    rate = topo.spout("rate", Rate(1000), tasks=2)
    passed = topo.bolt("pass", lambda tup: (tup.seq,), rate.shuffle(), tasks=2, fields=("seq",))
    topo.bolt("sink", sink, passed.shuffle())
    result = run_topology(topo, workers=3, drain_after_s=2.0)

    assert sorted(seq for (seq,) in sink.values) == list(range(2001))
    assert result.counts["rate"].emitted == 2001


def test_a_spout_is_not_asked_again_after_a_drain() -> None:
    spout, sink = FedSpout(fields=("n",)), CapturedSink()
    topo = Topology("drained")
    topo.bolt("sink", sink, topo.spout("numbers", spout).shuffle())
    with LocalCluster(topo) as cluster:
        spout.feed((1,))
        cluster.settle()
        spout.feed((2,))
        cluster.drain()
        cluster.run_to_end()

    assert sink.values == [(1,)]
    assert spout.waiting == 1


def test_a_drain_waits_for_a_spout_that_is_held_up() -> None:
    """The end goes behind what was emitted, even where there is no credit left."""
    topo, sink = Topology("held-up"), CapturedSink()
    numbers = topo.spout("numbers", FedSpout([(n,) for n in range(100)], fields=("n",)))
    topo.bolt("sink", sink, numbers.shuffle())
    sized = WorkerSettings(credit_window_bytes=1, inbox_bytes=1, spout_turn_tuples=1)
    with LocalCluster(topo, settings=sized, worker_of={0: 0, 1: 1}) as cluster:
        for _ in range(5):
            cluster.workers[0].do_work()
        cluster.drain()
        cluster.workers[0].do_work()
        assert not cluster.workers[0].spouts[0].ended
        cluster.run_to_end()

    assert sink.values == [(0,)]


class Opened(Spout):
    """Notes in what order it is called."""

    fields = ("n",)

    def __init__(self, calls: list[str]) -> None:
        self.calls = calls

    def open(self, context: TaskContext) -> None:
        self.calls.append(f"open {context.component}")

    def next(self) -> Any:
        self.calls.append("next")
        raise StopIteration

    def close(self) -> None:
        self.calls.append("close")

    def __deepcopy__(self, memo: dict[int, Any]) -> "Opened":
        return type(self)(self.calls)


def test_a_spout_is_opened_asked_and_closed_once() -> None:
    calls: list[str] = []
    topo = Topology("life")
    topo.spout("numbers", Opened(calls))
    run_topology(topo)
    assert calls == ["open numbers", "next", "close"]


def test_a_generator_spout_runs_its_way_out_when_it_is_closed_early() -> None:
    way_out: list[str] = []

    def numbers() -> Iterator[tuple[int] | None]:
        try:
            yield (1,)
            while True:
                yield None  # nothing just now
        finally:
            way_out.append("closed")

    topo = Topology("generator")
    topo.spout("numbers", numbers, fields=("n",))
    run_topology(topo, drain_after_s=0.01)
    assert way_out == ["closed"]


def test_what_fails_to_open_is_raised_and_the_others_are_closed() -> None:
    calls: list[str] = []

    class Failing(Bolt):
        def open(self, context: TaskContext) -> None:
            message = f"no connection for {context.component}"
            raise ConnectionError(message)

        def process(self, tup: Tuple) -> None: ...

    topo = Topology("failing")
    numbers = topo.spout("numbers", Opened(calls))
    topo.bolt("sink", Failing(), numbers.shuffle())
    with pytest.raises(ConnectionError, match="no connection for sink"):
        LocalCluster(topo, worker_of={0: 0, 1: 1})
    assert calls == ["open numbers", "close"]


def test_what_never_ends_is_named() -> None:
    topo = Topology("endless")
    topo.bolt("sink", CapturedSink(), topo.spout("numbers", FedSpout(fields=("n",))).shuffle())
    with LocalCluster(topo) as cluster, pytest.raises(RunError, match=r"nothing more can happen; .*numbers\[task 0"):
        cluster.run_to_end()
