"""What the tests do with a driver of a cluster in a box. Each takes a session and returns plain values.

They run in the driver's process, and trouble the cluster as any other process would: through its socket.
"""

from __future__ import annotations

import collections
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal

from penstock.connectors.collect import Collect
from penstock.connectors.rate import Rate
from penstock.devcluster.control import Order, ask
from penstock.spark.run import Run, start
from penstock.spark.slots import count_slots
from penstock.topology.topology import Topology
from tests.ring.patience import wait_until
from tests.spark.scenarios import await_flow
from tests.spark.topologies import Pass

LONG_PATIENCE_S = 240.0


def stream(workers: int) -> Topology:
    """Endless, with something to do for every worker."""
    topo = Topology("stream")
    numbers = topo.spout("numbers", Rate(500.0))
    passed = topo.bolt("pass", Pass(), numbers.shuffle(), tasks=2 * workers)
    topo.bolt("last", Collect(), passed.shuffle())
    return topo


def cut_off_and_back(spark: Any, *, folder: Path, workers: int) -> dict[str, Any]:
    """A node is cut off while tuples flow, until that is noticed; then it rejoins."""
    with start(stream(workers), workers=workers, spark=spark) as running:
        await_flow(running)
        node, victims = _busiest(running)
        _order(folder, "cut_off", node)
        wait_until(lambda: victims <= _in_state(running, "silent"), "all workers of the node are silent")
        silent = _in_state(running, "silent")
        _order(folder, "rejoin", node)
        wait_until(lambda: not _in_state(running, "silent"), "they are heard again")
        await_flow(running)
        running.drain()
        summary = running.summary()
    return {
        "phase": summary.status.phase,
        "victims": victims,
        "silent": silent,
        "notices": summary.status.notices,
        "missing": summary.metrics.components[0].emitted - len(summary.collected("last")),
        "counted": summary.metrics.lost + summary.metrics.unaccounted,
    }


def cut_off_for_long(spark: Any, *, folder: Path, workers: int) -> dict[str, Any]:
    """A node stays cut off until its workers have been given up and started elsewhere, where there is room."""
    with start(stream(workers), workers=workers, spark=spark) as running:
        await_flow(running)
        node, victims = _busiest(running)
        _order(folder, "cut_off", node)
        await_long(lambda: running.status().restarts == len(victims), "the node's workers were given up")
        await_long(lambda: len(_in_state(running, "begun")) == workers, "all workers are at work")
        hosts = {worker.host for worker in running.status().workers}
        await_flow(running)
        _order(folder, "rejoin", node)
        running.drain()
        summary = running.summary()
    return {
        "phase": summary.status.phase,
        "victims": victims,
        "notices": summary.status.notices,
        "moved": f"node-{node}" not in hosts,
    }


def killed_and_restarted(spark: Any, *, folder: Path, workers: int) -> dict[str, Any]:
    """A node is killed while tuples flow, and restarted."""
    with start(stream(workers), workers=workers, spark=spark) as running:
        await_flow(running)
        node, victims = _busiest(running)
        _order(folder, "kill", node)
        _order(folder, "restart", node)
        await_long(lambda: running.status().restarts == len(victims), "the node's workers were given up")
        await_long(lambda: len(_in_state(running, "begun")) == workers, "all workers are at work")
        await_flow(running)
        running.drain()
        summary = running.summary()
    return {"phase": summary.status.phase, "victims": victims}


def given_up_by_spark(spark: Any, *, folder: Path, node: int, slots: tuple[int, int]) -> None:
    """A node is cut off until Spark has given it up, and then rejoins: `slots` there are without it, and with it."""
    without, with_it = slots
    _order(folder, "cut_off", node)
    await_long(lambda: count_slots(spark).now == without, "Spark has given the node up")
    _order(folder, "rejoin", node)
    await_long(lambda: count_slots(spark).now == with_it, "Spark has it again")


def _order(folder: Path, what: Literal["cut_off", "rejoin", "kill", "restart"], node: int) -> None:
    ask(folder, Order(what=what, node=node))


def _busiest(running: Run) -> tuple[int, set[int]]:
    """The node with most workers, and which those are."""
    hosts = {worker.worker: str(worker.host) for worker in running.status().workers}
    most, _ = collections.Counter(hosts.values()).most_common(1)[0]
    return int(most.removeprefix("node-")), {worker for worker, host in hosts.items() if host == most}


def _in_state(running: Run, state: str) -> set[int]:
    return {worker.worker for worker in running.status().workers if worker.state == state}


def await_long(condition: Callable[[], bool], what: str) -> None:
    """As `wait_until`, for what Spark takes its time for."""
    deadline_s = time.monotonic() + LONG_PATIENCE_S
    while not condition():
        assert time.monotonic() < deadline_s, f"waited {LONG_PATIENCE_S:g} s in vain: {what}"
        time.sleep(0.05)
