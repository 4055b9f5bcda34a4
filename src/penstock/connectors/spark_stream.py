"""A stream that Spark reads.

>>> import tempfile
>>> from penstock.topology.tuples import tuple_class
>>> sink = SparkStream(tempfile.mkdtemp(), schema="word string, count long")
>>> sink.open(TaskContext(topology="wordcount", component="totals", now_ns=lambda: 0))
>>> sink.process(tuple_class("count", "default", ("word", "count"))("blue", 3))
>>> sink.close()
>>> [name for name, size in Spool(sink.path).files({}, Spool(sink.path).newest_offset({}))]  # doctest: +ELLIPSIS
['rows-00000-00000001-0-...-00000000.arrow']
"""

from __future__ import annotations

import math
import os
import time
from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa

from penstock.connectors.ddl import arrow_schema
from penstock.connectors.folder import Folder, absolute, without_secrets
from penstock.connectors.row_batches import record_batch
from penstock.connectors.spool import Spool, name_of
from penstock.connectors.spool_owner import SpoolOwner
from penstock.connectors.unshown_files import UnshownFiles
from penstock.errors import RunError
from penstock.topology.context import TaskContext
from penstock.topology.transactional import TransactionalSink
from penstock.topology.tuples import Tuple

__all__ = ["SparkStream"]

# How many rows make a record batch: as many as Spark itself puts into one.
_ROWS_PER_BATCH = 10_000

# A file is complete at this size, where nobody says when: without epochs.
_FILE_BYTES = 32 << 20

_LOOK_EVERY_S = 0.05

# Between epochs, looking whether rows should be shown and showing them may take this part of the time.
_EARLY_SHARE = 0.1


