"""A stream of numbers for Spark: files that appear in a folder, and are micro-batches of a query."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from penstock.connectors.parquet_sink import ParquetSink
from penstock.connectors.streaming_frame import StreamingFrame
from penstock.topology.topology import Topology

__all__ = ["Arrivals", "numbers_in", "numbers_to_files"]

KEYS = 17


class Arrivals:
    """Files with numbers in them. Each number is in one file, once."""

    def __init__(self, folder: Path, *, numbers_per_file: int = 200) -> None:
        self.folder = folder
        self.count = 0
        self._each = numbers_per_file
        folder.mkdir(exist_ok=True)

    def more(self, files: int = 1) -> None:
        """Some more files appear, each at once."""
        for _ in range(files):
            numbers = range(self.count, self.count + self._each)
            hidden = self.folder / ".hidden"
            hidden.write_text("".join(f"{number}\n" for number in numbers))
            hidden.rename(self.folder / f"{self.count:09}.csv")
            self.count += self._each

    def frame(self, spark: Any, *, files_per_batch: int = 1) -> Any:
        """The stream of them."""
        source = spark.readStream.schema("n long").option("maxFilesPerTrigger", files_per_batch)
        return source.csv(str(self.folder))


def numbers_to_files(spark: Any, folder: Path, arrivals: Arrivals, *, tasks: int = 2, **trigger: Any) -> Topology:
    """A topology that Spark feeds, and that writes what it is fed to files."""
    topo = Topology("numbers")
    numbers = topo.spout(
        "numbers", StreamingFrame(arrivals.frame(spark), checkpoint=folder / "query", **trigger), tasks=tasks
    )
    passed = topo.bolt("pass", lambda tup: (tup.n,), numbers.by("n"), tasks=2, fields=("n",))
    topo.bolt("files", ParquetSink(folder / "files"), passed.shuffle(), tasks=2)
    return topo


def numbers_in(folder: Path) -> list[int]:
    """What is in those files."""
    import pyarrow.parquet as pq

    files = sorted((folder / "files").glob("[!.]*.parquet"))
    return sorted(number for file in files for number in pq.read_table(file).column("n").to_pylist())
