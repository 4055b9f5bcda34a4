"""Markers pass helpers, whatever is full: a helper's tuples are counted on the channels of its host."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from penstock.connectors.collect import Collect
from penstock.connectors.lines import Lines
from penstock.testing import LocalCluster, VirtualClock
from penstock.topology.bolts import Bolt
from penstock.topology.topology import Topology
from penstock.topology.tuples import Tuple
from penstock.worker.settings import WorkerSettings

COUNT = 400


class Narrow(Bolt):
    fields = ("n",)

    def process(self, tup: Tuple) -> Any:
        return (tup.n,)


class Wide(Bolt):
    fields = ("n", "wide")

    def process(self, tup: Tuple) -> Any:
        return tup.n, "x" * 200


class Slow(Bolt):
    """Each tuple takes a while, by the clock of the cluster."""

    fields = ("n", "wide")

    def process(self, tup: Tuple) -> Any:
        CLOCK.let_pass(0.004)
        return tup.n, "y" * 20


CLOCK = VirtualClock()


def rows(topo: Topology, tasks: int, sizes: WorkerSettings, seed: int) -> Counter[Any]:
    """What comes of it exactly once, with a worker for each task and markers all the time."""
    places = {task: task for task in range(tasks)}
    with LocalCluster(
        topo, worker_of=places, seed=seed, clock=CLOCK, delivery="exactly_once", settings=sizes
    ) as cluster:
        for turn in range(6000):
            if cluster.ended:
                break
            if turn % 11 == 0 and not cluster.checkpoint_under_way:
                cluster.begin_epoch()
            cluster.step()
            CLOCK.let_pass(0.0005)
        cluster.run_to_end(most_s=60)
        return Counter(row[0] for row in cluster.result().collected("all"))


@pytest.mark.parametrize("seed", range(3))
def test_two_helpers_of_one_task_that_feed_the_same_bolt_do_not_keep_each_others_markers(seed: int) -> None:
    topo = Topology("diamond")
    first = topo.bolt("first", Narrow(), topo.spout("n", Lines(range(COUNT), fields=("n",))).shuffle())
    left = topo.bolt("left", Slow(), first.shuffle())
    right = topo.bolt("right", Wide(), first.shuffle())
    both = topo.bolt("both", Narrow(), left.shuffle(), right.shuffle())
    topo.bolt("all", Collect(), both.shuffle())
    sizes = WorkerSettings(
        high_water_tuples=8,
        turn_tuples=8,
        spout_turn_tuples=8,
        credit_window_bytes=600,
        help_step=0.9,
        redirection=False,
    )
    assert rows(topo, 6, sizes, seed) == Counter(dict.fromkeys(range(COUNT), 2))


@pytest.mark.parametrize("seed", range(3))
def test_a_marker_passes_a_helper_that_has_nothing_to_do_while_its_host_has_used_up_the_channel(seed: int) -> None:
    topo = Topology("short-cut")
    first = topo.bolt("first", Wide(), topo.spout("n", Lines(range(COUNT), fields=("n",))).shuffle())
    between = topo.bolt("between", Wide(), first.shuffle())
    both = topo.bolt("both", Wide(), between.shuffle(), first.shuffle())
    topo.bolt("all", Collect(), both.shuffle())
    sizes = WorkerSettings(turn_tuples=64, spout_turn_tuples=4, credit_window_bytes=600)
    assert rows(topo, 5, sizes, seed) == Counter(dict.fromkeys(range(COUNT), 2))
