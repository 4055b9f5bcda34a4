"""Faults on purpose, on a real Spark cluster: a cluster in a box, whose nodes can be cut off, slowed and killed."""

from __future__ import annotations

import contextlib
import os
import signal
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from typing import Any, Protocol

from penstock.testing.chaos_report import ChaosReport, collected_rows
from penstock.testing.faults import CLUSTER_FAULT_KINDS, ClusterFault, ClusterFaultKind, random_cluster_faults
from penstock.testing.moving_tasks import moving_tasks
from penstock.testing.run import run_topology
from penstock.topology.topology import Topology

__all__ = ["survive_in_a_box"]

_SLOW_BITS_PER_S = 1_000_000


class BoxedCluster(Protocol):
    """What faults need of a cluster: a `penstock.devcluster.DevCluster`."""

    @property
    def nodes(self) -> Sequence[Any]: ...
    @property
    def can_cut_off(self) -> bool: ...
    @property
    def can_slow(self) -> bool: ...
    def cut_off(self, node: int) -> None: ...
    def rejoin(self, node: int) -> None: ...
    def slow(self, node: int, *, rate_bits_per_s: int | None = None) -> None: ...
    def kill(self, node: int) -> None: ...
    def kill_executors(self, node: int) -> None: ...
    def restart(self, node: int) -> None: ...


class HeldRun(Protocol):
    """What faults need of a run: a `penstock.Run`."""

    def status(self) -> Any: ...
    def move(self, task: int | str, worker: int) -> None: ...
    @property
    def wait(self) -> Callable[..., Any]: ...


def survive_in_a_box(
    make: Callable[[], Topology],
    *,
    cluster: BoxedCluster,
    start: Callable[[Topology], AbstractContextManager[HeldRun]],
    seed: int,
    faults: int | Iterable[ClusterFault] = 5,
    kinds: tuple[ClusterFaultKind, ...] | None = None,
    moving: bool = False,
    tell: Callable[[str], object] = lambda _: None,
) -> ChaosReport:
    """Runs a topology on a cluster in a box with faults, and compares what its `Collect` sinks have with a run without.

    The run without faults is one in this process, on virtual time. On a real cluster the same seed gives the same
    faults at about the same times; what they hit is never twice the same.

    Args:
        make: makes the topology; called three times. It has to be bounded, to give the same results each time, and to
            last for some seconds, as with a `Rate` that has a limit: what is over is out of danger.
        cluster: where it runs.
        start: starts it there, as with ``lambda topo: ps.start(topo, workers=4, spark=spark)``.
        seed: of the faults.
        faults: how many, or which.
        kinds: which kinds to choose from; by default all that this cluster can have.
        moving: whether random tasks move to random workers all the while.
        tell: told of each fault, and of the seed.

    Raises:
        DevClusterError: the cluster cannot do what a fault asks for.
        RunError: the run failed.
    """
    wanted = collected_rows(run_topology(make()), make())
    topology = make()
    happened = []
    with start(topology) as run:
        schedule = _chosen(run, cluster, seed, faults, kinds or possible_kinds(cluster))
        tell(f"seed {seed}: {len(schedule)} faults")
        with moving_tasks(run, seed) if moving else contextlib.nullcontext() as moved:
            for fault in schedule:
                if run.wait(fault.after_s):
                    break
                tell(str(fault))
                happened.append(fault)
                with _fault(fault, run, cluster):
                    run.wait(fault.for_s)
        if moved is not None:
            tell(f"{moved.count} moves")
        found = collected_rows(run.wait(), topology)
    return ChaosReport(
        seed=seed,
        faults=tuple(happened),
        missing=(wanted - found).total(),
        surplus=(found - wanted).total(),
        moves=0 if moved is None else moved.count,
    )


def possible_kinds(cluster: BoxedCluster) -> tuple[ClusterFaultKind, ...]:
    """Those that a cluster can have."""
    impossible = {"cut_off_node": not cluster.can_cut_off, "slow_node": not cluster.can_slow}
    return tuple(kind for kind in CLUSTER_FAULT_KINDS if not impossible.get(kind, False))


def _chosen(
    run: HeldRun,
    cluster: BoxedCluster,
    seed: int,
    faults: int | Iterable[ClusterFault],
    kinds: tuple[ClusterFaultKind, ...],
) -> list[ClusterFault]:
    if not isinstance(faults, int):
        return [*faults]
    return random_cluster_faults(
        seed, count=faults, workers=len(run.status().workers), nodes=len(cluster.nodes), kinds=kinds
    )


@contextlib.contextmanager
def _fault(fault: ClusterFault, run: HeldRun, cluster: BoxedCluster) -> Iterator[None]:
    """Lets it happen; at the end of the block it is undone, whatever happened there."""
    number = fault.target
    match fault.kind:
        case "kill_worker":
            _signal(_pid_of(run, number), signal.SIGKILL)
            yield
        case "stop_worker":
            pid = _pid_of(run, number)
            _signal(pid, signal.SIGSTOP)
            try:
                yield
            finally:
                _signal(pid, signal.SIGCONT)
        case "kill_executors":
            cluster.kill_executors(number)
            yield
        case "cut_off_node":
            cluster.cut_off(number)
            try:
                yield
            finally:
                cluster.rejoin(number)
        case "slow_node":
            cluster.slow(number, rate_bits_per_s=_SLOW_BITS_PER_S)
            try:
                yield
            finally:
                cluster.slow(number)
        case "kill_node":
            cluster.kill(number)
            try:
                yield
            finally:
                cluster.restart(number)


def _pid_of(run: HeldRun, worker: int) -> int | None:
    """None: it is away just now."""
    pid: int | None = next(one.pid for one in run.status().workers if one.worker == worker)
    return pid


def _signal(pid: int | None, number: signal.Signals) -> None:
    if pid is not None:
        with contextlib.suppress(ProcessLookupError):  # it is gone by itself
            os.kill(pid, number)
