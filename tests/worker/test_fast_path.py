"""The fast path: what is worked on where it is read comes out as it does through a queue, and nothing overtakes."""

from __future__ import annotations

import gc
import sys
import threading
import time
import weakref
from collections import Counter
from collections.abc import Iterator
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock._native import FAST_KIND
from penstock.control.slow_calls import call_of
from penstock.errors import RunError
from penstock.flow.delivery import Delivery
from penstock.testing import CapturedSink, FedSpout
from penstock.testing.local_cluster import LocalCluster
from penstock.topology.bolts import Bolt, KeyedBolt
from penstock.topology.topology import Topology
from penstock.topology.tuples import Tuple
from penstock.transport.frames import FrameKind
from penstock.transport.ring import Route
from penstock.worker.bolt_task import BoltTask
from penstock.worker.fast_path import FastPath
from penstock.worker.settings import WorkerSettings
from penstock.worker.wakeup import Wakeup
from penstock.worker.worker import Worker
from tests.worker.random_topologies import Plan, plans
from tests.worker.test_over_rings import run_to_end, workers_over_rings

DELIVERIES: tuple[Delivery, ...] = ("at_most_once", "at_least_once", "exactly_once")
ONE_BY_ONE = WorkerSettings(spout_turn_tuples=1)
"""A frame for each tuple, so that each is of one tree."""


