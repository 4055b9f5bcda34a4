"""A topology whose results show every tuple that is missing or too many.

Also a driver: `python -m tests.spark.counted FOLDER`, which runs until it is killed, or the end is told in the folder.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from penstock.connectors.collect import Collect
from penstock.connectors.parquet_sink import ParquetSink
from penstock.spark.run import run
from penstock.spark.summary import Summary
from penstock.topology.bolts import Bolt, KeyedBolt, StatefulBolt
from penstock.topology.context import TaskContext
from penstock.topology.topology import Topology
from penstock.topology.tuples import Tuple
from tests.endless import End, Numbers, NumbersUntilTold

KEYS = 97
SELDOM = 10
# How many numbers come at the end, fast.
MORE = 20_000


class Numbered(KeyedBolt):
    """Numbers the tuples of each key."""

    fields = ("key", "number")

    def process(self, key: Any, tup: Tuple) -> Iterator[Any]:  # noqa: ARG002
        number = self.state[key] = self.state.get(key, 0) + 1
        yield key, number


class Heard(Bolt):
    """Says which of its tasks has heard what."""

    fields = ("task", "n")

    def open(self, context: TaskContext) -> None:
        self.index = context.index

    def process(self, tup: Tuple) -> Any:
        return self.index, tup.n


class Total(StatefulBolt):
    """Adds up, and tells the sum at the end."""

    fields = ("total",)

    def __init__(self) -> None:
        self.total = 0

    def process(self, tup: Tuple) -> None:
        self.total += tup.n

    def finish(self) -> Any:
        return (self.total,)

    def snapshot(self) -> Any:
        return self.total

    def restore(self, state: Any) -> None:
        self.total = state


def _how_many(tup: Tuple) -> Any:
    return tup.n, len(tup.answers)


def topology(
    numbers_to: int | End, *, files: Path | None = None, tasks: int = 2, broadcast: str | None = None
) -> Topology:
    """As many numbers as that, or until they are told to end.

    Some of them are broadcast by that algorithm; what all tasks have heard is gathered, and added up on the way to one.
    """
    topo = Topology("counted")
    spout = NumbersUntilTold(numbers_to) if isinstance(numbers_to, End) else Numbers(numbers_to)
    numbers = topo.spout("numbers", spout)
    keyed = topo.bolt("key", lambda tup: (tup.n % KEYS,), numbers.shuffle(), tasks=tasks, fields=("key",))
    topo.bolt("rows", Collect(), topo.bolt("number", Numbered(), keyed.by("key"), tasks=tasks).shuffle())
    topo.bolt("seen", Collect(), numbers.shuffle())
    if broadcast is not None:
        some = topo.bolt("some", lambda tup: None if tup.n % SELDOM else (tup.n,), numbers.shuffle(), fields=("n",))
        heard = topo.bolt("hear", Heard(), some.broadcast(broadcast), tasks=tasks)
        topo.bolt("heard", Collect(), heard.to_one())
        counts = topo.bolt("gather", _how_many, heard.gather("n"), tasks=2, fields=("n", "count"))
        topo.bolt("gathered", Collect(), counts.to_one())
        total = topo.bolt("total", Total(), heard.to_one(combine=lambda a, b: (a.task, a.n + b.n)))
        topo.bolt("sum", Collect(), total.to_one())
    if files is not None:
        topo.bolt("files", ParquetSink(files), numbers.shuffle(), tasks=2)
    return topo


def other_topology() -> Topology:
    topo = Topology("counted")
    topo.bolt("seen", Collect(), topo.spout("numbers", Numbers(10)).shuffle())
    return topo


def epochs(folder: Path) -> str:
    """Whether anything is committed below a checkpoint."""
    return "committed" if any((folder / "manifests").glob("*.json")) else ""


def assert_heard(summary: Summary, count: int, *, tasks: int, exact: bool) -> None:
    """Every task has heard every broadcast, and that they all have was gathered."""
    gathered = Counter(tuple(row) for row in summary.collected("gathered"))
    questions = {(n, tasks) for n in range(0, count, SELDOM)}
    assert (gathered == Counter(questions)) if exact else (gathered.keys() == questions)
    (total,) = (row.total for row in summary.collected("sum"))
    if exact:
        assert total == tasks * sum(range(0, count, SELDOM))
    heard = Counter(tuple(row) for row in summary.collected("heard"))
    wanted = {(task, n) for task in range(tasks) for n in range(0, count, SELDOM)}
    missing = sorted(wanted - heard.keys())
    doubled = [row for row, times in heard.items() if times > 1] if exact else []
    assert (len(missing), len(doubled)) == (0, 0), f"unheard {missing[:5]}, doubled {doubled[:5]}"
    assert heard.keys() == wanted


def assert_complete(summary: Summary, count: int) -> None:
    seen = {row.n for row in summary.collected("seen")}
    missing = sorted(set(range(count)) - seen)
    assert not missing, f"{len(missing)} missing: {missing[:5]}"
    assert seen == set(range(count))


def assert_exact(summary: Summary, count: int) -> None:
    counts = Counter(n % KEYS for n in range(count))
    wanted = sorted((key, number) for key, most in counts.items() for number in range(1, most + 1))
    for found, all_ in (
        (summary.collected("rows"), wanted),
        ([row.n for row in summary.collected("seen")], range(count)),
    ):
        seen = Counter(found)
        missing = [row for row in all_ if not seen[row]]
        doubled = [row for row, times in seen.items() if times > 1]
        assert (len(missing), len(doubled)) == (0, 0), f"missing {missing[:5]}, doubled {doubled[:5]}"


if __name__ == "__main__":
    folder = Path(sys.argv[1])
    run(
        topology(End(folder), files=folder / "out"),
        workers=2,
        checkpoint=folder / "checkpoint",
        epoch_every_s=0.2,
    )
