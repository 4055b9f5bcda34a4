"""A query that goes on from its checkpoint finds the spool that it has read, or is told that this is another one."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql.streaming.datasource import ReadAllAvailable
from pyspark.sql.types import StructType

from penstock.errors import RunError
from penstock.spark.stream_source import PenstockSource
from tests.connectors.spooling import emit, open_sink


def reader_of(folder: Path) -> Any:
    return PenstockSource({"path": str(folder)}).streamReader(StructType([]))


def fill(folder: Path, word: str) -> None:
    sink = open_sink(folder)
    emit(sink, word)
    sink.close()


def read_all(folder: Path) -> Any:
    """What a query has in its checkpoint that has read the spool. As Spark keeps it: as JSON."""
    reader = reader_of(folder)
    end = reader.latestOffset(reader.initialOffset(), ReadAllAvailable())
    reader.stop()
    return json.loads(json.dumps(end))


BEGINNINGS: dict[str, Callable[[Any, Any], Any]] = {
    "from its checkpoint": lambda reader, kept: reader.latestOffset(kept, ReadAllAvailable()),
    "with a batch that was planned": lambda reader, kept: reader.partitions(kept, kept),
    "with a commit": lambda reader, kept: reader.commit(kept),
}


@pytest.mark.parametrize("begins", BEGINNINGS)
def test_an_offset_of_another_spool_is_refused_wherever_the_query_begins(tmp_path: Path, begins: str) -> None:
    for name in ("other", "read"):
        fill(tmp_path / name, name)
    kept = read_all(tmp_path / "read")

    with pytest.raises(RunError, match=rf"wanted one for spool {tmp_path}/other, got one for {tmp_path}/read: "):
        BEGINNINGS[begins](reader_of(tmp_path / "other"), kept)
    assert list((tmp_path / "other").glob("reader-*")) == []  # others may read
    assert len(list((tmp_path / "other").glob("rows-*"))) == 1


def test_a_spool_that_was_emptied_is_still_the_same(tmp_path: Path) -> None:
    fill(tmp_path / "spool", "first")
    kept = read_all(tmp_path / "spool")
    shutil.rmtree(tmp_path / "spool")
    fill(tmp_path / "spool", "second")

    reader = reader_of(tmp_path / "spool")
    newest = reader.latestOffset(kept, ReadAllAvailable())
    read = [name for part in reader.partitions(kept, newest) for name in part.names]
    reader.stop()

    assert read == [file.name for file in (tmp_path / "spool").glob("rows-*")]
    assert len(read) == 1


def test_a_spool_that_was_moved_is_still_the_same(tmp_path: Path) -> None:
    fill(tmp_path / "before", "first")
    kept = read_all(tmp_path / "before")
    (tmp_path / "before").rename(tmp_path / "after")

    reader = reader_of(tmp_path / "after")
    assert reader.latestOffset(kept, ReadAllAvailable()) == kept
    reader.stop()


def test_an_offset_that_names_no_spool_is_refused(tmp_path: Path) -> None:
    fill(tmp_path, "word")

    with pytest.raises(RunError, match=f"spool {tmp_path}: wanted an offset that names its spool, got"):
        reader_of(tmp_path).latestOffset({"00000-00000001-0-aa": 1}, ReadAllAvailable())