@pytest.fixture
def worked_on(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many frames were worked on where they were read, read by read."""
    frames: list[int] = []
    read = FastPath.read

    def noted(self: FastPath, *how: Any) -> Any:
        records, count = read(self, *how)
        if count:
            frames.append(count)
        return records, count

    monkeypatch.setattr(FastPath, "read", noted)
    return frames


def test_its_kind_of_frames_is_that_of_tuples() -> None:
    assert FAST_KIND == FrameKind.TUPLES


@given(
    plan=plans(),
    seed=st.integers(0, 10_000),
    workers=st.integers(2, 4),
    delivery=st.sampled_from(DELIVERIES),
    one=st.booleans(),
)
def test_random_topologies_give_the_same_whichever_way_frames_take(
    plan: Plan, seed: int, workers: int, delivery: Delivery, one: bool
) -> None:
    settings = ONE_BY_ONE if one else WorkerSettings()
    with LocalCluster(plan.topology(), workers=workers, seed=seed, delivery=delivery, settings=settings) as cluster:
        cluster.run_to_end()
        assert {name: Counter(rows) for name, rows in captured(cluster).items()} == {
            name: rows for name, rows in plan.expected().items() if rows
        }


def captured(cluster: LocalCluster) -> dict[str, list[Any]]:
    sinks = {
        bolt.component: bolt.logic
        for worker in cluster.workers.values()
        for bolt in worker.bolts
        if isinstance(bolt.logic, CapturedSink)
    }
    return {name: sink.values for name, sink in sinks.items() if sink.values}


class Numbered(KeyedBolt):
    """Says how many came for a key before; and fails now and then."""

    fields = ("key", "number", "before")

    def process(self, key: Any, tup: Tuple) -> Iterator[tuple[Any, ...]]:
        before = self.state[key] = self.state.get(key, -1) + 1
        if tup.number % 10 == 7:
            message = f"not {tup.number}"
            raise ValueError(message)
        yield key, tup.number, before


@pytest.mark.parametrize("delivery", DELIVERIES)
@pytest.mark.parametrize("seed", range(10))
def test_keys_keep_their_order_and_failures_are_counted(delivery: Delivery, seed: int, worked_on: list[int]) -> None:
    topo, sink = Topology("ordered"), CapturedSink()
    numbers = topo.spout("numbers", FedSpout([(n % 3, n) for n in range(300)], fields=("key", "number")))
    passed = topo.bolt("pass", lambda tup: (tup.key, tup.number), numbers.shuffle(), fields=("key", "number"))
    counted = topo.bolt("count", Numbered(), passed.by("key"), tasks=2)
    topo.bolt("sink", sink, counted.to_one())
    once = WorkerSettings(spout_turn_tuples=1, max_tries=1)
    with LocalCluster(topo, workers=4, seed=seed, delivery=delivery, settings=once) as cluster:
        cluster.run_to_end()
        result = cluster.result()
    for key in range(3):
        rows = [row for row in sink.values if row[0] == key]
        assert [row[1] for row in rows] == [n for n in range(300) if n % 3 == key and n % 10 != 7]
        assert [row[2] for row in rows] == sorted(row[2] for row in rows)
    assert sum(one.count for one in result.failures if one.component == "count") == 30
    assert worked_on


@pytest.mark.parametrize("delivery", DELIVERIES)
def test_a_call_that_gives_more_than_a_piece_goes_on_in_the_turns_of_the_worker(
    delivery: Delivery, monkeypatch: pytest.MonkeyPatch
) -> None:
    gone_on_with: list[str] = []
    go_on_with = BoltTask.go_on_with

    def noted(self: BoltTask, *call: Any) -> None:
        gone_on_with.append(self.component)
        go_on_with(self, *call)

    monkeypatch.setattr(BoltTask, "go_on_with", noted)
    settings = WorkerSettings(spout_turn_tuples=1, high_water_tuples=64)
    for seed in range(5):
        topo, _, sink = chain(Many(), 3)
        with LocalCluster(topo, workers=3, seed=seed, delivery=delivery, settings=settings) as cluster:
            cluster.run_to_end()
        assert sink.values == [(n * 1000 + k,) for n in range(3) for k in range(1000)]
    assert {*gone_on_with} == {"bolt"}


class Many(Bolt):
    fields = ("n",)

    def process(self, tup: Tuple) -> Iterator[tuple[int]]:
        for k in range(1000):
            yield (tup.n * 1000 + k,)


# ---- over real rings

CHAIN = {0: 0, 1: 1, 2: 2}
"""The spout, the bolt and the sink: a worker each."""


def chain(bolt: Any, numbers: int) -> tuple[Topology, FedSpout, CapturedSink]:
    topo, spout, sink = Topology("chain"), FedSpout([(n,) for n in range(numbers)], fields=("n",)), CapturedSink()
    # Not helped: what a helper does may overtake.
    passed = topo.bolt("bolt", bolt, topo.spout("numbers", spout).shuffle(), fields=("n",), helping=False)
    topo.bolt("sink", sink, passed.shuffle())
    return topo, spout, sink


@pytest.mark.parametrize("delivery", ["at_most_once", "at_least_once"])
def test_tuples_pass_three_workers_without_a_queue(delivery: Delivery, worked_on: list[int]) -> None:
    topo, _, sink = chain(lambda tup: (tup.n + 1,), 200)
    settings = WorkerSettings(spout_turn_tuples=1, delivery=delivery)
    with workers_over_rings(topo, CHAIN, settings=settings) as workers:
        run_to_end(workers)
        bolts = [bolt for worker in workers for bolt in worker.bolts]
        assert [bolt.processed for bolt in bolts] == [200, 200]
        assert all(bolt.latency.count == 200 and bolt.busy_ns > 0 and bolt.taken_tuples == 200 for bolt in bolts)
    assert sink.values == [(n + 1,) for n in range(200)]
    assert sum(worked_on) >= 200, "most frames find their task free"


def test_an_output_that_one_edge_refuses_is_on_its_way_on_the_others(worked_on: list[int]) -> None:
    """It counts as refused, and not as emitted; what was put before is sent all the same, and at once."""
    topo, taken = Topology("refused"), CapturedSink()
    numbers = topo.spout("numbers", FedSpout([(n,) for n in range(5)], fields=("number",)))
    passed = topo.bolt("pass", lambda tup: (tup.number,), numbers.shuffle(), fields=("number",))
    topo.bolt("taken", taken, passed.shuffle())
    topo.bolt("refused", CapturedSink(), passed.custom(nowhere), tasks=2)
    with workers_over_rings(topo, {0: 0, 1: 1, 2: 2, 3: 3, 4: 3}, settings=ONE_BY_ONE) as (first, second, third, _):
        first.do_work()
        assert second._take(0.0) == third._take(0.0) == 1, "without a turn of a worker"
        assert taken.values == [(0,)]
        assert second.bolts[0].failed == 1
    assert worked_on == [1, 1]


def nowhere(values: tuple[Any, ...], count: int) -> int:
    message = f"{values} of {count}"
    raise ValueError(message)


def test_who_is_behind_lets_the_rest_wait_in_the_queue() -> None:
    """Else nobody would see that it is too slow, and nobody would help."""
    topo, _, sink = chain(slowly, 50)
    with workers_over_rings(topo, CHAIN, settings=ONE_BY_ONE) as (first, second, third):
        for _ in range(50):
            first.do_work()
        assert second._take(0.0) > 1
        assert second.bolts[0].queue.tuples > 40
        run_to_end([first, second, third])
    assert sink.values == [(n,) for n in range(50)]


def slowly(tup: Tuple) -> Any:
    time.sleep(0.001)  # more than it may be behind
    return (tup.n,)


@pytest.mark.parametrize("tuple_bytes", [1, 400])
def test_a_frame_of_more_than_is_done_at_a_time_is_cut_in_the_turn(tuple_bytes: int) -> None:
    """However short each call is, all of a frame may take too long for whoever waits for the worker meanwhile."""
    called: list[int] = []

    def note(tup: Tuple) -> None:
        called.append(tup.n)

    topo, spout = Topology("frame"), FedSpout([(n, "x" * tuple_bytes) for n in range(300)], fields=("n", "text"))
    topo.bolt("note", note, topo.spout("numbers", spout).shuffle(), fields=())
    with workers_over_rings(topo, {0: 0, 1: 1}, settings=WorkerSettings(spout_turn_tuples=300)) as (first, second):
        first.do_work()
        second._take(0.0)
        assert not called, "of a bolt whose calls nobody has measured, 16 are done at a time"
        assert second.bolts[0].queue.tuples
        run_to_end([first, second])
    assert called == [*range(300)]


@pytest.mark.parametrize("runs", [[], [(5, 2)], [(5, 2**64 - 1)], [(5, 1), (6, 0)], [(5, -1)]], ids=str)
@pytest.mark.parametrize("delivery", ["at_most_once", "at_least_once"])
def test_a_frame_whose_trees_are_wrong_is_refused_as_ever(delivery: Delivery, runs: list[tuple[int, int]]) -> None:
    topo, _, sink = chain(lambda tup: (tup.n,), 0)
    with workers_over_rings(topo, CHAIN, settings=WorkerSettings(delivery=delivery)) as (first, second, _):
        payload = msgspec.msgpack.encode((1, 1, 7, runs, [(1,)]))
        route = Route(target=1, source=0, stream=0, assignment=1, flags=FrameKind.TUPLES)
        first._carriers[1].send(route, payload, 1)
        second.do_work()
        is_right = not runs and delivery == "at_most_once"
        assert second.intake.unreadable == (not is_right)
        assert second.bolts[0].processed == is_right
        assert second.bolts[0].failed == (not is_right)
    assert not sink.values


def test_credit_goes_back_before_its_sender_waits_for_it() -> None:
    """Also while nothing else would give the worker a turn."""
    topo, _, sink = chain(lambda tup: (tup.n,), 2000)
    small = WorkerSettings(spout_turn_tuples=1, credit_window_bytes=2000)
    with workers_over_rings(topo, CHAIN, settings=small) as workers:
        for _ in range(100_000):
            workers[0].do_work()
            workers[1].turn(0.0)
            workers[2].turn(0.0)
            if workers[0].spouts[0].ended:
                break
        run_to_end(workers)
    assert len(sink.values) == 2000


def test_the_bell_is_heard_while_frames_keep_coming() -> None:
    topo, _, _ = chain(lambda tup: (tup.n,), 10)
    with workers_over_rings(topo, CHAIN, settings=ONE_BY_ONE) as (first, second, _):
        second._inbox.ring_bell(Wakeup.SPOUT)
        first.do_work()
        second.idle(1e6)  # would sleep for ever
        assert second._inbox.take_bell() == Wakeup.SPOUT  # type: ignore[attr-defined]
        assert second.bolts[0].processed or second.bolts[0].queue.tuples, "and the frame was read all the same"


def test_what_ends_the_run_leaves_the_frame_behind() -> None:
    topo, _, _ = chain(ends_the_run, 2)
    with workers_over_rings(topo, CHAIN, settings=ONE_BY_ONE) as (first, second, _):
        first.do_work()
        with pytest.raises(RunError, match="enough"):
            second.do_work()
        first.do_work()
        with pytest.raises(RunError, match="enough of 1"):  # of the next one: the first is not given out again
            second.do_work()


def ends_the_run(tup: Tuple) -> Any:
    message = f"enough of {tup.n}"
    raise RunError(message)


def test_a_slow_call_is_named_with_its_bolt() -> None:
    inside, seen = threading.Event(), threading.Event()

    def stuck(tup: Tuple) -> Any:
        inside.set()
        seen.wait(60)
        return (tup.n,)

    topo, _, _ = chain(stuck, 1)
    with workers_over_rings(topo, CHAIN) as (first, second, _):
        first.do_work()
        told: list[Any] = []
        watcher = threading.Thread(target=lambda: told.append(look(inside, seen)))
        watcher.start()
        second.do_work()
        watcher.join()
    assert (told[0].component, told[0].task) == ("bolt", 1)


def look(inside: threading.Event, seen: threading.Event) -> Any:
    assert inside.wait(60)
    try:
        return call_of(sys._current_frames().get(threading.main_thread().ident or 0))
    finally:
        seen.set()


def test_it_goes_with_its_worker() -> None:
    topo, _, _ = chain(lambda tup: (tup.n,), 10)

    def made() -> weakref.ref[Worker]:
        with workers_over_rings(topo, CHAIN, settings=ONE_BY_ONE) as workers:
            run_to_end(workers)
            return weakref.ref(workers[1])

    worker = made()
    gc.collect()
    assert worker() is None
