"""Writing Parquet files.

>>> import pathlib, tempfile
>>> from penstock.topology.tuples import tuple_class
>>> folder = pathlib.Path(tempfile.mkdtemp())
>>> sink = ParquetSink(folder)
>>> sink.open(TaskContext(topology="wordcount", component="totals"))
>>> sink.process(tuple_class("count", "default", ("word", "count"))("blue", 3))
>>> sink.close()
>>> pq.read_table(folder).to_pylist()
[{'word': 'blue', 'count': 3}]
"""

from __future__ import annotations

import itertools
import os
import re
import secrets
from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from penstock.connectors.folder import HIDDEN, Folder, absolute, without_secrets
from penstock.connectors.row_batches import record_batch
from penstock.connectors.unshown_files import UnshownFiles
from penstock.errors import RunError
from penstock.topology.context import TaskContext
from penstock.topology.transactional import TransactionalSink
from penstock.topology.tuples import Tuple

__all__ = ["ParquetSink"]

# How many rows wait until they are written as a group: enough for columns to compress, few enough to hold in memory.
_ROWS_PER_GROUP = 1 << 16


class ParquetSink(TransactionalSink):
    """Writes the tuples that it is given to Parquet files in a folder, a column for each field.

    With ``delivery="exactly_once"`` each task adds a file per epoch, and every tuple is in the files once, whatever
    dies. With ``"at_least_once"`` each task adds a file per marker, about every second; the rows of a file that has not
    appeared yet come again if their worker dies. With ``"at_most_once"`` a file appears when it has `rows_per_file`
    rows and when the task ends; the rows of a file that has not appeared yet are lost with their worker.

    Several sinks, runs and checkpoints may write to one folder. Each cleans up after itself alone: a run that goes on
    from its checkpoint deletes the hidden files that will come again.

    Args:
        path: a folder, or a URL of one on any filesystem that pyarrow knows. All workers have to reach the same one.
        schema: the types of the columns. Without it they are guessed from the first rows of each task, which is no good
            where a column may be empty at first, or whole numbers may be followed by others.
        rows_per_file: how many rows a file has at most.
    """

    def __init__(
        self, path: str | os.PathLike[str], *, schema: pa.Schema | None = None, rows_per_file: int = 1_000_000
    ) -> None:
        self.path = absolute(path)
        self.schema = schema
        self.rows_per_file = rows_per_file

    def problems(self, tasks: int, fields: tuple[str, ...]) -> Iterator[str]:  # noqa: ARG002
        """Whether there can be such a folder, and such files."""
        rows: Any = self.rows_per_file
        if not isinstance(rows, int) or isinstance(rows, bool) or rows < 1:
            yield f"ParquetSink: rows_per_file: wanted a whole number above 0, got {rows!r}"
        if self.schema is not None and not isinstance(self.schema, pa.Schema):
            yield f"ParquetSink: schema: wanted a pyarrow.Schema, got {self.schema!r}"
        try:
            Folder(self.path)
        except Exception as error:  # whatever a driver of a filesystem may raise
            got = f"{without_secrets(self.path)!r}: {type(error).__name__}"
            yield f"ParquetSink: path: wanted a folder or a URL that pyarrow knows, got {got}"

    def open(self, context: TaskContext) -> None:
        """Makes the folder, if there is none."""
        self._folder = Folder(self.path)
        self._folder.create()
        self._index, self._count, self._log = context.index, context.count, context.logger
        self._sink = f"{context.topology}.{context.component}"  # names have no dots, so it is the only one of this name
        # No two processes may write the same file: a worker that was given up may still be at it. And a run that goes
        # on from another checkpoint must leave alone what ours has prepared.
        self._checkpoint = f"{context.checkpoint}-" if context.checkpoint else ""
        self._attempt = context.attempt
        self._process = secrets.token_hex(8)
        self._number = 0
        self._fields: tuple[str, ...] | None = None if self.schema is None else tuple(self.schema.names)
        self._columns = self.schema
        self._rows: list[tuple[Any, ...]] = []
        self._rows_in_file = 0
        self._files = UnshownFiles(self._folder, owner=f"sink {self._sink!r}", opened=pq.ParquetWriter)

    def process(self, tup: Tuple) -> None:
        """Keeps it for the next group of rows."""
        if tup.fields != self._fields:
            self._take_fields(tup.fields)
        self._rows.append(tuple(tup))
        rows = len(self._rows)
        if self._rows_in_file + rows >= self.rows_per_file:
            self._end_file()
            self._commit_by_itself()
        elif rows >= _ROWS_PER_GROUP:
            self._write_group()

    def prepare(self) -> list[str] | None:
        """Completes the file that it is writing. The token is the names of the files since the last one."""
        self._end_file()
        return self._files.take() or None

    def commit(self, token: Sequence[str]) -> None:
        """Gives the files the names under which readers see them."""
        for name in token:
            if not self._show(name):
                place = self._folder.place(name)
                message = f"sink {self._sink!r}: wanted {place}, or {HIDDEN}{name} to rename, got neither"
                raise RunError(message)
        self._folder.flush()

    def recover(self, tokens: Sequence[Any]) -> None:
        """Commits, and deletes the hidden files that this task, or one whose place it takes, has left."""
        for name in itertools.chain.from_iterable(tokens):
            if not self._show(name):
                # Most likely it was seen before the failure, and a reader has taken it away.
                self._log.warning("%s was committed or is now, but is not there any more", self._folder.place(name))
        self._folder.flush()
        self._discard()
        own = re.compile(
            rf"{re.escape(f'{HIDDEN}part-{self._sink}')}-(\d+)-{self._checkpoint}([0-9a-f]+)-[0-9a-f]+-\d+\.parquet"
        )
        for name in self._folder.sizes():
            found = own.fullmatch(name)
            # Not those of a later attempt: it may be us who was given up, and only does not know yet.
            if found and int(found[1]) % self._count == self._index and int(found[2], 16) <= self._attempt:
                self._folder.delete(name)

    def close(self) -> None:
        """Commits by itself, if nobody else does; else deletes what will come again."""
        try:
            super().close()
        finally:
            self._discard()

    def _show(self, name: str) -> bool:
        return self._folder.show(name, owner=f"sink {self._sink!r}")

    def _take_fields(self, fields: tuple[str, ...]) -> None:
        if self._fields is not None:
            message = f"sink {self._sink!r}: wanted fields {self._fields}, which are its columns, got {fields}"
            raise RunError(message)
        self._fields = fields

    def _write_group(self) -> None:
        rows, self._rows = self._rows, []
        assert self._fields is not None
        batch = self._batch(rows, self._fields)
        if not self._files.is_open:
            self._files.begin(self._next_name(), batch.schema)
        self._files.write(batch)
        self._rows_in_file += len(rows)

    def _next_name(self) -> str:
        self._number += 1
        writer = f"{self._index:05d}-{self._checkpoint}{self._attempt:016x}-{self._process}"
        return f"part-{self._sink}-{writer}-{self._number:05d}.parquet"

    def _batch(self, rows: list[tuple[Any, ...]], fields: tuple[str, ...]) -> pa.RecordBatch:
        try:
            if self._columns is None:
                self._columns = _guessed(rows, fields)
            return record_batch(rows, self._columns)
        except Exception as error:  # the rows are gone with it, so it is no failure of a single one
            hint = "" if self.schema else "; the types were guessed from the first rows, give it a schema"
            message = f"sink {self._sink!r}: {error}{hint}"
            raise RunError(message) from error

    def _end_file(self) -> None:
        if self._rows:
            self._write_group()
        self._files.end()
        self._rows_in_file = 0

    def _discard(self) -> None:
        """As if nothing had come since the last token."""
        self._rows = []
        self._rows_in_file = 0
        self._files.discard()

    def __repr__(self) -> str:
        return f"ParquetSink({without_secrets(self.path)!r})"


def _guessed(rows: list[tuple[Any, ...]], fields: tuple[str, ...]) -> pa.Schema:
    kinds = []
    for field, values in zip(fields, zip(*rows, strict=True), strict=True):
        try:
            kinds.append(pa.array(values).type)
        except (pa.ArrowException, TypeError, ValueError, OverflowError) as error:
            message = f"column {field!r}: wanted values of one type, got others: {error}"
            raise ValueError(message) from error
    return pa.schema(zip(fields, kinds, strict=True))
