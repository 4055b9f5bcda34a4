"""A word count whose tasks are moved while it runs, and what must come of it."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

from penstock.connectors.collect import Collect
from penstock.connectors.lines import Lines
from penstock.flow.delivery import Delivery
from penstock.testing import LocalCluster
from penstock.topology.bolts import Bolt, KeyedBolt
from penstock.topology.topology import Topology
from penstock.topology.tuples import Tuple
from penstock.worker.settings import WorkerSettings

__all__ = ["Change", "counted", "moves", "moves_and_scales", "rows_of_a_run", "word_count"]

Change = Callable[[LocalCluster, random.Random], None]
"""Asks a cluster for something."""

WORKERS = 3


class Split(Bolt):
    fields = ("word",)

    def process(self, tup: Tuple) -> Iterator[Any]:
        for word in tup.line.split():
            yield (word,)


class Count(KeyedBolt):
    fields = ("word", "count")

    def process(self, key: Any, tup: Tuple) -> Iterator[Any]:  # noqa: ARG002
        count = self.state[key] = self.state.get(key, 0) + 1
        yield key, count


def word_count(lines: list[str]) -> Topology:
    topo = Topology("moved")
    spout = topo.spout("lines", Lines(lines), tasks=2)
    words = topo.bolt("split", Split(), spout.shuffle(), tasks=2)
    counts = topo.bolt("count", Count(), words.by("word"), tasks=3)
    topo.bolt("all", Collect(), counts.shuffle())
    return topo


def counted(lines: list[str]) -> Counter[tuple[str, int]]:
    """Every word with every count that it has had."""
    so_far: Counter[str] = Counter()
    rows: Counter[tuple[str, int]] = Counter()
    for word in (word for line in lines for word in line.split()):
        so_far[word] += 1
        rows[word, so_far[word]] += 1
    return rows


LATE_TURNS = 60
"""After so many turns a marker is taken for lost."""


def has_passed(cluster: LocalCluster, epoch: int) -> bool:
    tasks = [task for worker in cluster.workers.values() for task in worker.roster.everything]
    return all(task.ended or task.passed_epoch >= epoch for task in tasks)


def rows_of_a_run(
    seed: int,
    delivery: Delivery,
    topology: Topology,
    change: Change,
    *,
    kills: int = 0,
    workers: int = WORKERS,
    settings: WorkerSettings | None = None,
    epoch_turns: int = 7,
) -> Counter[tuple[Any, ...]]:
    """What its sink has got, with changes under way all the time, and workers killed in the middle of them.

    Markers are sent no faster than they get through: else what waits for a marker would wait for thousands before it.
    One may be lost with its worker, so the next one follows after a while all the same.
    """
    chance = random.Random(seed)
    settings = settings or WorkerSettings(
        credit_window_bytes=chance.choice([2000, 1 << 20]),
        high_water_tuples=64,
        spout_turn_tuples=chance.choice([16, 256]),
    )
    with LocalCluster(topology, workers=workers, seed=seed, delivery=delivery, settings=settings) as cluster:
        dead: int | None = None
        epoch = began = 0
        for turn in range(50_000):
            if cluster.ended:
                break
            waited = turn - began
            if not epoch or (
                waited >= epoch_turns
                and not cluster.checkpoint_under_way
                and (waited >= LATE_TURNS or has_passed(cluster, epoch))
            ):
                epoch, began = cluster.begin_epoch(), turn
            if not cluster.moving and chance.random() < 0.3:
                change(cluster, chance)
            if dead is not None and chance.random() < 0.2:
                cluster.restart(dead)
                dead = None
            elif dead is None and kills and len(cluster.workers) > 1 and chance.random() < 0.05:
                kills -= 1
                dead = chance.choice(sorted(cluster.workers))
                cluster.kill(dead)
            cluster.step()
            cluster.clock.let_pass(0.001)
        if dead is not None:
            cluster.restart(dead)
        cluster.run_to_end()
        result = cluster.result()
        assert not result.failures
        return Counter(tuple(row) for row in result.collected("all"))


def moves(cluster: LocalCluster, chance: random.Random) -> None:
    """Some tasks to other workers, of which one is new."""
    tasks = chance.sample(sorted(cluster.worker_of), chance.randint(1, 3))
    cluster.move({task: chance.randrange(WORKERS + 1) for task in tasks})


def moves_and_scales(cluster: LocalCluster, chance: random.Random) -> None:
    if chance.random() < 0.5:
        moves(cluster, chance)
    else:
        component = chance.choice(["split", "count"])
        cluster.scale(component, [chance.randrange(WORKERS + 1) for _ in range(chance.randint(1, 4))])
