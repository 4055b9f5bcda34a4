"""A topology between two queries: three failed logins in a row are an alarm, and Spark knows whose it is.

Shows Spark on both sides: one query reads log lines and takes them apart, the topology counts record by record, and
another query joins its alarms with a table and writes them. Logins are made up:

    python examples/between_two_queries.py
    python examples/between_two_queries.py --logins 50000
"""

from __future__ import annotations

import argparse
import os
import random
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import penstock as ps

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

USERS = [(number, f"user{number}", "admins" if number % 10 == 0 else "staff") for number in range(50)]


class ThreeInARow(ps.KeyedBolt):
    """An alarm for every third failure of a user without a success in between."""

    fields = ("user", "line")

    def process(self, key: int, tup: ps.Tuple) -> Iterator[tuple[int, int]]:
        failures = 0 if tup.ok else self.state.get(key, 0) + 1
        self.state[key] = failures % 3
        if failures == 3:
            yield key, tup.line


def topology(spark: SparkSession, folder: Path) -> ps.Topology:
    """Builds logins -> alarms -> Spark."""
    # One file after the other: within a micro-batch, Spark promises no order.
    lines = spark.readStream.option("maxFilesPerTrigger", 1).text(str(folder / "log"))
    parts = "split(value, ' ')"
    logins = lines.selectExpr(
        f"cast({parts}[0] AS long) AS line", f"cast({parts}[1] AS long) AS user", f"{parts}[2] = 'ok' AS ok"
    )
    topo = ps.Topology("alarms")
    source = topo.spout("logins", ps.StreamingFrame(logins, checkpoint=folder / "logins", available_now=True))
    alarms = topo.bolt("alarm", ThreeInARow(), source.by("user"), tasks=2)
    topo.bolt("alarms", ps.SparkStream(folder / "spool", schema="user long, line long"), alarms.shuffle())
    return topo


def table(spark: SparkSession, folder: Path) -> DataFrame:
    """Runs the topology until all logins are done, with a query behind it that writes a table."""
    users = spark.createDataFrame(USERS, "user long, name string, role string")
    with ps.start(topology(spark, folder), spark=spark, workers=2, checkpoint=folder / "checkpoint") as run:
        alarms = spark.readStream.format("penstock").option("run", run.id).option("stream", "alarms").load()
        query = (
            alarms.join(users, "user")
            .writeStream.format("parquet")
            .option("checkpointLocation", str(folder / "alarms"))
            .start(str(folder / "table"))
        )
        run.wait()
    query.processAllAvailable()
    query.stop()
    return spark.read.parquet(str(folder / "table"))


def log_in(folder: Path, logins: int) -> None:
    """Writes logins to files: line number, user, and whether it was right."""
    (folder / "log").mkdir()
    for first in range(0, logins, 1000):
        lines = range(first, min(logins, first + 1000))
        text = "".join(f"{n} {random.randrange(50)} {'wrong' if random.random() < 0.3 else 'ok'}\n" for n in lines)
        file = folder / "log" / f"{first:09}.txt"
        file.write_text(text)
        # Spark reads the oldest file first, and those of one millisecond in any order: as if one came each second.
        written_s = file.stat().st_mtime + first // 1000
        os.utime(file, (written_s, written_s))


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description="Tells of failed logins.")
    parser.add_argument("--logins", type=int, default=10_000, help="how many (default: %(default)s)")
    options = parser.parse_args(arguments)

    spark = ps.local_session(workers=2)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        log_in(folder, options.logins)
        alarms = table(spark, folder)
        for row in alarms.groupBy("role").count().orderBy("role").collect():
            print(f"{row['count']:6,} alarms of {row.role}")


if __name__ == "__main__":
    main()
