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

On real processes: hand a `ProcessFaults` the run, and let it do its worst between calls of your own.
"""

from __future__ import annotations

import contextlib
import os
import random
import signal
import time
from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any, Literal, Protocol

import msgspec

from penstock.connectors.collect import Collect
from penstock.flow.delivery import Delivery
from penstock.testing.local_cluster import LocalCluster
from penstock.testing.run import run_topology
from penstock.topology.topology import Topology
from penstock.worker.settings import WorkerSettings

__all__ = ["ChaosReport", "Fault", "ProcessFaults", "random_faults", "survive"]

FaultKind = Literal["kill", "stop"]


class Fault(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that goes wrong."""

    kind: FaultKind
    """``kill``: the worker is gone at once, and comes back. ``stop``: it does nothing for a while."""
    worker: int
    after: int
    """How many turns of workers pass before it, counted from the fault before."""
    turns: int = 0
    """How many turns pass until the worker is back, or goes on."""


class ChaosReport(msgspec.Struct, frozen=True, kw_only=True):
    """What became of a topology."""

    seed: int
    """Gives the same faults, in the same order, at the same turns."""
    faults: tuple[Fault, ...]
    missing: int
    """Rows of `Collect` sinks that a run without faults has, and this one has not."""
    surplus: int
    """Rows that this run has, and one without faults has not. At least once may have some."""

    def check(self, delivery: Delivery) -> None:
        """AssertionError, with the seed, if that is not what was promised."""
        allowed = 0 if delivery == "exactly_once" else None
        if self.missing or (allowed is not None and self.surplus > allowed):
            message = f"{delivery}, seed {self.seed}: {self.missing} rows missing, {self.surplus} too many"
            raise AssertionError(message)


def random_faults(
    seed: int, *, count: int, workers: int, kinds: tuple[FaultKind, ...] = ("kill", "stop")
) -> list[Fault]:
    """Faults by a seed."""
    chance = random.Random(seed)
    return [
        Fault(
            kind=chance.choice(kinds),
            worker=chance.randrange(workers),
            after=chance.randrange(60),
            turns=chance.randrange(30),
        )
        for _ in range(count)
    ]


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
        faults: how many, or which.
        workers: how many workers there are.
        settings: how they are sized; small queues bring out more.
    """
    wanted = _rows(run_topology(make(), workers=workers), make())
    topology = make()
    schedule = random_faults(seed, count=faults, workers=workers) if isinstance(faults, int) else [*faults]
    with LocalCluster(topology, workers=workers, seed=seed, delivery=delivery, settings=settings) as cluster:
        for fault in schedule:
            _steps(cluster, fault.after)
            if fault.worker not in cluster.workers:
                continue
            if fault.kind == "kill":
                cluster.kill(fault.worker)
                _steps(cluster, fault.turns)
                cluster.restart(fault.worker)
            else:
                _steps(cluster, fault.turns, without=fault.worker)
        cluster.run_to_end()
        found = _rows(cluster.result(), topology)
    return ChaosReport(
        seed=seed,
        faults=tuple(schedule),
        missing=(wanted - found).total(),
        surplus=(found - wanted).total(),
    )


def _steps(cluster: LocalCluster, count: int, *, without: int | None = None) -> None:
    for turn in range(count):
        cluster.step(without=without)
        if turn % 10 == 0:
            cluster.begin_epoch()


def _rows(result: Any, topology: Topology) -> Counter[Any]:
    sinks = [name for name, spec in topology.components.items() if isinstance(spec.logic, Collect)]
    return Counter((name, repr(tuple(row))) for name in sinks for row in result.collected(name))


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
