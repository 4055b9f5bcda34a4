"""A driver with a streaming query that copies a stream to Parquet files: `python -m tests.spark.stream_driver FOLDER`.

It reads FOLDER/spool, writes FOLDER/out, and goes on from FOLDER/query until it is killed, or FOLDER/end is there and
all has been copied.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from penstock.spark.session import borrowed_session
from penstock.spark.streams import register

EVERY = "200 milliseconds"


def copying(rows: Any, folder: Path, *, trigger: dict[str, Any] | None = None) -> Any:
    """Starts a query."""
    writing = rows.writeStream.format("parquet").option("checkpointLocation", str(folder / "query"))
    return writing.trigger(**(trigger or {"processingTime": EVERY})).start(str(folder / "out"))


def main(folder: Path) -> None:
    with borrowed_session(workers=2) as spark:
        register(spark)
        query = copying(spark.readStream.format("penstock").load(str(folder / "spool")), folder)
        while not (folder / "end").exists():
            query.awaitTermination(0.2)
        query.processAllAvailable()
        query.stop()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
