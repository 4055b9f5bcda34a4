"""The ways from the source to the last operator, each on the session that is given, for as long as it is measured."""

import contextlib
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import msgspec
import pyarrow as pa

import penstock as ps
from bench.paths.arrivals import note
from bench.paths.topology import LineSpout, ending_here, ending_in_spark
from penstock.flow.delivery import Delivery

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

WORKERS = 2

Progress = Callable[[], list[dict[str, Any]]]
"""What Spark says of the micro-batches of the first query on the way."""


class Place(msgspec.Struct, frozen=True, kw_only=True):
    """Where it happens."""

    spark: Any
    port: int
    folder: str


class Way(msgspec.Struct, frozen=True, kw_only=True):
    """One way."""

    name: str
    delivery: Delivery | None
    """None where no topology is on the way."""
    queried_before: bool
    """Whether a query reads the source; else a spout does."""
    queried_behind: bool
    """Whether a query reads the topology's output."""

    def __str__(self) -> str:
        return self.name if self.delivery is None else f"{self.name}, {self.delivery}"

    @contextlib.contextmanager
    def open(self, place: Place) -> Iterator[Progress]:
        """Lines flow; the last operator notes them."""
        with contextlib.ExitStack() as stack:
            if self.delivery is None:
                yield stack.enter_context(_noting_query(_lines(place), place, column="value"))
                return
            spout: ps.Spout = LineSpout(place.port)
            if self.queried_before:
                spout = ps.StreamingFrame(_lines(place), checkpoint=f"{place.folder}/feeding")
            spool = f"{place.folder}/spool"
            topology = ending_in_spark(spout, spool) if self.queried_behind else ending_here(spout, place.folder)
            checkpoint = f"{place.folder}/checkpoint" if self.delivery == "exactly_once" else None
            stack.enter_context(
                ps.start(topology, spark=place.spark, workers=WORKERS, delivery=self.delivery, checkpoint=checkpoint)
            )
            feeding = place.spark.streams.active
            if self.queried_behind:
                counts = place.spark.readStream.format("penstock").load(spool)
                stack.enter_context(_noting_query(counts, place, column="line"))
            yield (lambda: feeding[0].recentProgress) if self.queried_before else list


def _ways(name: str, *, before: bool, behind: bool) -> Iterator[Way]:
    promises: tuple[Delivery, ...] = ("at_least_once", "exactly_once")
    for delivery in promises:
        yield Way(name=name, delivery=delivery, queried_before=before, queried_behind=behind)


WAYS = (
    Way(name="query alone", delivery=None, queried_before=True, queried_behind=False),
    *_ways("query → topology", before=True, behind=False),
    *_ways("topology alone", before=False, behind=False),
    *_ways("topology → query", before=False, behind=True),
    *_ways("query → topology → query", before=True, behind=True),
)


def _lines(place: Place) -> "DataFrame":
    """Spark's own source for a TCP connection, with two more stamps.

    What Spark calls the current time is that of the beginning of the micro-batch. The other is taken row by row, by the
    task that computes it.
    """
    spark: SparkSession = place.spark
    source = spark.readStream.format("socket").option("host", "127.0.0.1").option("port", place.port).load()
    begun = "'begun_ms=', unix_millis(current_timestamp())"
    computed = "'computed_ms=', reflect('java.lang.System', 'currentTimeMillis')"
    return source.selectExpr(f"concat(value, ' ', {begun}, ' ', {computed}) AS value")


@contextlib.contextmanager
def _noting_query(frame: "DataFrame", place: Place, *, column: str) -> Iterator[Progress]:
    """A Python operator at the end of a query, in one task, and a sink that costs nothing."""
    folder = place.folder

    def noting(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            note(folder, batch.column(column).to_pylist())
            yield batch

    writer = frame.coalesce(1).mapInArrow(noting, frame.schema).writeStream.format("noop")
    query = writer.option("checkpointLocation", f"{folder}/reading").start()
    try:
        yield lambda: query.recentProgress
    finally:
        query.stop()
