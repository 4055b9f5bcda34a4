"""What takes part: a DataFrame or a streaming query. It can be timed, and its answer looked at."""

import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Protocol

import msgspec
from pyspark.sql import DataFrame

from bench.frames.readings import Readings

Made = Callable[[DataFrame], DataFrame]
Checksum = tuple[int, str]


class Contestant(Protocol):
    """Something that makes rows of readings."""

    @property
    def name(self) -> str:
        """Of the table's row."""

    def seconds(self, readings: Readings) -> float:
        """How long it takes until all rows are made, from the moment they are asked for. They are thrown away."""

    def checksum(self, readings: Readings) -> Checksum:
        """Of all rows that it makes, in whatever order."""


class Table(msgspec.Struct, frozen=True):
    """A DataFrame of a DataFrame."""

    name: str
    made: Made

    def seconds(self, readings: Readings) -> float:
        """See Contestant."""
        started = time.monotonic()
        self.made(readings.frame()).write.format("noop").mode("overwrite").save()
        return time.monotonic() - started

    def checksum(self, readings: Readings) -> Checksum:
        """See Contestant."""
        return checksum(self.made(readings.frame()))


class Query(msgspec.Struct, frozen=True):
    """A streaming DataFrame of a streaming one: a query over all that is there, in one micro-batch."""

    name: str
    made: Made

    def seconds(self, readings: Readings) -> float:
        """See Contestant."""
        with tempfile.TemporaryDirectory(prefix="penstock-bench-") as folder:
            started = time.monotonic()
            self._run(readings, folder, "noop")
            return time.monotonic() - started

    def checksum(self, readings: Readings) -> Checksum:
        """See Contestant."""
        with tempfile.TemporaryDirectory(prefix="penstock-bench-") as folder:
            rows = str(Path(folder, "rows"))
            self._run(readings, folder, "parquet", path=rows)
            return checksum(readings.session.read.parquet(rows))

    def _run(self, readings: Readings, folder: str, sink: str, **options: str) -> None:
        made = self.made(readings.stream()).writeStream.format(sink).options(**options)
        query = made.option("checkpointLocation", str(Path(folder, "checkpoint"))).trigger(availableNow=True).start()
        query.awaitTermination()


def checksum(frame: DataFrame) -> Checksum:
    """How many rows, and the sum of their hashes: the same in whatever order they come."""
    columns = ", ".join(f"`{name}`" for name in frame.columns)
    (row,) = frame.selectExpr("count(1)", f"CAST(sum(CAST(xxhash64({columns}) AS DECIMAL(38))) AS STRING)").collect()
    return row[0], row[1]
