"""A driver with a streaming query that copies a stream to Parquet files: `python -m tests.spark.stream_driver FOLDER`.

It reads FOLDER/spool, writes FOLDER/out, and goes on from FOLDER/query until it is killed, or the end is told in
FOLDER and all has been copied.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from penstock.spark.session import borrowed_session
from penstock.spark.streams import register
from tests.endless import End

EVERY = "200 milliseconds"
MOST_STARTS = 20


# What Spark says when the Python process of a source had no turn within ten seconds, which cannot be changed.
TOO_LATE = "connect back"


class Copying:
    """A query that copies rows. Where the machine was too busy for Spark, it starts again, and goes on where it was."""

    def __init__(self, rows: Any, folder: Path, trigger: dict[str, Any]) -> None:
        writing = rows.writeStream.format("parquet").option("checkpointLocation", str(folder / "query"))
        self._start = partial(writing.trigger(**trigger).start, str(folder / "out"))
        self._query = self._start()

    def go_on(self) -> bool:
        """Starts the query again if it was too late. Always True, to be asked while one waits for what it does."""
        error = None if self._query.isActive else self._query.exception()
        if error is not None:
            if TOO_LATE not in str(error):
                raise error
            self._query = self._start()
        return True

    def process_all(self) -> None:
        """Until all that is there is copied."""
        self._done(lambda: self._query.processAllAvailable())

    def await_end(self, timeout_s: float | None = None) -> None:
        """Until the query has ended by itself."""
        self._done(lambda: self._query.awaitTermination(timeout_s))

    def stop(self) -> None:
        """Ends it."""
        self._query.stop()

    def _done(self, call: Callable[[], object]) -> None:
        in_time(call, again=self.go_on)


def in_time(call: Callable[[], Any], *, again: Callable[[], object] = lambda: None) -> Any:
    """What a call returns that starts a query, or waits for one. It is repeated where the machine was too busy."""
    from pyspark.errors import StreamingQueryException

    for _ in range(MOST_STARTS):
        try:
            return call()
        except StreamingQueryException as error:
            if TOO_LATE not in str(error):
                raise
            again()
    message = f"the query was too late {MOST_STARTS} times"
    raise TimeoutError(message)


def copying(rows: Any, folder: Path, *, trigger: dict[str, Any] | None = None) -> Copying:
    """Starts a query."""
    return Copying(rows, folder, trigger or {"processingTime": EVERY})


def main(folder: Path) -> None:
    with borrowed_session(workers=2) as spark:
        register(spark)
        query = copying(spark.readStream.format("penstock").load(str(folder / "spool")), folder)
        while query.go_on() and not End(folder).is_told:
            query.await_end(0.2)
        query.process_all()
        query.stop()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
