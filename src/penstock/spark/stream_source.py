"""``spark.readStream.format("penstock")`` and ``spark.read``: a Python data source of Spark over a spool.

Its other half, which writes micro-batches to a run, is in feed_sink.

Spark makes these objects in processes of its own: the source and the planning of batches on the driver's machine,
`read` in executors. They hold a URL and nothing else that would have to last: where a query is says its offset, which
Spark keeps in the query's checkpoint, and what it has done with says the spool.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyspark.sql.datasource import DataSource, DataSourceReader, DataSourceStreamReader, InputPartition

from penstock.connectors.spool import Listing, Spool
from penstock.connectors.spool_offsets import Offset
from penstock.errors import RunError
from penstock.spark.feed_sink import FeedSink
from penstock.spark.feed_ticket import FEED_OPTION, FeedTicket
from penstock.spark.only_reader import OnlyReader
from penstock.spark.query_offsets import QueryOffsets, about_spool
from penstock.spark.spark_version import HERE, arrow_schema_of
from penstock.spark.streams import most_per_trigger, spool_url

if TYPE_CHECKING:
    from pyspark.sql.streaming.datasource import (
        ReadAllAvailable,
        ReadLimit,
        ReadMaxBytes,
        ReadMaxFiles,
        SupportsTriggerAvailableNow,
    )
    from pyspark.sql.types import StructType
else:
    try:
        from pyspark.sql.streaming.datasource import (
            ReadAllAvailable,
            ReadLimit,
            ReadMaxBytes,
            ReadMaxFiles,
            SupportsTriggerAvailableNow,
        )
    except ImportError:  # before _LIMITS_SINCE, where an _UnlimitedReader reads
        SupportsTriggerAvailableNow = object

__all__ = ["PenstockSource"]

# Small files are read together, so that a query with much to catch up on has no more tasks than it is worth.
_PARTITION_BYTES = 32 << 20

_LIMITS_SINCE = (4, 2)
"""The first Spark that says how much to read."""


class PenstockSource(DataSource):  # type: ignore[misc]
    """The format itself."""

    def __init__(self, options: Mapping[str, str]) -> None:
        super().__init__(options)
        self._trouble: RunError | None = None
        try:
            self._found = spool_url({**options})  # now, and not when it is opened elsewhere: a run may be over by then
            self._most = most_per_trigger({**options}, known=HERE >= _LIMITS_SINCE)
        except RunError as error:
            self._trouble = error  # of no interest to who wants to write

    @classmethod
    def name(cls) -> str:
        """What to give to ``format``."""
        return "penstock"

    @property
    def _url(self) -> str:
        if self._trouble is not None:
            raise self._trouble
        return self._found

    def schema(self) -> str:
        """The schema that the sink was given."""
        return about_spool(Spool(self._url)).schema

    def reader(self, schema: StructType) -> _Reader:
        """For ``spark.read``."""
        return _Reader(self._url, schema)

    def streamReader(self, schema: StructType) -> _StreamReader:
        """For ``spark.readStream``."""
        url, (files, size) = self._url, self._most
        return _UnlimitedReader(url, schema) if HERE < _LIMITS_SINCE else _LimitedReader(url, schema, files, size)

    def streamWriter(self, schema: StructType, overwrite: bool) -> FeedSink:  # noqa: ARG002
        """For `StreamingFrame`, whose query writes to a run."""
        return FeedSink(FeedTicket.from_option(self.options.get(FEED_OPTION)))


class _Files(InputPartition):  # type: ignore[misc]
    """What one task of Spark reads."""

    def __init__(self, names: list[str]) -> None:
        super().__init__(names)
        self.names = names


class _Rows:
    """Reads the rows of files, for both kinds of readers."""

    def __init__(self, url: str, schema: StructType) -> None:
        self._url = url
        self._schema = schema

    def read(self, partition: _Files) -> Iterator[pa.RecordBatch]:
        """The record batches as they were written."""
        wanted = arrow_schema_of(self._schema)
        spool = Spool(self._url)
        for name in partition.names:
            with _opened(spool, name) as file, pa.ipc.open_file(file) as batches:
                for number in range(batches.num_record_batches):
                    yield _as_wanted(batches.get_batch(number), wanted, spool)

    def _partitions(self, start: Offset, end: Offset) -> list[_Files]:
        found: list[_Files] = []
        room = 0
        for name, size in Spool(self._url).files(start, end):
            room -= size
            if not found or room < 0:
                found.append(_Files([]))
                room = _PARTITION_BYTES - size
            found[-1].names.append(name)
        return found


class _Reader(_Rows, DataSourceReader):  # type: ignore[misc]
    """All rows that are there now and that no query has taken."""

    def partitions(self) -> Sequence[_Files]:
        """Files of about 32 MiB together."""
        spool = Spool(self._url)
        start = spool.taken()
        # Without any, Spark would make up a partition of its own.
        return self._partitions(start, spool.newest_offset(start)) or [_Files([])]


class _StreamReader(_Rows, DataSourceStreamReader):  # type: ignore[misc]
    """All rows, as they come."""

    def __init__(self, url: str, schema: StructType) -> None:
        super().__init__(url, schema)
        self._only = OnlyReader(url)
        self._offsets = QueryOffsets(url)

    _taken: Offset | None = None
    """What was committed last, since this was made."""

    def initialOffset(self) -> dict[str, Any]:
        """Where a new query begins: behind what former ones have taken."""
        self._only.take()
        return self._offsets.kept(Spool(self._url).taken())

    def _newest(self, start: Offset) -> Offset:
        return Spool(self._url).newest_offset(start)

    def _visible_from(self, start: Offset) -> Offset:
        """Behind all that is visible, for a query that has done with everything behind `start`."""
        newest = self._newest(start)
        if newest == start != self._taken:
            # Spark commits a batch only when it begins the next one, and asks here only when it has written down that
            # the last one is done. If nothing new came, then perhaps because a full spool waits for this very commit.
            self._take(start)
        return newest

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> Sequence[_Files]:
        """Files of about 32 MiB together."""
        begin, past = self._offsets.offset(start), self._offsets.offset(end)
        self._only.take()  # a query that goes on with a batch that was planned begins here
        return self._partitions(begin, past)

    def commit(self, end: dict[str, Any]) -> None:
        """The query has done with everything behind `end`: it is deleted."""
        self._take(self._offsets.offset(end))

    def _take(self, end: Offset) -> None:
        Spool(self._url).take(end)
        self._taken = end

    def stop(self) -> None:
        """The query is over: another may read."""
        self._only.release()


class _LimitedReader(_StreamReader, SupportsTriggerAvailableNow):  # type: ignore[misc]
    """Reads at most so much for a micro-batch, from where Spark says that the query is."""

    def __init__(self, url: str, schema: StructType, most_files: int | None, most_bytes: int | None) -> None:
        super().__init__(url, schema)
        self._most_files, self._most_bytes = most_files, most_bytes

    _last: tuple[Listing, Listing] | None = None
    """What is to be read with ``trigger(availableNow=True)``."""

    def getDefaultReadLimit(self) -> ReadLimit:
        """What the options say. Spark may ask for more than that: for all, with ``trigger(once=True)``."""
        if self._most_files is not None:
            return ReadMaxFiles(self._most_files)
        return ReadAllAvailable() if self._most_bytes is None else ReadMaxBytes(self._most_bytes)

    def latestOffset(self, start: dict[str, Any], limit: ReadLimit) -> dict[str, Any]:
        """Behind all that is visible, or as much of it as a micro-batch may have."""
        begin = self._offsets.offset(start)
        self._only.take()
        newest = self._visible_from(begin)
        if newest != begin and not isinstance(limit, ReadAllAvailable):
            newest = Spool(self._url).shortened(
                begin,
                newest,
                most_files=getattr(limit, "max_files", None),
                most_bytes=getattr(limit, "max_bytes", None),
            )
        return self._offsets.kept(newest)

    def _newest(self, start: Offset) -> Offset:
        return super()._newest(start) if self._last is None else Spool(self._url).advanced(start, *self._last)

    def prepareForTriggerAvailableNow(self) -> None:
        """What comes later is none of the query's business."""
        spool = Spool(self._url)
        before = spool.visible()
        self._last = before, spool.visible()


