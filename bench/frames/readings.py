"""The table that all of them read: readings of sensors, as Parquet."""

from pathlib import Path

import msgspec
from pyspark.sql import DataFrame, SparkSession

FILES = 8
SCHEMA = "sensor long, celsius double"


class Readings(msgspec.Struct, frozen=True, kw_only=True):
    """A table on disk. Written once, read by all."""

    session: SparkSession
    path: str
    rows: int

    @classmethod
    def written(cls, session: SparkSession, folder: Path, *, rows: int, sensors: int) -> "Readings":
        """Rows whose sensors are all mixed. Quarters of degrees: sums of them are exact, in whatever order."""
        path = str(folder / f"readings-{rows}")
        made = session.range(0, rows, 1, FILES).selectExpr(
            f"pmod(xxhash64(id), {sensors}) AS sensor", "pmod(xxhash64(id, 1), 400) / 4 AS celsius"
        )
        made.write.parquet(path)
        return cls(session=session, path=path, rows=rows)

    def frame(self) -> DataFrame:
        """As a table."""
        return self.session.read.parquet(self.path)

    def stream(self) -> DataFrame:
        """As a stream of its files; all of them are there already."""
        return self.session.readStream.schema(SCHEMA).parquet(self.path)
