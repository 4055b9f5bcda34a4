"""A topology on a cluster in a box, and faults, as a user would write it; it owns the cluster and a Spark session.

`python -m tests.devcluster.chaos_driver DELIVERY SEED FAULTS`
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from penstock.connectors.collect import Collect
from penstock.connectors.rate import Rate
from penstock.devcluster import DevCluster, DevClusterSettings
from penstock.spark.run import Run, start
from penstock.testing import survive_in_a_box
from penstock.topology.bolts import KeyedBolt
from penstock.topology.topology import Topology
from penstock.topology.tuples import Tuple
from tests.spark import scenarios
from tests.spark.counted import Heard
from tests.spark.remote_driver import QUIET

PER_SECOND = 400
SECONDS_PER_FAULT = 6


class Numbered(KeyedBolt):
    """Numbers the tuples of each key, so that each that is lost or doubled shows."""

    fields = ("key", "number")

    def process(self, key: Any, tup: Tuple) -> Iterator[Any]:  # noqa: ARG002
        number = self.state[key] = self.state.get(key, 0) + 1
        yield key, number


def stream(faults: int, *, stateful: bool) -> Topology:
    """Long enough for so many faults. State is not kept at least once, so it is left out there."""
    topo = Topology("stream")
    numbers = topo.spout("numbers", Rate(PER_SECOND, limit=PER_SECOND * SECONDS_PER_FAULT * (faults + 1)))
    passed = topo.bolt("pass", lambda tup: (tup.seq, tup.seq % 97), numbers.shuffle(), tasks=4, fields=("n", "key"))
    topo.bolt("seen", Collect(), passed.shuffle())
    heard = topo.bolt("hear", Heard(), passed.broadcast(), tasks=5)
    topo.bolt("heard", Collect(), heard.to_one())
    if stateful:
        topo.bolt("rows", Collect(), topo.bolt("number", Numbered(), passed.by("key"), tasks=4).shuffle())
    return topo


def main(delivery: Any, seed: int, faults: int) -> None:
    settings = DevClusterSettings(nodes=3, slots_per_node=2)
    with (
        tempfile.TemporaryDirectory(prefix="penstock-chaos-") as name,
        DevCluster(settings) as cluster,  # where all are kept: if this is killed, the next one sweeps
    ):
        builder = SparkSession.builder.appName("chaos")
        for key, value in (cluster.spark_settings() | QUIET).items():
            builder = builder.config(key, value)
        spark = builder.getOrCreate()
        scenarios.await_slots(spark, count=6)
        checkpoint = Path(name) / "checkpoint" if delivery == "exactly_once" else None

        def begin(topology: Topology) -> Run:
            return start(
                topology,
                workers=4,
                spark=spark,
                delivery=delivery,
                checkpoint=checkpoint,
                epoch_every_s=0.5,
                detection_s=1.0,
                restart_after_s=2.0,
                max_restarts=100,
            )

        report = survive_in_a_box(
            lambda: stream(faults, stateful=delivery == "exactly_once"),
            cluster=cluster,
            start=begin,
            seed=seed,
            faults=faults,
            moving=True,
            tell=lambda text: print(text, flush=True),
        )
        spark.stop()
    print(f"{len(report.faults)} faults, {report.missing} rows missing, {report.surplus} too many", flush=True)
    report.check(delivery)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
