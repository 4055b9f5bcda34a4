"""The in-process cluster: steps, settles, ends, and says what is wrong."""

import threading
from collections.abc import Iterator
from typing import Any

import pytest

from penstock.connectors.collect import Collect
from penstock.errors import RunError, TopologyError
from penstock.testing import CapturedSink, FedSpout, LocalCluster, gives_turns, run_topology
from penstock.topology.bolts import Bolt
from penstock.topology.context import TaskContext
from penstock.topology.topology import Topology
from penstock.topology.tuples import Tuple


def passing(spout: FedSpout, sink: Bolt, *, tasks: int = 1) -> Topology:
    topo = Topology("passing")
    passed = topo.bolt("pass", lambda tup: tup, topo.spout("words", spout).shuffle(), tasks=tasks, fields=("word",))
    topo.bolt("sink", sink, passed.shuffle())
    return topo


def test_a_step_is_one_turn_of_one_worker() -> None:
    spout, sink = FedSpout(fields=("word",)), CapturedSink()
    with LocalCluster(passing(spout, sink), worker_of={0: 0, 1: 1, 2: 2}) as cluster:
        assert not cluster.step()
        spout.feed(("blue",))
        # Round-robin: the workers 1 and 2 have nothing yet, then the tuple goes from one to the next.
        assert [cluster.step() for _ in range(5)] == [False, False, True, True, True]
        assert sink.values == [("blue",)]


def test_feeding_and_settling_go_on_until_the_end() -> None:
    spout, sink = FedSpout(fields=("word",)), CapturedSink()
    with LocalCluster(passing(spout, sink, tasks=3), workers=2, seed=1) as cluster:
        for number in range(5):
            spout.feed((f"word {number}",))
            cluster.settle()
            assert sink.values[-1] == (f"word {number}",)
            assert spout.waiting == 0
        assert not cluster.ended
        spout.end()
        cluster.settle()
        assert cluster.ended


def test_an_ended_spout_cannot_be_fed() -> None:
    spout = FedSpout([("blue",)], fields=("word",))
    with pytest.raises(ValueError, match="has ended"):
        spout.feed(("red",))


def test_a_sink_can_be_emptied_between_steps() -> None:
    spout, sink = FedSpout(fields=("word",)), CapturedSink()
    with LocalCluster(passing(spout, sink)) as cluster:
        spout.feed(("blue",))
        cluster.settle()
        sink.clear()
        spout.feed(("red",))
        cluster.settle()
    assert sink.values == [("red",)]


def test_results_are_had_at_any_time_and_by_name() -> None:
    spout = FedSpout(fields=("word",))
    with LocalCluster(passing(spout, Collect()), workers=2) as cluster:
        spout.feed(("blue",), ("red",))
        cluster.settle()
        assert cluster.result().collected("sink") == [("blue",), ("red",)]
        spout.feed(("green",))
        cluster.settle()
        result = cluster.result()
        assert result.collected("sink") == [("blue",), ("red",), ("green",)]
        assert result.counts["pass"].processed == result.counts["pass"].emitted == 3
        with pytest.raises(ValueError, match=r"Collect sink of the topology \('sink'\), got 'sync'"):
            result.collected("sync")
        with pytest.raises(ValueError, match=r"CapturedSink sink of the topology \(none\)"):
            result.captured("sink")


def test_what_cannot_travel_may_run_here() -> None:
    lock = threading.Lock()

    def locked(tup: Tuple) -> Any:
        with lock:
            return tup

    topo, sink = Topology("locked"), CapturedSink()
    words = topo.spout("words", FedSpout([("blue",)], fields=("word",)))
    topo.bolt("sink", sink, topo.bolt("locked", locked, words.shuffle(), fields=("word",)).shuffle())
    run_topology(topo)
    assert sink.values == [("blue",)]


def test_a_topology_that_cannot_run_is_refused_before_the_start() -> None:
    topo = Topology("wrong")
    topo.bolt("sink", CapturedSink(), topo.spout("words", FedSpout([], fields=("word",))).by("wrod"))
    with pytest.raises(TopologyError, match="did you mean 'word'"):
        run_topology(topo)


def test_a_spout_that_always_has_more_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gives_turns, "MOST_TURNS", 100)

    def endless() -> Iterator[tuple[int]]:
        while True:
            yield (1,)

    topo = Topology("endless")
    topo.spout("ones", endless, fields=("n",))
    with LocalCluster(topo) as cluster, pytest.raises(RunError, match=r"always have more\? Not ended: ones\[task 0"):
        cluster.settle()


@pytest.mark.parametrize("workers", [0, -1])
def test_a_cluster_needs_a_worker(workers: int) -> None:
    with pytest.raises(ValueError, match=f"got {workers}"):
        LocalCluster(passing(FedSpout([], fields=("word",)), CapturedSink()), workers=workers)


def test_every_task_has_to_be_placed() -> None:
    with pytest.raises(ValueError, match=r"\[0, 1, 2\], got \{0: 0\}"):
        LocalCluster(passing(FedSpout([], fields=("word",)), CapturedSink()), worker_of={0: 0})


def test_tasks_do_not_share_what_their_bolt_holds() -> None:
    class Remembering(Bolt):
        fields = ("index", "seen")

        def __init__(self) -> None:
            self.seen: list[str] = []

        def open(self, context: TaskContext) -> None:
            self.index = context.index

        def process(self, tup: Tuple) -> Any:
            self.seen.append(tup.word)
            return self.index, len(self.seen)

    bolt, sink = Remembering(), CapturedSink()
    topo = Topology("remembering")
    words = topo.spout("words", FedSpout([(str(n),) for n in range(10)], fields=("word",)))
    topo.bolt("sink", sink, topo.bolt("remembering", bolt, words.shuffle(), tasks=2).shuffle())
    run_topology(topo)

    assert max(seen for _, seen in sink.values) == 5
    assert bolt.seen == []


def test_two_clusters_on_one_clock_both_live_by_it() -> None:
    class Ticking(Bolt):
        fields = ("tick",)
        tick_every_s = 1.0

        def process(self, tup: Tuple) -> None: ...

        def tick(self) -> tuple[str]:
            return ("tick",)

    sinks = []
    clusters: list[LocalCluster] = []
    for _ in range(2):
        topo, sink = Topology("ticking"), CapturedSink()
        spout = topo.spout("words", FedSpout(fields=("word",)))
        topo.bolt("sink", sink, topo.bolt("ticking", Ticking(), spout.shuffle()).shuffle())
        clusters.append(LocalCluster(topo, clock=clusters[0].clock if clusters else None))
        sinks.append(sink)
    clusters[0].clock.advance(3)
    for cluster in clusters:
        cluster.close()
    assert [len(sink.values) for sink in sinks] == [3, 3]
