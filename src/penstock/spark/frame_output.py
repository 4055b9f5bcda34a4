"""The way out: what reaches the output, as record batches of the declared schema."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import Any

import pyarrow as pa

from penstock.connectors.column_types import Column, column_of_array, shown
from penstock.connectors.gathered_rows import PlainRows, column_of_rows
from penstock.topology.arrow_sink import ArrowSink
from penstock.topology.bolts import Bolt
from penstock.topology.context import TaskContext
from penstock.topology.tuples import Tuple

__all__ = ["Farewell", "FrameOutput"]

ROWS_PER_BATCH = 8192
"""Tuples are gathered until there are so many, or nothing else is to do: a batch costs the same for one row."""


class FrameOutput(ArrowSink):
    """The sink at the end of a transform: one in each worker, whose batches go to Spark."""

    fields = ("nothing",)  # but the end: see Farewell

    def __init__(self, output: str, columns: Sequence[Column]) -> None:
        self._output = output
        self._columns = tuple(columns)
        self._schema = pa.schema([pa.field(column.name, column.type, column.nullable) for column in columns])
        self._plain: PlainRows | None = None
        self._rows: list[Tuple | tuple[Any, ...]] = []
        """Those that have to be looked at closely, behind those that are plain."""
        self._ready: deque[pa.RecordBatch] = deque()

    def open(self, context: TaskContext) -> None:  # noqa: ARG002
        """Where it runs: what rows are gathered into is memory of that process."""
        if all(map(PlainRows.takes, self._columns)):
            self._plain = PlainRows(self._columns, range(len(self._columns)))

    def take_tuples(self, tuples: Sequence[Tuple | tuple[Any, ...]]) -> None:
        """See ArrowSink."""
        if self._plain is None or self._rows or not self._plain.append(tuples):
            self._rows.extend(tuples)
        if self._gathered >= ROWS_PER_BATCH:
            self._make_batch()

    def take_batch(self, batch: pa.RecordBatch) -> None:
        """See ArrowSink."""
        self._make_batch()
        place = partial(self._place, lambda row: batch.slice(row, 1).to_pylist()[0].values())
        columns = zip(batch.columns, self._columns, strict=True)
        self._put([column_of_array(array, column, place) for array, column in columns])

    def finish(self) -> None:
        """Makes a batch of what is left."""
        self._make_batch()

    def batches(self, *, all: bool) -> Iterator[pa.RecordBatch]:
        """Takes the batches that are ready; with `all`, what was gathered so far is one of them."""
        if all:
            self._make_batch()
        while self._ready:
            yield self._ready.popleft()

    @property
    def _gathered(self) -> int:
        return len(self._rows) + (0 if self._plain is None else len(self._plain))

    def _make_batch(self) -> None:
        if self._plain is not None and len(self._plain):
            self._put(self._plain.take())
        if not self._rows:
            return
        rows, self._rows = self._rows, []
        place = partial(self._place, rows.__getitem__)
        self._put([column_of_rows(rows, position, column, place) for position, column in enumerate(self._columns)])

    def _put(self, arrays: list[pa.Array]) -> None:
        self._ready.append(pa.RecordBatch.from_arrays(arrays, schema=self._schema))

    def _place(self, values_of: Callable[[int], Iterable[Any]], row: int) -> str:
        return f"output {self._output!r}, row {shown(tuple(values_of(row)))}"


class Farewell(Bolt):
    """Takes the end of all `FrameOutput`s, one in each worker: when it has ended, nobody needs this worker any more."""

    def process(self, tup: Tuple) -> None:
        """Nothing ever comes."""
