"""Deaths at the very moments that matter, on either side of a spool: nothing is lost, and nothing comes twice."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from penstock.connectors.spark_stream import SparkStream
from penstock.spark.run import start
from penstock.spark.streams import register
from penstock.topology.topology import Topology
from tests.connectors.spooling import emit, open_sink
from tests.endless import End, NumbersUntilTold
from tests.ring.patience import wait_until
from tests.spark.stream_driver import copying

POINTS = ("rows are prepared", "none of them is shown", "all of them are shown", "what was owed is shown")


class Mortal(SparkStream):
    """Kills its worker once at each point, one after the other."""

    def __init__(self, path: Path, notes: Path) -> None:
        super().__init__(path, schema="n long")
        self.notes = notes

    def prepare(self) -> list[str] | None:
        token = super().prepare()
        if token:
            self._maybe_die("rows are prepared")
        return token

    def commit(self, token: Sequence[str]) -> None:
        self._maybe_die("none of them is shown")
        super().commit(token)
        self._maybe_die("all of them are shown")

    def recover(self, tokens: Sequence[Any]) -> None:
        super().recover(tokens)
        if tokens:
            self._maybe_die("what was owed is shown")

    def _maybe_die(self, point: str) -> None:
        try:
            (self.notes / point).touch(exist_ok=False)
        except FileExistsError:
            return
        os.kill(os.getpid(), signal.SIGKILL)


@pytest.mark.box
def test_a_sink_that_is_killed_while_it_publishes(spark: Any, tmp_path: Path) -> None:
    (tmp_path / "notes").mkdir()
    topo = Topology("mortal")
    end = End(tmp_path)
    numbers = topo.spout("numbers", NumbersUntilTold(end))
    topo.bolt("out", Mortal(tmp_path / "spool", tmp_path / "notes"), numbers.shuffle(), tasks=2)
    settings: dict[str, Any] = {"checkpoint": tmp_path / "checkpoint", "max_restarts": 20, "epoch_every_s": 0.2}
    with start(topo, workers=2, spark=spark, **settings) as running:
        wait_until(lambda: {note.name for note in (tmp_path / "notes").iterdir()} == {*POINTS}, "a death at each point")
        end.tell(more=1000)
        running.wait()
    rows = spark.read.format("penstock").load(str(tmp_path / "spool")).collect()
    assert sorted(row.n for row in rows) == list(range(end.count))


class OnlyIfThere:
    """Passes rows on, or fails."""

    def __init__(self, file: Path) -> None:
        self.file = file

    def __call__(self, batches: Iterable[Any]) -> Iterator[Any]:
        for batch in batches:
            if not self.file.exists():
                message = "not yet"
                raise RuntimeError(message)
            yield batch


@pytest.mark.box
def test_a_query_that_dies_between_planning_a_batch_and_committing_it(spark: Any, tmp_path: Path) -> None:
    register(spark)
    sink = open_sink(tmp_path / "spool")
    may = tmp_path / "may"

    def copy_all() -> Any:
        rows = spark.readStream.format("penstock").option("maxFilesPerTrigger", 1).load(str(tmp_path / "spool"))
        return copying(rows.mapInArrow(OnlyIfThere(may), "word string"), tmp_path, trigger={"availableNow": True})

    emit(sink, "a")
    emit(sink, "b")
    with pytest.raises(Exception, match="not yet"):
        copy_all().await_end()
    emit(sink, "c")
    may.touch()
    copy_all().await_end()
    found = spark.read.schema("word string").parquet(str(tmp_path / "out")).collect()
    assert sorted(row.word for row in found) == ["a", "b", "c"]
    batches = [int(place.name) for place in (tmp_path / "query" / "commits").glob("[0-9]*")]
    assert max(batches) == 2  # one file in each, the one that failed included
    sink.close()
