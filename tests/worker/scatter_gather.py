"""A topology that asks all tasks of a bolt and gathers what they answer, and what must come of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

import pyarrow as pa

from penstock.connectors.lines import Lines
from penstock.testing import Result
from penstock.topology.bolts import BatchBolt, Bolt, KeyedBolt
from penstock.topology.context import TaskContext
from penstock.topology.topology import Topology
from penstock.topology.tuples import Tuple

COUNT = 60


class Shard(Bolt):
    """Answers each question with its index."""

    fields = ("question", "by")

    def open(self, context: TaskContext) -> None:
        self.index = context.index

    def process(self, tup: Tuple) -> Any:
        return tup.n, self.index


class BatchShard(BatchBolt):
    """The same for many questions at once."""

    fields = ("question", "by")

    def open(self, context: TaskContext) -> None:
        self.index = context.index

    def process_batch(self, batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
        by = pa.array([self.index] * batch.num_rows)
        yield pa.RecordBatch.from_arrays([batch.column("n"), by], names=["question", "by"])


class PassedBatches(BatchBolt):
    fields = ("n",)

    def process_batch(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        return batch


def told(tup: Tuple) -> Any:
    return tup.question, [answer.by for answer in tup.answers]


def scattered(
    shard: Any = None, *, questions: Any = None, shards: int = 3, batches: bool = False, timeout_s: float = 30.0
) -> tuple[Topology, Any]:
    """A topology up to what is gathered, and that."""
    topo = Topology("scatter-gather")
    asked = topo.spout("questions", questions or Lines(range(COUNT), fields=("n",)))
    if batches:
        asked = topo.bolt("batches", PassedBatches(), asked.shuffle(), tasks=2)
    ask = topo.bolt("ask", lambda tup: tup, asked.shuffle(), tasks=2, fields=("n",))
    answers = topo.bolt("shard", shard or Shard(), ask.broadcast(), tasks=shards)
    return topo, answers.gather("question", timeout_s=timeout_s)


def gathered(result: Result) -> Counter[tuple[int, tuple[int, ...]]]:
    return Counter((question, tuple(by)) for question, by in result.collected("all"))


def every_question(shards: int = 3) -> Counter[tuple[int, tuple[int, ...]]]:
    return Counter((n, tuple(range(shards))) for n in range(COUNT))


class ByKey(KeyedBolt):
    fields = ("question", "by")

    def process(self, key: Any, tup: Tuple) -> Iterator[Any]:
        self.state[key] = self.state.get(key, 0) + 1
        yield key, [answer.by for answer in tup.answers]
