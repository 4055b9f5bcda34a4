"""A table through a topology to a table: readings that stand out, found record by record, inside one Spark job.

Shows a DataFrame in the place of a spout, state by key in the order of time, and a result that is a DataFrame again: it
is joined with another one and written. The table is made up, or what --input finds:

    python examples/table_through_topology.py
    python examples/table_through_topology.py --input readings.parquet --output spikes.parquet --workers 2
"""

from __future__ import annotations

import argparse
import contextlib
import tempfile
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import penstock as ps

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

SPIKES = "sensor string, at timestamp, value double, usual double"


class Spikes(ps.KeyedBolt):
    """Readings that are more than twice what the sensor has shown lately."""

    fields = ("sensor", "at", "value", "usual")

    def process(self, key: str, tup: ps.Tuple) -> Iterator[tuple[str, object, float, float]]:
        usual = self.state.get(key, tup.value)
        if tup.value > 2 * usual:
            yield key, tup.at, tup.value, usual
        self.state[key] = 0.9 * usual + 0.1 * tup.value


def topology(tasks: int = 2) -> ps.Topology:
    """Builds readings -> spikes."""
    topo = ps.Topology("spikes")
    readings = topo.spout("readings", ps.FromFrame("sensor", "at", "value"))
    topo.bolt("spikes", Spikes(), readings.by("sensor"), tasks=tasks)
    return topo


def spikes(readings: DataFrame, *, workers: int | None = None) -> DataFrame:
    """The readings that stand out."""
    # A sensor's readings are in one partition and in order; whole partitions go to a worker, which keeps the order.
    in_order = readings.repartition("sensor").sortWithinPartitions("sensor", "at")
    return ps.transform(topology(), {"readings": in_order}, output="spikes", schema=SPIKES, workers=workers)


def made_up(spark: SparkSession, sensors: int = 20, minutes: int = 500) -> DataFrame:
    """A reading of each sensor every minute; now and then one stands out."""
    return spark.range(sensors * minutes).selectExpr(
        f"concat('s', id % {sensors}) AS sensor",
        f"timestamp_seconds(1700000000 + 60 * (id div {sensors})) AS at",
        f"if(id % 997 = 996, 90.0D, 20.0D + id div {sensors} % 5) AS value",
    )


def main(arguments: Sequence[str] | None = None) -> None:
    from pyspark.sql import SparkSession

    parser = argparse.ArgumentParser(description="Finds readings that stand out in a table.")
    parser.add_argument("--input", help="a Parquet table of sensor, at and value (default: one that is made up)")
    parser.add_argument("--output", help="where to write the Parquet table of spikes (default: a temporary folder)")
    parser.add_argument("--workers", type=int, help="worker processes (default: one for each free slot)")
    options = parser.parse_args(arguments)

    with contextlib.ExitStack() as leaving:
        spark = SparkSession.getActiveSession()
        if spark is None:
            spark = SparkSession.builder.master("local[4,4]").getOrCreate()
            leaving.callback(spark.stop)
        output = options.output or f"{leaving.enter_context(tempfile.TemporaryDirectory())}/spikes.parquet"
        readings = spark.read.parquet(options.input) if options.input else made_up(spark)

        spikes(readings, workers=options.workers).write.parquet(output, mode="overwrite")

        written = spark.read.parquet(output)
        rooms = spark.createDataFrame([(f"s{n}", f"room {n % 3}") for n in range(20)], "sensor string, room string")
        written.join(rooms, "sensor").groupBy("room").count().orderBy("room").show()
        print(f"{written.count()} of {readings.count():,} readings stand out")


if __name__ == "__main__":
    main()