class SparkStream(TransactionalSink):
    """Keeps the tuples that it is given for Spark: ``spark.readStream.format("penstock")``, or ``spark.read``.

    They lie in a *spool*, a folder of files, until a query has taken them. With ``delivery="exactly_once"`` a query
    gets every tuple once, whatever dies, at the end of its epoch: a second or so after it was emitted. Else it gets
    them as soon as it has taken what came before: with ``at_least_once`` every tuple, with ``at_most_once`` all but
    those that are lost with a worker.

    Args:
        path: a folder of its own, or a URL of one on any filesystem that pyarrow knows. All workers and all executors
            have to reach the same one. It belongs to one run at a time, and to one checkpoint for good.
        schema: the columns, as Spark writes them: ``"word string, count long"``. One for each field, of the same name.
        most_bytes: how large the spool may become. What one epoch adds may go beyond it.
        patience_s: how long to wait when it is full, with everything else on this worker, until a query has made room;
            then the run fails. Has to be less than the setting ``max_call_s``.
    """

    tick_every_s = _LOOK_EVERY_S

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        schema: str,
        most_bytes: int = 1 << 30,
        patience_s: float = 30.0,
    ) -> None:
        self.path = absolute(path)
        self.schema = schema
        self.most_bytes = most_bytes
        self.patience_s = patience_s

    def problems(self, tasks: int, fields: tuple[str, ...]) -> Iterator[str]:  # noqa: ARG002
        """Whether there can be such a spool, with such rows."""
        most: Any = self.most_bytes
        if not isinstance(most, int) or isinstance(most, bool) or most < 1:
            yield f"SparkStream: most_bytes: wanted a whole number above 0, got {most!r}"
        patience: Any = self.patience_s
        if not isinstance(patience, int | float) or isinstance(patience, bool) or not 0 <= patience < math.inf:
            yield f"SparkStream: patience_s: wanted a number of seconds, got {patience!r}"
        schema: Any = self.schema
        if not isinstance(schema, str):
            yield f"SparkStream: schema: wanted text such as 'word string, count long', got {schema!r}"
        else:
            try:
                arrow_schema(schema)
            except ValueError as error:
                yield f"SparkStream: {error}"
        try:
            Folder(self.path)
        except Exception as error:  # whatever a driver of a filesystem may raise
            got = f"{without_secrets(self.path)!r}: {type(error).__name__}"
            yield f"SparkStream: path: wanted a folder or a URL that pyarrow knows, got {got}"

    def open(self, context: TaskContext) -> None:
        """Makes the spool, if there is none."""
        name = f"{context.topology}.{context.component}"  # names have no dots, so it is the only one of this name
        self._sink = f"sink {name!r}"
        self._context = context
        self._task, self._attempt = context.index, context.attempt
        self._columns = arrow_schema(self.schema)
        self._fields = tuple(self._columns.names)
        self._spool = Spool(self.path)
        self._spool.create(schema=self.schema, sink=name)
        self._owner = SpoolOwner(self.path, run=context.run, checkpoint=context.checkpoint, sink=self._sink)
        self._owner.take()
        self._rows: list[tuple[Any, ...]] = []
        self._files = UnshownFiles(self._spool.folder, owner=self._sink, opened=pa.ipc.new_file)
        self._shown: str | None = None  # the last file that was shown
        self._resting_ns = (0, 0)
        self._begin()

    def process(self, tup: Tuple) -> None:
        """Keeps it for the next batch of rows."""
        if tup.fields != self._fields:
            message = f"{self._sink}: wanted fields {self._fields}, the columns of its schema, got {tup.fields}"
            raise RunError(message)
        self._rows.append(tuple(tup))
        if len(self._rows) >= _ROWS_PER_BATCH:
            self._write_batch()
            if not self.by_epochs and self._files.open_bytes >= _FILE_BYTES:
                self._commit_by_itself()

    def tick(self) -> None:
        """Lets readers see what there is, if nobody else says when."""
        if not self.by_epochs and self.is_ready():
            self._commit_by_itself()

    def is_ready(self) -> bool:
        """Whether a query has taken what it was shown last. Else it would only get more files, and smaller ones."""
        began_ns = self._context.now_ns()
        rests = self._resting_ns[0] <= began_ns < self._resting_ns[1]
        if rests or not (self._rows or self._files):
            return False
        ready = self._shown is None or not self._spool.folder.has(self._shown)
        self._rest(began_ns)
        return ready

    def _rest(self, began_ns: int) -> None:
        """Has done something since then that takes longer on some filesystems than on others."""
        now_ns = self._context.now_ns()
        self._resting_ns = (now_ns, now_ns + int((now_ns - began_ns) / _EARLY_SHARE))

    def prepare(self) -> list[str] | None:
        """Completes the file that it is writing, and waits for room. The token is the names of the files."""
        began_ns = self._context.now_ns()
        self._end_file()
        files = self._files.take()
        if not files:
            return None
        self._owner.require()
        self._await_room()
        self._rest(began_ns)
        return files

    def commit(self, token: Sequence[str]) -> None:
        """Lets readers see the files."""
        for name in token:
            self._spool.show(name, owner=self._sink)
            self._shown = name
        self._spool.folder.flush()

    def recover(self, tokens: Sequence[Any]) -> None:
        """Commits, and deletes the hidden files that this task, or one whose place it takes, has left."""
        super().recover(tokens)
        self._discard()
        self._spool.forget_hidden(task=self._task, tasks=self._context.count, attempt=self._attempt)
        self._begin()  # for there are numbers now that were given out and are not used

    def close(self) -> None:
        """Commits by itself, if nobody else does; else deletes what will come again."""
        try:
            super().close()
        finally:
            self._discard()

    def _begin(self) -> None:
        """Is a new writer, whose files come after those of all writers before."""
        self._writer = self._spool.register(
            task=self._task, attempt=self._attempt, now_s=self._context.now_ns() // 1_000_000_000
        )
        self._number = 0

    def _write_batch(self) -> None:
        rows, self._rows = self._rows, []
        try:
            batch = record_batch(rows, self._columns)
        except Exception as error:  # the rows are gone with it, so it is no failure of a single one
            message = f"{self._sink}: {error}"
            raise RunError(message) from error
        if not self._files.is_open:
            self._files.begin(name_of((self._writer, self._number)), self._columns)
            self._number += 1
        self._files.write(batch)

    def _end_file(self) -> None:
        if self._rows:
            self._write_batch()
        self._files.end()

    def _await_room(self) -> None:
        """Waits while the spool is too large and somebody could make it smaller."""
        deadline_s, told = time.monotonic() + self.patience_s, False
        while (total := self._spool.overfull(self.most_bytes)) is not None:
            full = f"spool {self._spool.shown} holds {total} bytes, of at most {self.most_bytes}"
            if time.monotonic() >= deadline_s:
                message = (
                    f"{self._sink}: {full}, and no query has made room for {self.patience_s} s. Read it with "
                    f'spark.readStream.format("penstock"), or give it more most_bytes or patience_s'
                )
                raise RunError(message)
            if not told:
                self._context.logger.warning(
                    "%s: waiting up to %s s until a query has made room", full, self.patience_s
                )
                told = True
            time.sleep(_LOOK_EVERY_S)

    def _discard(self) -> None:
        """As if nothing had come since the last token."""
        self._rows = []
        self._files.discard()

    def __repr__(self) -> str:
        return f"SparkStream({without_secrets(self.path)!r}, schema={self.schema!r})"
