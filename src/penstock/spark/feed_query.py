"""The query that feeds a spout: started when the run has begun, started again when it fails, stopped with the run."""

from __future__ import annotations

import logging
import re
import threading
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from penstock.connectors.streaming_frame import StreamingFrame
from penstock.control.events import FeedFailed, FeedOver
from penstock.errors import StartError
from penstock.spark.feed_ticket import FEED_OPTION, FeedTicket
from penstock.spark.spark_errors import remote_error

if TYPE_CHECKING:
    from pyspark.sql.streaming import DataStreamWriter, StreamingQuery

__all__ = ["FeedQuery"]

log = logging.getLogger(__name__)

MOST_FAILURES = 10
"""How often in a row the query may fail, without a micro-batch in between, until the run does."""
_FIRST_PAUSE_S = 0.05
_LONGEST_PAUSE_S = 2.0
_PAUSE_PATIENCE_S = 5.0
_PAUSE_LOOK_S = 0.01


class FeedQuery:
    """Keeps one query going.

    A query fails when the run has given up a micro-batch, because a worker was lost with some of its rows: its next
    start brings them again. Or because of what it computes: then it fails again.

    Args:
        frame: what is read.
        ticket: how its sink reaches the run.
        writers: how many tasks of Spark's may push at a time.
        post: tells the controller how it ended.
        is_wanted: whether the run still takes rows.
    """

    def __init__(
        self,
        frame: StreamingFrame,
        ticket: FeedTicket,
        *,
        writers: int,
        post: Callable[[FeedOver | FeedFailed], object],
        is_wanted: Callable[[], bool],
    ) -> None:
        self._frame = frame
        self._ticket = ticket
        self._writers = writers
        self._post = post
        self._is_wanted = is_wanted
        self._closing = threading.Event()
        self._lock = threading.Lock()
        from penstock.spark.spark_version import inheriting

        self._query = self._started()
        # Spark keeps a connection for each thread that asks it something, and closes it for those it has wrapped.
        watch = inheriting(frame.frame.sparkSession, self._watch)
        self._thread = threading.Thread(target=watch, name=f"penstock-feed-{ticket.component}", daemon=True)
        self._thread.start()

    def _started(self) -> StreamingQuery:
        frame = self._frame
        # Formats are looked up in the session that is active in this thread of the JVM. This makes it so.
        frame.frame.sparkSession.createDataFrame([], "nothing int")
        # Not more tasks than may push: whoever is held back holds a slot, and others of the query could need it.
        writer = self._into_the_run(frame.frame.coalesce(self._writers).writeStream)
        writer = writer.option("checkpointLocation", frame.checkpoint).outputMode(frame.output_mode)
        if frame.available_now:
            writer = writer.trigger(availableNow=True)
        elif frame.every_s is not None:
            writer = writer.trigger(processingTime=f"{round(frame.every_s * 1000)} milliseconds")
        try:
            return writer.start()
        except Exception as error:  # of many kinds, and none of ours
            message = f"StreamingFrame {self._ticket.component!r}: its query cannot start: {error}"
            raise StartError(message) from error

    def _into_the_run(self, writer: DataStreamWriter) -> DataStreamWriter:
        from penstock.spark.spark_version import sinks_take_batches

        if sinks_take_batches(self._frame.frame.sparkSession):
            return writer.format("penstock").option(FEED_OPTION, self._ticket.to_option())
        from penstock.spark.feed_sink import feeding

        return writer.foreachBatch(feeding(self._ticket))

    def _watch(self) -> None:
        failures = 0
        while True:
            error = self._ended()
            if self._closing.is_set() or not self._is_wanted():
                return
            if error is None:
                self._post(FeedOver(component=self._ticket.component))
                return
            failures = 1 if self._has_progressed() else failures + 1
            if failures > MOST_FAILURES:
                self._post(FeedFailed(component=self._ticket.component, error=error))
                return
            log.warning("the query that feeds %r failed and is started again: %s", self._ticket.component, _gist(error))
            if self._closing.wait(min(_LONGEST_PAUSE_S, _FIRST_PAUSE_S * 2**failures)):
                return
            with self._lock:  # not to be closed between the two
                if self._closing.is_set():
                    return
                try:
                    self._query = self._started()
                except StartError as start_error:
                    self._post(FeedFailed(component=self._ticket.component, error=str(start_error)))
                    return

    def _ended(self) -> str | None:
        """Waits until the query has ended; returns what it failed with, or None."""
        try:
            self._query.awaitTermination()
        except Exception as error:  # StreamingQueryException, or that the session is gone
            return remote_error(error)
        return None

    def _has_progressed(self) -> bool:
        try:
            return self._query.lastProgress is not None
        except Exception:  # the session is gone
            return False

    def _await_pause(self) -> None:
        """To stop a query is to interrupt it, wherever it is, and Spark's own processes complain about that."""
        deadline_s = time.monotonic() + _PAUSE_PATIENCE_S
        while self._query.isActive and self._query.status["isTriggerActive"] and time.monotonic() < deadline_s:
            time.sleep(_PAUSE_LOOK_S)

    def close(self) -> None:
        """Stops the query. If it is at a micro-batch, the run has told it to give up."""
        with self._lock:
            self._closing.set()
            try:
                self._await_pause()
                self._query.stop()
            except Exception as error:  # the session is gone, and the query with it
                log.debug("the query that feeds %r was not stopped: %s", self._ticket.component, error)
        self._thread.join()


def _gist(error: str) -> str:
    """What our own sink said, or else Spark's first line: the rest is a plan, and a page of Scala."""
    own = re.search(r"penstock\.errors\.RunError: (.*)", error)
    return own[1] if own else error.splitlines()[0]
