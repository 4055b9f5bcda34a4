"""Writing to a spool and reading from it by hand, as a worker and a query would."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa

from penstock.connectors.spark_stream import SparkStream
from penstock.connectors.spool import Spool
from penstock.connectors.spool_offsets import Offset
from penstock.topology.tuples import tuple_class
from tests.connectors.driving import context

Word = tuple_class("words", "default", ("word",))


def open_sink(
    folder: Path, *, by_epochs: bool = True, index: int = 0, count: int = 1, attempt: int = 0, **settings: Any
) -> SparkStream:
    return opened(
        SparkStream(folder, **{"schema": "word string", **settings}), index, count, by_epochs, attempt=attempt
    )


def opened(sink: SparkStream, index: int = 0, count: int = 1, by_epochs: bool = True, **others: Any) -> SparkStream:
    sink.by_epochs = by_epochs
    sink.open(msgspec.structs.replace(context(index, count), **others))
    return sink


def feed(sink: SparkStream, *words: str) -> None:
    for word in words:
        sink.process(Word(word))


def emit(sink: SparkStream, *words: str) -> None:
    """As an epoch that is committed."""
    feed(sink, *words)
    token = sink.prepare()
    if token is not None:
        sink.commit(token)


def rows(folder: Path, start: Offset, end: Offset) -> list[str]:
    found = []
    for name, _ in Spool(str(folder)).files(start, end):
        with pa.ipc.open_file(folder / name) as file:
            found += file.read_all()["word"].to_pylist()
    return found


def all_rows(folder: Path) -> list[str]:
    spool = Spool(str(folder))
    return rows(folder, spool.taken(), spool.newest_offset(spool.taken()))


def hidden(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir() if path.name.startswith("."))


class Reader:
    """A query: takes batches, and keeps its offsets as Spark does."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.spool = Spool(str(folder))
        self.start = self.end = self.spool.taken()
        self.got: list[str] = []

    def plan(self) -> None:
        """Writes down what the next batch is."""
        if self.end == self.start:
            self.end = self.spool.newest_offset(self.start)

    def batch(self) -> None:
        """What was planned, also if that was before a restart."""
        self.plan()
        self.got += rows(self.folder, self.start, self.end)
        self.start = self.end

    def commit(self) -> None:
        self.spool.take(self.start)
