"""A spool has one query at a time: the second one is refused, unless the first is gone."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from multiprocessing.connection import Connection
from pathlib import Path

import msgspec
import pytest
from pyspark.sql.streaming.datasource import ReadAllAvailable
from pyspark.sql.types import StructType

from penstock.errors import RunError
from penstock.spark import only_reader
from penstock.spark.only_reader import OnlyReader
from penstock.spark.stream_source import PenstockSource
from penstock.transport.process_identity import ProcessIdentity
from tests.connectors.spooling import open_sink
from tests.ring.patience import wait_until

PATIENCE_S = 0.2


def marks(folder: Path) -> list[Path]:
    return sorted(folder.glob("reader-*.json"))


def read_until_killed(folder: str, told: Connection) -> None:
    OnlyReader(folder).take()
    told.send("reads")
    signal.pause()


def test_a_second_reader_is_refused_until_the_first_stops(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first, second = OnlyReader(str(tmp_path)), OnlyReader(str(tmp_path))
    first.take()
    first.take()
    assert len(marks(tmp_path)) == 1
    monkeypatch.setattr(only_reader, "_PATIENCE_S", PATIENCE_S)
    with pytest.raises(
        RunError, match=rf"spool {tmp_path}: wanted to be its only reader, got .*process {os.getpid()} of"
    ):
        second.take()
    assert len(marks(tmp_path)) == 1
    monkeypatch.setattr(only_reader, "_PATIENCE_S", 1000.0)
    waiting = threading.Thread(target=second.take)
    waiting.start()
    first.release()
    first.release()
    waiting.join()
    assert len(marks(tmp_path)) == 1
    second.release()
    assert marks(tmp_path) == []


def test_one_that_was_killed_or_is_elsewhere_does_not_count(tmp_path: Path) -> None:
    ours, theirs = multiprocessing.Pipe()
    with ours, theirs:
        reading = multiprocessing.get_context("spawn").Process(target=read_until_killed, args=(str(tmp_path), theirs))
        reading.start()
        assert ours.recv() == "reads"
        reading.kill()
        reading.join()
        reading.close()
    [left] = marks(tmp_path)
    reader = OnlyReader(str(tmp_path))
    reader.take()
    assert not left.exists()
    reader.release()
    elsewhere = only_reader._Reader(node="elsewhere", process=ProcessIdentity.current())
    (tmp_path / "reader-00ff.json").write_bytes(msgspec.json.encode(elsewhere))
    reader.take()
    assert len(marks(tmp_path)) == 1
    reader.release()


def test_of_readers_that_begin_at_once_at_most_one_reads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(only_reader, "_PATIENCE_S", 0.0)
    for _ in range(20):
        readers = [OnlyReader(str(tmp_path)) for _ in range(3)]
        refused: list[str] = []

        def take(reader: OnlyReader, refused: list[str] = refused) -> None:
            try:
                reader.take()
            except RunError as error:
                refused.append(str(error))

        threads = [threading.Thread(target=take, args=[reader]) for reader in readers]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(refused) >= 2
        assert len(marks(tmp_path)) == 3 - len(refused)
        for reader in readers:
            reader.release()
    wait_until(lambda: marks(tmp_path) == [], "no mark is left")


@pytest.mark.parametrize("begins", ["anew", "from its checkpoint", "with a batch that was planned"])
def test_a_query_is_refused_wherever_it_begins(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, begins: str) -> None:
    monkeypatch.setattr(only_reader, "_PATIENCE_S", PATIENCE_S)
    open_sink(tmp_path).close()
    first, second = (PenstockSource({"path": str(tmp_path)}).streamReader(StructType([])) for _ in range(2))
    kept = first.initialOffset()

    def begin() -> None:
        if begins == "anew":
            second.initialOffset()
        elif begins == "from its checkpoint":
            second.latestOffset(kept, ReadAllAvailable())
        else:
            second.partitions(kept, kept)

    with pytest.raises(RunError, match="wanted to be its only reader"):
        begin()
    first.stop()
    begin()
    second.stop()
    assert marks(tmp_path) == []
