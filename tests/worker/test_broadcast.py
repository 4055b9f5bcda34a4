"""Broadcasts over every shape: each task gets each tuple, whatever the layout, the guarantee and who dies."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import penstock as ps
from penstock.flow.delivery import Delivery
from penstock.testing import CapturedSink, FedSpout, LocalCluster
from penstock.topology.topology import Topology
from penstock.worker.settings import WorkerSettings
from tests.trickle import Trickle
from tests.tries import tried

ALGORITHMS = ("auto", "serial", "flat", "binary", "ring", "two_way_ring")
SMALL = WorkerSettings(credit_window_bytes=400, inbox_bytes=600, turn_tuples=8, spout_turn_tuples=4)


class Tagged(ps.Bolt):
    """Says which task got what."""

    fields = ("task", "n")

    def open(self, context: ps.TaskContext) -> None:
        self._index = context.index

    def process(self, tup: Any) -> tuple[int, int]:
        return self._index, tup.n


def broadcast_topology(layout: dict[str, Any], numbers: int) -> Topology:
    topo = Topology("broadcasts")
    spread = topo.spout("numbers", Trickle(range(numbers), field="n"), tasks=layout["sources"])
    tagged = topo.bolt("tagged", Tagged(), spread.broadcast(layout["algorithm"]), tasks=layout["tasks"])
    topo.bolt("rows", ps.Collect(), tagged.to_one())
    return topo


def everything(layout: dict[str, Any], numbers: int) -> Counter[tuple[int, int]]:
    return Counter((task, n) for task in range(layout["tasks"]) for n in range(numbers))


def collected(cluster: LocalCluster) -> Counter[tuple[int, int]]:
    return Counter(tuple(row) for row in cluster.result().collected("rows"))


layouts = st.fixed_dictionaries(
    {
        "workers": st.integers(1, 7),
        "nodes": st.lists(st.sampled_from("abcd"), min_size=7, max_size=7),
        "tasks": st.integers(1, 9),
        "sources": st.integers(1, 3),
        "seed": st.integers(0, 1000),
        "algorithm": st.sampled_from(ALGORITHMS),
        "delivery": st.sampled_from(["at_most_once", "at_least_once", "exactly_once"]),
    }
)


def cluster_of(topo: Topology, layout: dict[str, Any], **more: Any) -> LocalCluster:
    return LocalCluster(
        topo,
        workers=layout["workers"],
        node_of=dict(enumerate(layout["nodes"])),
        seed=layout["seed"],
        delivery=layout["delivery"],
        **more,
    )


@tried(30)
@given(layout=layouts, numbers=st.integers(0, 60), small=st.booleans())
def test_every_task_gets_every_broadcast_once(layout: dict[str, Any], numbers: int, *, small: bool) -> None:
    with cluster_of(broadcast_topology(layout, numbers), layout, settings=SMALL if small else None) as cluster:
        cluster.run_to_end()
        assert collected(cluster) == everything(layout, numbers)


@tried(30)
@given(
    layout=layouts,
    deaths=st.lists(st.tuples(st.integers(0, 6), st.integers(0, 40), st.integers(0, 60)), min_size=1, max_size=3),
    small=st.booleans(),
)
def test_guarantees_hold_while_workers_die(
    layout: dict[str, Any], deaths: list[tuple[int, int, int]], *, small: bool
) -> None:
    numbers = 40
    with cluster_of(broadcast_topology(layout, numbers), layout, settings=SMALL if small else None) as cluster:
        for victim, before, away in deaths:
            for _ in range(before):
                cluster.step()
            if victim not in cluster.workers or (
                layout["delivery"] == "at_most_once" and cluster.workers[victim].spouts
            ):
                continue  # at most once, a spout that is started anew emits again what it was not heard to have emitted
            cluster.kill(victim)
            for _ in range(away):
                cluster.step()
            cluster.restart(victim)
        cluster.run_to_end(most_s=60)
        counts, wanted = collected(cluster), everything(layout, numbers)
    if layout["delivery"] == "at_most_once":
        assert counts <= wanted
    elif layout["delivery"] == "at_least_once":
        assert counts >= wanted
    else:
        assert counts == wanted


@pytest.mark.parametrize("algorithm", ["flat", "binary", "ring", "two_way_ring"])
@pytest.mark.parametrize("delivery", ["at_most_once", "at_least_once"])
def test_a_dead_relay_cuts_nobody_off_once_it_is_known_to_be_dead(algorithm: str, delivery: Delivery) -> None:
    """Also at most once: what was under way to others by way of the dead one is sent to them another way."""
    places = {0: 0, **{task: task for task in range(1, 7)}, 7: 0}  # the spout and the sink are on worker 0
    for victim in (1, 3, 4, 6):
        topo, spout, sink = Topology("relays"), FedSpout(fields=("n",)), CapturedSink()
        tagged = topo.bolt("tagged", Tagged(), topo.spout("numbers", spout).broadcast(algorithm), tasks=6)
        topo.bolt("sink", sink, tagged.to_one())
        node_of = dict(enumerate("aabbccc"))
        with LocalCluster(topo, delivery=delivery, worker_of=places, node_of=node_of, seed=victim) as cluster:
            for n in range(5):
                spout.feed((n,))
            cluster.settle()
            for n in range(5, 10):
                spout.feed((n,))
            for _ in range(4):
                cluster.step()
            cluster.kill(victim)
            for n in range(10, 15):
                spout.feed((n,))
            cluster.settle()
            got = Counter(sink.values)
            alive = [task - 1 for task, worker in places.items() if 1 <= task <= 6 and worker != victim]
            assert {pair: got[pair] for task in alive for n in range(15) if got[pair := (task, n)] != 1} == {}
            cluster.restart(victim)
            cluster.settle()  # until the others know of it
            for n in range(15, 20):
                spout.feed((n,))
            spout.end()
            cluster.run_to_end()
        got = Counter(sink.values)
        assert all(got[task, n] == 1 for task in range(6) for n in range(15, 20))
        if delivery == "at_most_once":
            assert max(got.values()) == 1


@pytest.mark.parametrize("algorithm", ["auto", "binary", "ring"])
def test_nobody_depends_on_a_relay_that_is_out_of_reach(algorithm: str) -> None:
    topo, spout, sink = Topology("relays"), FedSpout(fields=("n",)), CapturedSink()
    tagged = topo.bolt("tagged", Tagged(), topo.spout("numbers", spout).broadcast(algorithm), tasks=6)
    topo.bolt("sink", sink, tagged.to_one())
    places = {0: 0, **{task: task for task in range(1, 7)}, 7: 0}
    stopped, others = 1, {(task, n) for task in range(1, 6) for n in range(5)}
    with LocalCluster(topo, worker_of=places, node_of=dict(enumerate("aabbccc"))) as cluster:
        for n in range(5):
            spout.feed((n,))
        for worker in cluster.workers.values():
            worker.heard_of(stopped, 1, silent=True)
        for _ in range(200):
            cluster.step(without=stopped)
        assert set(sink.values) == others, "they get it another way"
        for worker in cluster.workers.values():
            worker.heard_of(stopped, 1, silent=False)
        spout.feed((5,))
        spout.end()
        cluster.run_to_end()
    assert Counter(sink.values) == Counter((task, n) for task in range(6) for n in range(6))


def test_a_relay_that_is_stopped_holds_the_others_up_until_somebody_says_so() -> None:
    """What the test before would not show if frames did not go by way of that relay."""
    topo, spout, sink = Topology("relays"), FedSpout(fields=("n",)), CapturedSink()
    tagged = topo.bolt("tagged", Tagged(), topo.spout("numbers", spout).broadcast("ring"), tasks=3)
    topo.bolt("sink", sink, tagged.to_one())
    with LocalCluster(topo, worker_of={0: 0, 1: 1, 2: 2, 3: 3, 4: 0}) as cluster:
        spout.feed((0,))
        for _ in range(100):
            cluster.step(without=1)
        assert sink.values == []
        spout.end()
        cluster.run_to_end()
    assert len(sink.values) == 3
