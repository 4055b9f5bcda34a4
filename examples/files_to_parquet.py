"""Files to Parquet through a stateful topology: who has spent more than he may, known with the very order.

Shows a streaming DataFrame in the place of a spout, state by key, and files that appear exactly once: the run is
stopped in the middle, and another one goes on where it was. Orders are made up meanwhile:

    python examples/files_to_parquet.py
    python examples/files_to_parquet.py --files 200 --folder orders
"""

from __future__ import annotations

import argparse
import contextlib
import random
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import penstock as ps

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

ORDERS = "id long, customer string, amount double"
LIMIT = 1000.0


class Overdrawn(ps.KeyedBolt):
    """The first order of each customer that takes him over the limit."""

    fields = ("customer", "order", "spent")

    def process(self, key: str, tup: ps.Tuple) -> Iterator[tuple[str, int, float]]:
        spent = self.state.get(key, 0.0)
        self.state[key] = spent + tup.amount
        if spent <= LIMIT < spent + tup.amount:
            yield key, tup.id, spent + tup.amount


def topology(spark: SparkSession, folder: Path, *, available_now: bool = False) -> ps.Topology:
    """Builds orders -> overdrawn -> files."""
    orders = spark.readStream.schema(ORDERS).option("maxFilesPerTrigger", 10).csv(str(folder / "orders"))
    topo = ps.Topology("overdrawn")
    source = topo.spout(
        "orders", ps.StreamingFrame(orders, checkpoint=folder / "query", available_now=available_now), tasks=2
    )
    overdrawn = topo.bolt("overdrawn", Overdrawn(), source.by("customer"), tasks=2)
    topo.bolt("files", ps.ParquetSink(folder / "overdrawn"), overdrawn.shuffle())
    return topo


def order(folder: Path, files: int) -> None:
    """Has files with orders appear, each at once, as whoever writes them should."""
    for number in range(files):
        rows = [f"{number * 20 + n},customer {random.randrange(40)},{random.randrange(1, 100)}" for n in range(20)]
        hidden = folder / ".hidden"
        hidden.write_text("\n".join(rows))
        hidden.rename(folder / f"{number:06}.csv")
        time.sleep(0.02)


def overdrawn(spark: SparkSession, folder: Path, files: int) -> DataFrame:
    """Runs the topology while orders come, and a second time until all are done."""
    (folder / "orders").mkdir(parents=True)
    topo = topology(spark, folder)
    print(topo.describe())
    with ps.start(topo, spark=spark, workers=2, checkpoint=folder / "checkpoint"):
        order(folder / "orders", files)
        print("\nall orders are there, and the run is stopped wherever it is; another one goes on\n")
    ended = topology(spark, folder, available_now=True)
    ps.run(ended, spark=spark, workers=2, checkpoint=folder / "checkpoint")
    return spark.read.parquet(str(folder / "overdrawn"))


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description="Finds out who has spent more than he may.")
    parser.add_argument("--folder", type=Path, help="where everything is (default: a new one, which is deleted again)")
    parser.add_argument("--files", type=int, default=100, help="files of 20 orders each (default: %(default)s)")
    options = parser.parse_args(arguments)

    spark = ps.local_session(workers=2)
    with contextlib.ExitStack() as resources:
        folder = options.folder or Path(resources.enter_context(tempfile.TemporaryDirectory()))
        for row in sorted(overdrawn(spark, folder, options.files).collect()):
            print(f"{row.customer:12} went over {LIMIT:,.0f} with order {row.order:5}, to {row.spent:,.0f}")


if __name__ == "__main__":
    main()
