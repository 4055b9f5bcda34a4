"""A total for each key, rows exchanged by key."""

from collections.abc import Iterator
from typing import Any

import pandas as pd
import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql.functions import count
from pyspark.sql.functions import sum as sum_of

import penstock as ps
from bench.frames.contestant import Contestant, Table
from bench.frames.session import SLOTS

BATCH_BOLT = "transform, BatchBolt"
PANDAS = "applyInPandas"
_SCHEMA = "sensor long, readings long, total double"


class Totals(ps.KeyedBolt):
    """Row by row."""

    fields = ("sensor", "readings", "total")

    def process(self, key: Any, tup: ps.Tuple) -> None:
        readings, total = self.state.get(key, (0, 0.0))
        self.state[key] = readings + 1, total + tup.celsius

    def finish(self) -> Iterator[tuple[int, int, float]]:
        for sensor, (readings, total) in self.state.items():
            yield sensor, readings, total


class BatchTotals(ps.BatchBolt):
    """Batch by batch: each is summed up, and the sums are summed up in the end."""

    fields = ("sensor", "readings", "total")

    def open(self, context: ps.TaskContext) -> None:  # noqa: ARG002
        self.parts: list[pa.Table] = []

    def process_batch(self, batch: pa.RecordBatch) -> None:
        summed = pa.Table.from_batches([batch]).group_by("sensor").aggregate([("celsius", "count"), ("celsius", "sum")])
        self.parts.append(summed.rename_columns(["sensor", "readings", "total"]))
        if len(self.parts) == 256:  # so that they do not become as many as the rows
            self.parts = [self._summed()]

    def finish(self) -> Iterator[pa.RecordBatch]:
        if self.parts:
            yield from self._summed().combine_chunks().to_batches()

    def _summed(self) -> pa.Table:
        whole = pa.concat_tables(self.parts).group_by("sensor").aggregate([("readings", "sum"), ("total", "sum")])
        return whole.rename_columns(["sensor", "readings", "total"])


def _transform(frame: DataFrame, bolt: ps.KeyedBolt | ps.BatchBolt) -> DataFrame:
    topology = ps.Topology("by-key")
    readings = topology.spout("readings", ps.FromFrame("sensor", "celsius"))
    topology.bolt("totals", bolt, readings.by("sensor"), tasks=SLOTS)
    return ps.transform(topology, {"readings": frame}, output="totals", schema=_SCHEMA, workers=SLOTS)


def _apply_in_pandas(frame: DataFrame) -> DataFrame:
    def work(key: tuple[int], rows: pd.DataFrame) -> pd.DataFrame:
        return pd.DataFrame({"sensor": [key[0]], "readings": [len(rows)], "total": [rows.celsius.sum()]})

    return frame.groupBy("sensor").applyInPandas(work, _SCHEMA)


def by_spark(frame: DataFrame) -> DataFrame:
    """The right answer."""
    return frame.groupBy("sensor").agg(count("*").alias("readings"), sum_of("celsius").alias("total"))


BY_KEY: tuple[Contestant, ...] = (
    Table("transform, record bolt", lambda frame: _transform(frame, Totals())),
    Table(BATCH_BOLT, lambda frame: _transform(frame, BatchTotals())),
    Table(PANDAS, _apply_in_pandas),
)
