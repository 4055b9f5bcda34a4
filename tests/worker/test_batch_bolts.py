"""Batch bolts among record bolts: they take what comes, as batches, and what they emit arrives as what is taken."""

from collections import Counter
from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from penstock.testing import CapturedSink, FedSpout, run_topology
from penstock.topology.bolts import BatchBolt, Bolt, KeyedBolt
from penstock.topology.emit import Emit
from penstock.topology.topology import Topology
from penstock.topology.tuples import Tuple

ROWS = [(f"w{number % 5}", number) for number in range(200)]
FIELDS = ("word", "n")


class BatchDouble(BatchBolt):
    fields = FIELDS

    def process_batch(self, batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
        assert isinstance(batch, pa.RecordBatch)
        assert batch.schema.names == list(FIELDS)
        yield batch.set_column(1, "n", pc.multiply(batch.column("n"), 2))


class BatchDoubleReturned(BatchDouble):
    def process_batch(self, batch: pa.RecordBatch) -> Any:
        return next(super().process_batch(batch))


class BatchDoubleHalves(BatchDouble):
    def process_batch(self, batch: pa.RecordBatch) -> Any:
        whole = next(super().process_batch(batch))
        middle = whole.num_rows // 2
        return [whole.slice(0, middle), None, whole.slice(middle)]


class RecordDouble(Bolt):
    fields = FIELDS

    def process(self, tup: Tuple) -> Any:
        return tup.word, tup.n * 2


class KeyedDouble(KeyedBolt):
    fields = FIELDS

    def process(self, key: Any, tup: Tuple) -> Iterator[Any]:
        assert key == tup.word
        yield key, tup.n * 2


KINDS = [BatchDouble, BatchDoubleReturned, BatchDoubleHalves, RecordDouble, KeyedDouble]


@pytest.mark.parametrize("workers", [1, 3])
@pytest.mark.parametrize("second", KINDS)
@pytest.mark.parametrize("first", KINDS)
def test_any_kind_after_any_kind(first: Any, second: Any, workers: int) -> None:
    topo, sink = Topology("mixed"), CapturedSink()
    stream = topo.spout("rows", FedSpout(ROWS, fields=FIELDS))
    for name, kind in (("first", first), ("second", second)):
        stream = topo.bolt(name, kind(), stream.by("word"), tasks=2)
    topo.bolt("sink", sink, stream.shuffle())
    result = run_topology(topo, workers=workers)

    assert result.failures == []
    assert Counter(sink.values) == Counter((word, n * 4) for word, n in ROWS)
    assert result.counts["second"].processed == len(ROWS)
    assert result.counts["second"].emitted == len(ROWS)


class Summing(BatchBolt):
    """Sums by word; says so at every tick, at the end, and errors to a stream of their own."""

    fields = ("word", "sum")
    streams = {"negative": ("word", "n")}  # noqa: RUF012

    def __init__(self) -> None:
        self.kept: list[pa.RecordBatch] = []

    def process_batch(self, batch: pa.RecordBatch) -> Any:
        self.kept.append(batch)
        return Emit(batch.filter(pc.less(batch.column("n"), 0)), stream="negative")

    def finish(self) -> Any:
        table = pa.Table.from_batches(self.kept).group_by("word").aggregate([("n", "sum")])
        return [batch.rename_columns(["word", "sum"]) for batch in table.to_batches()]


@pytest.mark.parametrize("workers", [1, 4])
def test_batches_can_be_kept_and_emitted_at_the_end_and_to_a_named_stream(workers: int) -> None:
    rows = [*ROWS, ("w1", -5), ("w2", -7)]
    topo, sums, negative = Topology("sums"), CapturedSink(), CapturedSink()
    summing = topo.bolt("summing", Summing(), topo.spout("rows", FedSpout(rows, fields=FIELDS)).by("word"), tasks=2)
    topo.bolt("sums", sums, summing.shuffle())
    topo.bolt("negative", negative, summing.stream("negative").shuffle())
    assert run_topology(topo, workers=workers).failures == []

    expected: Counter[str] = Counter()
    for word, n in rows:
        expected[word] += n
    assert dict(sums.values) == expected
    assert sorted(negative.values) == [("w1", -5), ("w2", -7)]


class Ticking(BatchBolt):
    fields = ("seen",)
    tick_every_s = 1.0

    def __init__(self) -> None:
        self.seen = 0

    def process_batch(self, batch: pa.RecordBatch) -> None:
        self.seen += batch.num_rows

    def tick(self) -> pa.RecordBatch:
        return pa.record_batch({"seen": [self.seen]})


def test_a_batch_bolt_can_tick() -> None:
    topo, spout, sink = Topology("ticking"), FedSpout(fields=("n",)), CapturedSink()
    spout.feed(*[(n,) for n in range(10)])
    topo.bolt("sink", sink, topo.bolt("ticking", Ticking(), topo.spout("numbers", spout).shuffle()).shuffle())
    run_topology(topo, drain_after_s=2.0)
    assert sink.values == [(10,), (10,)]


def test_a_batch_with_wrong_columns_is_reported() -> None:
    class Wrong(BatchBolt):
        fields = ("a", "b")

        def process_batch(self, batch: pa.RecordBatch) -> Any:
            return batch

    topo, sink = Topology("wrong"), CapturedSink()
    topo.bolt(
        "sink", sink, topo.bolt("wrong", Wrong(), topo.spout("rows", FedSpout(ROWS, fields=FIELDS)).shuffle()).shuffle()
    )
    [failure] = run_topology(topo, workers=2, delivery="at_most_once").failures

    assert failure.component == "wrong"
    assert "columns ['word', 'n'], wanted ['a', 'b']" in failure.message
    assert sink.values == []
