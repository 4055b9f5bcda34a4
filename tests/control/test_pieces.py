"""Real worker processes, in which one call emits very much: memory stays bounded, and nothing is lost."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from penstock.connectors.collect import Collect
from penstock.control.status import Phase
from penstock.flow.delivery import Delivery
from penstock.topology.bolts import Bolt
from penstock.topology.spouts import Spout
from penstock.topology.topology import Topology
from penstock.topology.tuples import Tuple
from tests.control.processes import processes
from tests.ring.patience import wait_until

MANY = 300_000
WIDE = "x" * 400
MOST_MB = 60
"""What a worker may grow by. All at once are more than twice as much, in the queue or on the way to it."""


def most_memory_mb(pid: int) -> float:
    """The most that a process ever had."""
    (line,) = (line for line in Path(f"/proc/{pid}/status").read_text().splitlines() if line.startswith("VmHWM"))
    return int(line.split()[1]) / 1024


def many(count: int) -> Iterator[Any]:
    for number in range(count):
        yield number, f"{number}{WIDE}"


class Once(Spout):
    """Gives all that it has when there is a folder to look for files in, and ends when there is one."""

    fields = ("n", "text")

    def __init__(self, when: Path, count: int) -> None:
        self.when = when
        self.count = count
        self.gave = False

    def next(self) -> Any:
        if self.gave and (self.when / "end").exists():
            raise StopIteration
        if self.gave or not self.when.exists():
            return None
        self.gave = True
        return many(self.count)

    def position(self) -> bool:
        return self.gave

    def seek(self, position: bool) -> None:
        self.gave = position


class Multiplied(Bolt):
    fields = ("n", "text")

    def process(self, tup: Tuple) -> Iterator[Any]:  # noqa: ARG002
        yield from many(MANY)


class InOrder(Bolt):
    """Counts, and says how many came when all have, in the order in which they were emitted."""

    fields = ("count",)

    def __init__(self) -> None:
        self.count = 0

    def process(self, tup: Tuple) -> None:
        assert tup.n == self.count
        self.count += 1

    def finish(self) -> Any:
        return (self.count,)


@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize("delivery", ["at_most_once", "at_least_once", "exactly_once"])
@pytest.mark.parametrize("by", ["spout", "bolt"])
def test_what_one_call_emits_takes_little_memory(tmp_path: Path, by: str, delivery: Delivery, workers: int) -> None:
    when = tmp_path / "now"
    topo = Topology("many")
    source = topo.spout("once", Once(when, MANY if by == "spout" else 1))
    if by == "bolt":
        source = topo.bolt("multiplied", Multiplied(), source.shuffle(), helping=False)
    counted = topo.bolt("counted", InOrder(), source.to_one())
    topo.bolt("all", Collect(), counted.to_one())
    checkpoint = tmp_path / "checkpoint" if delivery == "exactly_once" else None
    with processes(topo, workers=workers, checkpoint=checkpoint, delivery=delivery, redirection=False) as run:
        wait_until(lambda: run.status().phase is Phase.RUNNING, "the run has begun")
        before = {pid: most_memory_mb(pid) for pid in map(run.pid, range(workers))}
        when.mkdir()
        run.await_total("counted", MANY, patience_s=300.0)
        grown = {pid: most_memory_mb(pid) - before[pid] for pid in before}
        (when / "end").touch()
        assert run.summary(timeout_s=120.0).collected("all") == [(MANY,)]
    assert all(grown_mb < MOST_MB for grown_mb in grown.values()), grown
