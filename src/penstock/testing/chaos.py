"""Faults on purpose: does a topology give the results that it gives when nothing goes wrong?

In one process, on a virtual clock, by a seed that can be given again:

>>> from penstock.connectors.collect import Collect
>>> from penstock.connectors.lines import Lines
>>> from penstock.topology.topology import Topology
>>> def doubling():
...     topo = Topology("doubling")
...     numbers = topo.spout("numbers", Lines(range(100), fields=("n",)))
...     doubled = topo.bolt("double", lambda tup: (2 * tup.n,), numbers.shuffle(), tasks=2, fields=("n",))
...     topo.bolt("all", Collect(), doubled.shuffle())
...     return topo
>>> report = survive(doubling, delivery="exactly_once", seed=5, faults=3)
>>> len(report.faults), report.missing, report.surplus
(3, 0, 0)

On real processes: hand a `ProcessFaults` the run, and let it do its worst between calls of your own. On a cluster in a
box, nodes and all: `survive_in_a_box`.
"""

from __future__ import annotations

import contextlib
import os
import random
import signal
import time
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Protocol

from penstock.flow.delivery import Delivery
from penstock.testing.chaos_report import ChaosReport, collected_rows
from penstock.testing.faults import Fault, random_faults
from penstock.testing.gives_turns import MOST_TURNS
from penstock.testing.local_cluster import LocalCluster
from penstock.topology.topology import Topology
from penstock.worker.settings import WorkerSettings

__all__ = ["ProcessFaults", "survive"]

_EPOCH_EVERY_TURNS = 10

# How long a turn takes on the virtual clock, so that faults come between what is emitted by the clock, too.
_TURN_S = 0.001


def survive(
    make: Callable[[], Topology],
    *,
    delivery: Delivery = "at_least_once",
    seed: int,
    faults: int | Iterable[Fault] = 5,
    workers: int = 3,
    settings: WorkerSettings | None = None,
) -> ChaosReport:
    """Runs a topology with faults, and compares what its `Collect` sinks have with a run that has none.

    Args:
        make: makes the topology; called twice. It has to be bounded, and to give the same results each time.
        delivery: what is promised.
        seed: of the faults, and of the order in which workers get their turns.
        faults: how many, spread over the turns that a run without faults takes; or which.
        workers: how many workers there are.
        settings: how they are sized; small queues bring out more.
    """
    calm, topology = make(), make()
    with LocalCluster(calm, workers=workers, seed=seed, delivery=delivery, settings=settings) as cluster:
        turns = _Turns(cluster)
        turns.give(MOST_TURNS)
        cluster.run_to_end()  # it is over, unless it has no end: then this says so
        wanted = collected_rows(cluster.result(), calm)
    schedule = (
        random_faults(seed, count=faults, workers=workers, over_turns=turns.given)
        if isinstance(faults, int)
        else [*faults]
    )
    with LocalCluster(topology, workers=workers, seed=seed, delivery=delivery, settings=settings) as cluster:
        struck = [*_struck(cluster, schedule)]
        cluster.run_to_end()
        found = collected_rows(cluster.result(), topology)
    return ChaosReport(
        seed=seed,
        faults=tuple(struck),
        missing=(wanted - found).total(),
        surplus=(found - wanted).total(),
    )


def _struck(cluster: LocalCluster, schedule: Iterable[Fault]) -> Iterator[Fault]:
    """Lets the faults happen; gives those that had something to strike."""
    turns = _Turns(cluster)
    for fault in schedule:
        turns.give(fault.after)
        if cluster.ended:
            return
        if fault.worker not in cluster.workers:  # it has no tasks, or there is none of that number
            continue
        if fault.kind == "kill":
            cluster.kill(fault.worker)
            turns.give(fault.turns)
            cluster.restart(fault.worker)
        else:
            turns.give(fault.turns, without=fault.worker)
        yield fault


class _Turns:
    """Gives a cluster its turns until it has ended, and begins epochs."""

    def __init__(self, cluster: LocalCluster) -> None:
        self._cluster = cluster
        self.given = 0
        """How many there were."""

    def give(self, count: int, *, without: int | None = None) -> None:
        """So many, or as many as there are until the end; none of them to the worker that is left out."""
        cluster = self._cluster
        for _ in range(count):
            if cluster.ended:
                return
            if self.given % _EPOCH_EVERY_TURNS == 0 and not cluster.checkpoint_under_way:
                cluster.begin_epoch()
            self.given += 1
            cluster.step(without=without)
            cluster.clock.let_pass(_TURN_S)


class RunsProcesses(Protocol):
    """A run, as far as faults are concerned: a `penstock.Run`."""

    def status(self) -> Any:
        """Who takes part."""


class ProcessFaults:
    """Real signals to the workers of a run on this machine."""

    def __init__(self, run: RunsProcesses, *, seed: int) -> None:
        self._run = run
        self._chance = random.Random(seed)
        self.count = 0
        """How many faults there were."""

    def strike(self) -> str | None:
        """Kills a worker, or stops one for up to four seconds; says which. None if there is none to spare just now."""
        alive = [worker for worker in self._run.status().workers if worker.pid is not None]
        if len(alive) < 2:
            return None
        victim = self._chance.choice(alive)
        with contextlib.suppress(ProcessLookupError):
            if self._chance.random() < 0.7:
                os.kill(victim.pid, signal.SIGKILL)
                what = f"killed worker {victim.worker}"
            else:
                pause_s = self._chance.uniform(0.1, 4.0)
                os.kill(victim.pid, signal.SIGSTOP)
                time.sleep(pause_s)
                os.kill(victim.pid, signal.SIGCONT)
                what = f"stopped worker {victim.worker} for {pause_s:.1f} s"
            self.count += 1
            return what
        return None