class _UnlimitedReader(_StreamReader):
    """Reads all that there is for a micro-batch: before 4.2 Spark does not say where the query is when it asks.

    It plans nothing without having said so: a query that goes on from its checkpoint begins with an empty plan at the
    offset that was planned last, and asks for the latest offset only when that micro-batch is done.
    """

    _start: Offset | None = None
    """Where the query is; None: it is new."""

    def latestOffset(self) -> dict[str, Any]:
        """Behind all that is visible."""
        self._only.take()
        if self._start is None:
            self._start = Spool(self._url).taken()
        return self._offsets.kept(self._visible_from(self._start))

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> Sequence[_Files]:
        """Files of about 32 MiB together."""
        found = super().partitions(start, end)
        self._start = self._offsets.offset(end)
        return found


def _opened(spool: Spool, name: str) -> Any:
    try:
        return spool.folder.filesystem.open_input_file(spool.folder.place(name))
    except FileNotFoundError:
        message = f"spool {spool.shown}: wanted {name}, got no such file: a query has taken and deleted it meanwhile"
        raise RunError(message) from None


def _as_wanted(batch: pa.RecordBatch, wanted: pa.Schema, spool: Spool) -> pa.RecordBatch:
    """The same columns, with Spark's idea of their types, which may name parts of nested ones differently."""
    if batch.schema.equals(wanted):
        return batch
    try:
        return batch.cast(wanted)
    except (pa.ArrowException, ValueError) as error:
        message = f"spool {spool.shown}: wanted rows of {wanted}, got {batch.schema}: {error}"
        raise RunError(message) from error
