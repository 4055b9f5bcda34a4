"""A topology counts words, and a Structured Streaming query writes the counts to a table as they come.

Shows a stream that Spark reads. Nothing is lost and nothing comes twice, whatever dies on either side:

    python examples/stream_to_spark.py
    python examples/stream_to_spark.py --words 100000 --workers 3
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import penstock as ps

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

NAMES = ["nathan", "mike", "jackson", "golda", "bertels"]


class Count(ps.KeyedBolt):
    fields = ("word", "count")

    def process(self, key: str, tup: ps.Tuple) -> Iterator[Any]:  # noqa: ARG002
        self.state[key] = self.state.get(key, 0) + 1
        yield key, self.state[key]


def topology(spool: str | Path = "spool", per_second: float = 5000.0, words: int = 20_000) -> ps.Topology:
    """Builds words -> count -> counts."""
    topo = ps.Topology("stream_to_spark")
    spoken = topo.spout("words", ps.Rate(per_second, NAMES, limit=words, fields=("word",)))
    counts = topo.bolt("count", Count(), spoken.by("word"), tasks=2)
    topo.bolt("counts", ps.SparkStream(spool, schema="word string, count long"), counts.shuffle())
    return topo


def table(spark: SparkSession, topo: ps.Topology, folder: Path, workers: int | None = None) -> DataFrame:
    """Runs the topology to its end, with a query beside it that copies all counts to a table."""
    with ps.start(topo, spark=spark, workers=workers, checkpoint=folder / "checkpoint") as run:
        counts = spark.readStream.format("penstock").option("run", run.id).option("stream", "counts").load()
        query = (
            counts.writeStream.format("parquet")
            .option("checkpointLocation", str(folder / "query"))
            .trigger(processingTime="500 milliseconds")
            .start(str(folder / "table"))
        )
        run.wait()
    query.processAllAvailable()
    query.stop()
    return spark.read.parquet(str(folder / "table"))


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description="Counts words, and has Spark write the counts to a table.")
    parser.add_argument("--words", type=int, default=20_000, help="words in all (default: %(default)s)")
    parser.add_argument("--workers", type=int, default=2, help="worker processes (default: %(default)s)")
    options = parser.parse_args(arguments)

    from pyspark.sql import SparkSession

    # One slot for each worker, and one for the query.
    spark = SparkSession.builder.master(f"local[{options.workers + 1},4]").getOrCreate()
    with tempfile.TemporaryDirectory() as folder:
        counts = table(spark, topology(Path(folder, "spool"), words=options.words), Path(folder), options.workers)
        for word, count in sorted(counts.groupBy("word").max("count").collect()):
            print(f"{count:8,}  {word}")
        print(f"{counts.count():,} rows in the table")


if __name__ == "__main__":
    main()
