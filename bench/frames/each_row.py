"""One row out for each row in, nothing exchanged: degrees Celsius to Fahrenheit, by rule of thumb."""

from collections.abc import Iterator

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame
from pyspark.sql.functions import udf

import penstock as ps
from bench.frames.contestant import Contestant, Table
from bench.frames.session import SLOTS

RECORD_BOLT = "transform, record bolt"
BATCH_BOLT = "transform, BatchBolt"
ARROW = "mapInArrow"
UDF = "row-at-a-time UDF"
"""As Spark 4.3 runs it unless told otherwise: rows come and go as Arrow."""
PICKLED_UDF = "row-at-a-time UDF, pickled"
"""As Spark runs it with spark.sql.execution.pythonUDF.arrow.enabled=false."""
_SCHEMA = "sensor long, fahrenheit double"


class Fahrenheit(ps.Bolt):
    """Row by row."""

    fields = ("sensor", "fahrenheit")

    def process(self, tup: ps.Tuple) -> tuple[int, float]:
        return tup.sensor, tup.celsius * 2 + 30


class FahrenheitBatches(ps.BatchBolt):
    """Batch by batch."""

    fields = ("sensor", "fahrenheit")

    def process_batch(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        return _batch_in_fahrenheit(batch)


def _batch_in_fahrenheit(batch: pa.RecordBatch) -> pa.RecordBatch:
    fahrenheit = pc.add(pc.multiply(batch.column(1), 2.0), 30.0)
    return pa.RecordBatch.from_arrays([batch.column(0), fahrenheit], names=["sensor", "fahrenheit"])


def _transform(frame: DataFrame, bolt: ps.Bolt | ps.BatchBolt) -> DataFrame:
    topology = ps.Topology("each-row")
    readings = topology.spout("readings", ps.FromFrame("sensor", "celsius"))
    topology.bolt("fahrenheit", bolt, readings.local_or_shuffle(), tasks=SLOTS)
    return ps.transform(topology, {"readings": frame}, output="fahrenheit", schema=_SCHEMA, workers=SLOTS)


def _map_in_arrow(frame: DataFrame) -> DataFrame:
    def work(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        yield from map(_batch_in_fahrenheit, batches)

    return frame.mapInArrow(work, _SCHEMA)


def _map_in_pandas(frame: DataFrame) -> DataFrame:
    def work(parts: Iterator[pd.DataFrame]) -> Iterator[pd.DataFrame]:
        for part in parts:
            yield pd.DataFrame({"sensor": part.sensor, "fahrenheit": part.celsius * 2 + 30})

    return frame.mapInPandas(work, _SCHEMA)


def _udf(frame: DataFrame, *, arrow: bool) -> DataFrame:
    def work(celsius: float) -> float:
        return celsius * 2 + 30

    return frame.select("sensor", udf(work, "double", useArrow=arrow)("celsius").alias("fahrenheit"))


def by_spark(frame: DataFrame) -> DataFrame:
    """The right answer."""
    return frame.selectExpr("sensor", "celsius * 2 + 30 AS fahrenheit")


EACH_ROW: tuple[Contestant, ...] = (
    Table(RECORD_BOLT, lambda frame: _transform(frame, Fahrenheit())),
    Table(BATCH_BOLT, lambda frame: _transform(frame, FahrenheitBatches())),
    Table(ARROW, _map_in_arrow),
    Table("mapInPandas", _map_in_pandas),
    Table(UDF, lambda frame: _udf(frame, arrow=True)),
    Table(PICKLED_UDF, lambda frame: _udf(frame, arrow=False)),
)
