"""Faults on a cluster, with a cluster and a run that only write down what is done to them."""

from __future__ import annotations

import contextlib
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from penstock.connectors.collect import Collect
from penstock.connectors.lines import Lines
from penstock.testing import ClusterFault, run_topology, survive_in_a_box
from penstock.testing.faults import CLUSTER_FAULT_KINDS, ClusterFaultKind, random_cluster_faults
from penstock.topology.topology import Topology
from tests.ring.patience import wait_until

LINES = ["to", "be", "or", "not"]


def passing() -> Topology:
    topo = Topology("passing")
    topo.bolt("all", Collect(), topo.spout("lines", Lines(LINES)).shuffle())
    return topo


class Recorded:
    """A cluster of three nodes, and a run on it with one worker, which lasts until it has been waited for often."""

    nodes = (0, 1, 2)
    can_slow = True

    def __init__(self, *, pid: int | None = None, waits: int = 100, can_cut_off: bool = True) -> None:
        self.calls: list[tuple[Any, ...]] = []
        self.can_cut_off = can_cut_off
        self.pid = pid
        self.waits = waits
        self.rows = [(line,) for line in LINES]

    def cut_off(self, node: int) -> None:
        self.calls.append(("cut_off", node))

    def rejoin(self, node: int) -> None:
        self.calls.append(("rejoin", node))

    def slow(self, node: int, *, rate_bits_per_s: int | None = None) -> None:
        self.calls.append(("slow", node, rate_bits_per_s is not None))

    def kill(self, node: int) -> None:
        self.calls.append(("kill", node))

    def kill_executors(self, node: int) -> None:
        self.calls.append(("kill_executors", node))

    def restart(self, node: int) -> None:
        self.calls.append(("restart", node))

    @contextlib.contextmanager
    def start(self, _: Topology) -> Iterator[Recorded]:
        yield self
        self.calls.append(("ended",))

    def status(self) -> Any:
        return SimpleNamespace(workers=[SimpleNamespace(worker=0, pid=self.pid)])

    def move(self, task: int | str, worker: int) -> None:
        raise NotImplementedError

    def wait(self, timeout_s: float | None = None) -> Any:
        self.calls.append(("wait", timeout_s))
        if timeout_s is None:
            self.waits = 0
        self.waits -= 1
        return self.over() if self.waits <= 0 else None

    def over(self) -> Any:
        return SimpleNamespace(collected=lambda _: self.rows)

    def done(self) -> list[tuple[Any, ...]]:
        return [call for call in self.calls if call[0] != "wait"]


def fault(kind: ClusterFaultKind, target: int) -> ClusterFault:
    return ClusterFault(kind=kind, target=target, after_s=1.5, for_s=2.5)


@pytest.fixture
def sleeper() -> Iterator[subprocess.Popen[bytes]]:
    with subprocess.Popen(["sleep", "1000"]) as process:
        yield process
        process.kill()


def test_faults_happen_in_order_and_are_undone() -> None:
    box = Recorded()
    faults = [fault("cut_off_node", 1), fault("slow_node", 2), fault("kill_node", 0), fault("kill_executors", 1)]
    report = survive_in_a_box(passing, cluster=box, start=box.start, seed=1, faults=faults)

    assert box.done() == [
        ("cut_off", 1),
        ("rejoin", 1),
        ("slow", 2, True),
        ("slow", 2, False),
        ("kill", 0),
        ("restart", 0),
        ("kill_executors", 1),
        ("ended",),
    ]
    assert box.calls[:4] == [("wait", 1.5), ("cut_off", 1), ("wait", 2.5), ("rejoin", 1)]
    assert report.faults == tuple(faults)
    assert (report.missing, report.surplus) == (0, 0)


def test_a_fault_is_undone_also_if_the_run_fails_in_it() -> None:
    box = Recorded()

    def wait(timeout_s: float | None = None) -> Any:
        if timeout_s == 2.5:
            message = "the run failed"
            raise RuntimeError(message)
        return None

    box.wait = wait  # type: ignore[method-assign]
    with pytest.raises(RuntimeError, match="the run failed"):
        survive_in_a_box(passing, cluster=box, start=box.start, seed=1, faults=[fault("cut_off_node", 1)])
    assert box.done()[:2] == [("cut_off", 1), ("rejoin", 1)]


def test_workers_get_signals(sleeper: subprocess.Popen[bytes]) -> None:
    box = Recorded(pid=sleeper.pid)
    stat = Path(f"/proc/{sleeper.pid}/stat")

    def wait(timeout_s: float | None = None) -> Any:
        if timeout_s == 2.5:
            wait_until(lambda: stat.read_text().split()[2] == "T", "the worker is stopped")
        return box.over() if timeout_s is None else None

    box.wait = wait  # type: ignore[method-assign]
    survive_in_a_box(passing, cluster=box, start=box.start, seed=1, faults=[fault("stop_worker", 0)])
    wait_until(lambda: stat.read_text().split()[2] == "S", "the worker goes on")

    box = Recorded(pid=sleeper.pid)
    survive_in_a_box(passing, cluster=box, start=box.start, seed=1, faults=[fault("kill_worker", 0)])
    assert sleeper.wait() == -signal.SIGKILL


@pytest.mark.parametrize("kind", ["kill_worker", "stop_worker"])
def test_a_worker_that_is_away_is_left_alone(kind: ClusterFaultKind) -> None:
    box = Recorded(pid=None)
    report = survive_in_a_box(passing, cluster=box, start=box.start, seed=1, faults=[fault(kind, 0)])
    assert len(report.faults) == 1


def test_faults_that_came_too_late_are_not_counted() -> None:
    box = Recorded(waits=3)
    report = survive_in_a_box(passing, cluster=box, start=box.start, seed=1, faults=[fault("kill_node", 1)] * 5)
    assert len(report.faults) == 1
    assert box.done() == [("kill", 1), ("restart", 1), ("ended",)]


def test_what_is_missing_and_what_is_too_many_is_found_with_the_seed_and_the_faults() -> None:
    box = Recorded()
    box.rows = [("to",), ("be",), ("be",), ("not",)]
    report = survive_in_a_box(passing, cluster=box, start=box.start, seed=77, faults=[fault("kill_node", 1)])

    assert (report.missing, report.surplus) == (1, 1)
    with pytest.raises(
        AssertionError, match=r"(?s)seed 77: 1 rows missing, 1 too many, after\n  kill_node 1 after 1\.5"
    ):
        report.check("exactly_once")


def test_chance_takes_what_the_cluster_can_have_and_a_seed_gives_it_again() -> None:
    told: list[str] = []
    reports = []
    for _ in range(2):
        box = Recorded(can_cut_off=False)
        reports.append(survive_in_a_box(passing, cluster=box, start=box.start, seed=9, faults=40, tell=told.append))
    assert reports[0] == reports[1]
    assert {found.kind for found in reports[0].faults} == set(CLUSTER_FAULT_KINDS) - {"cut_off_node"}
    assert told[0] == "seed 9: 40 faults"
    assert len(told) == 2 * 41


def test_targets_are_workers_or_nodes_as_the_fault_wants() -> None:
    for found in random_cluster_faults(3, count=200, workers=2, nodes=5):
        assert 0 <= found.target < (2 if found.kind.endswith("_worker") else 5)


def test_the_kit_gives_what_it_is_compared_with() -> None:
    assert [tuple(row) for row in run_topology(passing()).collected("all")] == [(line,) for line in LINES]
