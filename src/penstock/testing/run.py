"""A topology from its start to its end, in one call."""

from __future__ import annotations

from penstock.flow.delivery import Delivery
from penstock.testing.local_cluster import LocalCluster
from penstock.testing.result import Result
from penstock.testing.virtual_clock import VirtualClock
from penstock.topology.topology import Topology
from penstock.worker.settings import WorkerSettings

__all__ = ["run_topology"]


def run_topology(
    topology: Topology,
    *,
    workers: int = 1,
    drain_after_s: float | None = None,
    seed: int | None = None,
    clock: VirtualClock | None = None,
    delivery: Delivery = "at_least_once",
    settings: WorkerSettings | None = None,
) -> Result:
    """Runs a topology in this process until it ends, and says what came of it.

    Time is virtual: whatever waits for a tick, or for a spout that emits so many tuples a second, waits no real time.

        >>> from penstock.connectors.collect import Collect
        >>> from penstock.connectors.rate import Rate
        >>> topo = Topology("a-minute-of-seconds")
        >>> seconds = topo.spout("seconds", Rate(1))
        >>> _ = topo.bolt("all", Collect(), seconds.shuffle())
        >>> len(run_topology(topo, drain_after_s=59.5).collected("all"))
        60

    Args:
        topology: what to run.
        workers: how many workers share its tasks. Between workers values are encoded, as they are in a real run.
        drain_after_s: when to stop the spouts, in virtual seconds, if they have no end of their own.
        seed: in which order the workers get their turns: the same seed gives the same order. None: one by one.
        clock: the clock to run by, else one of its own.
        delivery: what is promised: with ``at_least_once``, a tuple that fails is tried again, as in a real run.
        settings: how the workers are sized.

    Raises:
        TopologyError: the topology cannot run as it is.
        RunError: it does not end.
    """
    with LocalCluster(
        topology, workers=workers, seed=seed, clock=clock, delivery=delivery, settings=settings
    ) as cluster:
        if drain_after_s is not None:
            cluster.advance(drain_after_s)
            cluster.drain()
        cluster.run_to_end()
    return cluster.result()
