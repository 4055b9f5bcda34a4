"""Topologies for DataFrames."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from penstock.connectors.from_frame import FromFrame
from penstock.errors import RunError
from penstock.topology.bolts import BatchBolt, Bolt, KeyedBolt
from penstock.topology.context import TaskContext
from penstock.topology.topology import Topology
from penstock.topology.tuples import Tuple
from tests.spark.topologies import Count, Split


def word_count(tasks: int = 2) -> Topology:
    topo = Topology("word-count")
    lines = topo.spout("lines", FromFrame("line"))
    words = topo.bolt("split", Split(), lines.shuffle(), tasks=tasks)
    topo.bolt("count", Count(), words.by("word"), tasks=tasks)
    return topo


GROUPINGS = ("shuffle", "local_or_shuffle", "by", "partial_key", "to_one")


class PassBatch(BatchBolt):
    def process_batch(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        return batch


def same(tup: Tuple) -> Tuple:
    return tup


def passing_on(fields: tuple[str, ...], *, grouping: str, tasks: int = 2, batches: bool = False) -> Topology:
    """Gives back what it is given."""
    topo = Topology("passing-on")
    rows = topo.spout("rows", FromFrame(*fields))
    for name in ("first", "second"):
        takes = getattr(rows, grouping)(*([fields[0]] if grouping in ("by", "partial_key") else []))
        rows = topo.bolt(name, PassBatch() if batches else same, takes, tasks=tasks, fields=fields)
    return topo


class Double(BatchBolt):
    fields = ("id",)

    def process_batch(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        return pa.RecordBatch.from_arrays([pc.multiply(batch.column("id"), 2)], names=["id"])


class KilledOnce(Bolt):
    """Kills its process in the middle, or the executor that has started it, if nobody has before."""

    fields = ("id",)

    def __init__(self, marker: Path, *, at: int, executor: bool = False) -> None:
        self.marker = marker
        self.at = at
        self.executor = executor

    def process(self, tup: Tuple) -> tuple[int]:
        if tup.id == self.at and not self.marker.exists():
            self.marker.touch()
            os.kill(_executor() if self.executor else os.getpid(), signal.SIGKILL)
        return (tup.id,)


class Seen(Bolt):
    """Says at the end how many tuples there were."""

    fields = ("count",)

    def open(self, context: TaskContext) -> None:  # noqa: ARG002
        self.count = 0

    def process(self, tup: Tuple) -> None:  # noqa: ARG002
        self.count += 1

    def finish(self) -> Iterator[tuple[int]]:
        yield (self.count,)


class Raising(Bolt):
    """Fails by one tuple, or when one of its tasks opens, and notes that, unless there is a cure."""

    fields = ("id",)

    def __init__(self, folder: Path, how: str) -> None:
        self.folder = folder
        self.how = how

    def open(self, context: TaskContext) -> None:
        if self.how == "open" and context.index == 0 and self._is_to_fail():
            message = "cannot open"
            raise ValueError(message)

    def process(self, tup: Tuple) -> tuple[Any]:
        if tup.id != 13 or self.how == "open" or not self._is_to_fail():
            return (tup.id,)
        if self.how == "misfit":
            return ("no luck",)
        message = "no luck"
        raise (RunError if self.how == "end" else ValueError)(message)

    def _is_to_fail(self) -> bool:
        """Notes it."""
        if (self.folder / "cure").exists():
            return False
        with (self.folder / "raised").open("a") as file:
            file.write(f"{self.how}\n")
        return True


def _executor() -> int:
    """The parent of the daemon that this process was forked from."""
    return int(Path(f"/proc/{os.getppid()}/stat").read_text().rpartition(")")[2].split()[1])


class Join(KeyedBolt):
    """Pairs of a left and a right row with the same key."""

    fields = ("key", "left", "right")

    def process(self, key: Any, tup: Tuple) -> Iterator[tuple[Any, Any, Any]]:
        lefts, rights = self.state.setdefault(key, ([], []))
        if tup.source == "left":
            lefts.append(tup[1])
            yield from ((key, tup[1], right) for right in rights)
        else:
            rights.append(tup[1])
            yield from ((key, left, tup[1]) for left in lefts)


def joining() -> Topology:
    topo = Topology("joining")
    left = topo.spout("left", FromFrame("key", "left"))
    right = topo.spout("right", FromFrame("key", "right"))
    topo.bolt("join", Join(), left.by("key"), right.by("key"), tasks=3)
    return topo


def one_bolt(bolt: Any, *, fields: tuple[str, ...] | None = None, tasks: int = 2) -> Topology:
    """`id` through one bolt."""
    topo = Topology("one-bolt")
    ids = topo.spout("ids", FromFrame("id"))
    topo.bolt("bolt", bolt, ids.shuffle(), tasks=tasks, fields=fields)
    return topo


def counting(tasks: int) -> Topology:
    topo = Topology("counting")
    words = topo.spout("words", FromFrame("word"))
    topo.bolt("count", Count(), words.by("word"), tasks=tasks)
    return topo
