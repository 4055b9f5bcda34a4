"""Streams of a topology, read by Spark: nothing is lost and nothing comes twice, whatever dies."""

from __future__ import annotations

import datetime
import functools
import os
import runpy
import signal
import subprocess
import sys
import tempfile
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import StreamingQueryException

pytest.importorskip("pyspark.sql.datasource", reason="Spark has Python data sources since 4.0")

from penstock.connectors.ddl import arrow_schema
from penstock.connectors.lines import Lines
from penstock.connectors.spark_stream import SparkStream
from penstock.connectors.spool import Spool
from penstock.errors import RunError
from penstock.spark.run import Run, run, start
from penstock.spark.spark_version import HERE, arrow_schema_of
from penstock.spark.stream_source import PenstockSource
from penstock.spark.streams import register
from penstock.topology.topology import Topology
from tests.connectors.spooling import emit, open_sink
from tests.endless import End, Numbers, NumbersUntilTold
from tests.ring import patience
from tests.spark.scenarios import pids
from tests.spark.stream_driver import TOO_LATE, copying, in_time

EPOCH_S = 0.2
MORE = 10_000

# A query starts Python processes of its own before it reads, which takes long where all cores are busy.
wait_until = functools.partial(patience.wait_until, patience_s=120)

TYPES = (
    "truth boolean, tiny byte, small smallint, number int, many long, half float, price double, amount decimal(12, 3), "
    "word string not null, raw binary, day date, moment timestamp, clock timestamp_ntz, "
    "list array<long>, pairs map<string, array<double>>, nested struct<a: int, `b c`: array<struct<d: string>>>"
)


def numbers(folder: Path, spout: Numbers, *, tasks: int = 2, **settings: Any) -> Topology:
    topo = Topology("numbers")
    sink = SparkStream(folder / "spool", schema="n long", **settings)
    topo.bolt("out", sink, topo.spout("numbers", spout).shuffle(), tasks=tasks)
    return topo


def copied(spark: Any, folder: Path) -> list[int]:
    """What a query has written so far."""
    if not any((folder / "out").glob("_spark_metadata/*")):
        return []
    return sorted(row.n for row in spark.read.schema("n long").parquet(str(folder / "out")).collect())


def read(spark: Any, folder: Path) -> Any:
    return spark.readStream.format("penstock").load(str(folder / "spool"))


def test_a_schema_means_to_us_what_it_means_to_spark(spark: Any) -> None:
    theirs = arrow_schema_of(spark.createDataFrame([], TYPES).schema)
    assert arrow_schema(TYPES).equals(theirs)


@pytest.mark.core
def test_a_batch_read_gives_what_the_topology_has_emitted(spark: Any, tmp_path: Path) -> None:
    row = (
        *(True, 1, 2, 3, 4, 0.5, 0.25, Decimal("1.125"), "blue", b"\xff", datetime.date(2024, 2, 29)),
        *(datetime.datetime(2024, 2, 29, 12, tzinfo=datetime.UTC), datetime.datetime(2024, 2, 29, 12)),  # noqa: DTZ001
        *([1, None], {"a": [0.5], "b": None}, {"a": 1, "b c": [{"d": "x"}, None]}),
    )
    rows = [row, (*(None,) * 8, "red", *(None,) * 7)]
    topo = Topology("types")
    fields = tuple(arrow_schema(TYPES).names)
    made = topo.bolt("make", lambda _: rows, topo.spout("once", Lines(["go"])).shuffle(), fields=fields)
    topo.bolt("out", SparkStream(tmp_path, schema=TYPES), made.shuffle())
    run(topo, workers=1, spark=spark)
    found = spark.read.format("penstock").load(str(tmp_path))
    wanted = spark.createDataFrame(rows, TYPES)
    assert found.schema == wanted.schema
    assert sorted(map(repr, found.collect())) == sorted(map(repr, wanted.collect()))
    assert found.where("word = 'red'").count() == 1


def test_an_empty_stream_has_no_rows_but_a_schema(spark: Any, tmp_path: Path) -> None:
    run(numbers(tmp_path, Numbers(0)), workers=1, spark=spark)
    assert spark.read.format("penstock").load(str(tmp_path / "spool")).collect() == []


@pytest.mark.core
def test_queries_over_a_running_topology_get_every_row_once_and_clean_up(spark: Any, tmp_path: Path) -> None:
    end = End(tmp_path)
    topo = Topology("two-streams")
    emitted = topo.spout("numbers", NumbersUntilTold(end))
    for name in ("one", "two"):
        topo.bolt(name, SparkStream(tmp_path / name / "spool", schema="n long"), emitted.shuffle(), tasks=2)
    with start(topo, workers=2, spark=spark, checkpoint=tmp_path / "checkpoint", epoch_every_s=EPOCH_S) as running:
        queries = []
        for stream, named in (("one", running.id), ("two", "two-streams")):
            frame = spark.readStream.format("penstock").option("run", named).option("stream", stream).load()
            queries.append(copying(frame, tmp_path / stream))
        wait_until(
            lambda: all(query.go_on() for query in queries) and Spool(str(tmp_path / "one" / "spool")).taken(),
            "the first query has taken rows",
        )
        end.tell(more=MORE)
        running.wait()
    for query in queries:
        query.process_all()
    for stream in ("one", "two"):
        spool = Spool(str(tmp_path / stream / "spool"))
        wait_until(
            lambda spool=spool: all(query.go_on() for query in queries) and spool.visible() == {},  # type: ignore[misc]
            "what was read is deleted",
        )
    for query in queries:
        query.stop()
    for stream in ("one", "two"):
        assert copied(spark, tmp_path / stream) == list(range(end.count))


def taken_to_the_end(writing: Any) -> Any:
    """A query that has taken all that there is: where the machine was too busy for Spark to begin, another one."""
    while True:
        query = writing.start()
        try:
            query.awaitTermination()
        except StreamingQueryException as error:
            if TOO_LATE not in str(error):
                raise
        else:
            return query


def test_a_query_that_is_behind_may_take_little_at_a_time(spark: Any, tmp_path: Path) -> None:
    register(spark)
    sinks = [open_sink(tmp_path / "spool", index=index, count=2) for index in range(2)]
    for limit, value, sizes in (("maxFilesPerTrigger", 3, [3, 1]), ("maxBytesPerTrigger", 1, [1, 1, 1, 1])):
        for sink in (*sinks, *sinks):
            emit(sink, limit)
        rows = spark.readStream.format("penstock").option(limit, value).load(str(tmp_path / "spool"))
        query = taken_to_the_end(rows.writeStream.format("memory").queryName(limit).trigger(availableNow=True))
        assert [progress["numInputRows"] for progress in query.recentProgress if progress["numInputRows"]] == sizes
        assert [row.word for row in spark.table(limit).collect()] == [limit] * 4
    for sink in sinks:
        sink.close()


def kill_a_worker(running: Run, worker: int) -> None:
    wait_until(lambda: all(one.pid for one in running.status().workers), "all workers are there")
    restarts = running.status().restarts
    os.kill(pids(running)[worker], signal.SIGKILL)
    wait_until(lambda: running.status().restarts > restarts, "the worker has come back")


@pytest.mark.core
def test_exactly_once_through_killed_workers_and_restarted_queries(spark: Any, tmp_path: Path) -> None:
    end = End(tmp_path)
    topo = numbers(tmp_path, NumbersUntilTold(end))
    with start(
        topo, workers=2, spark=spark, checkpoint=tmp_path / "checkpoint", max_restarts=20, epoch_every_s=EPOCH_S
    ) as running:
        seen = 0
        for worker in (0, 1):
            query = copying(read(spark, tmp_path), tmp_path)
            before = seen
            wait_until(
                lambda query=query, before=before: query.go_on() and len(copied(spark, tmp_path)) > before,  # type: ignore[misc]
                "rows arrive",
            )
            kill_a_worker(running, worker)
            query.stop()
            seen = len(copied(spark, tmp_path))
        end.tell(more=MORE)
        running.wait()
    left = spark.readStream.format("penstock").option("run", running.id).option("stream", "out").load()
    # Though the run is over. Before 4.2 Spark ends after one micro-batch, which is one that was interrupted before.
    for _ in range(1 if HERE >= (4, 2) else 2):
        copying(left, tmp_path, trigger={"availableNow": True}).await_end()
    assert copied(spark, tmp_path) == list(range(end.count))


class Batches:
    """A sink for `foreachBatch` that keeps words, and fails at those that it does not know."""

    def __init__(self) -> None:
        self.known: set[str] = set()
        self.words: list[str] = []

    def __call__(self, frame: Any, number: int) -> None:  # noqa: ARG002
        words = [row.word for row in frame.collect()]
        if not self.known.issuperset(words):
            message = f"{words} are not known"
            raise ValueError(message)
        self.words += words


def how_it_ends(writing: Any, trigger: dict[str, Any]) -> str:
    """What a query fails with that is to do all there is. Where Spark did not wait for it, it is started again."""
    while True:
        query = writing.trigger(**trigger).start()
        try:
            if "availableNow" in trigger:
                query.awaitTermination()
            else:
                query.processAllAvailable()
        except StreamingQueryException as error:
            if TOO_LATE not in str(error):
                return str(error)
        else:
            return ""
        finally:
            query.stop()


@pytest.mark.core
def test_a_query_goes_on_with_the_micro_batch_that_failed(spark: Any, tmp_path: Path) -> None:
    register(spark)
    sink, batches = open_sink(tmp_path / "spool"), Batches()
    frame = spark.readStream.format("penstock").load(str(tmp_path / "spool"))
    writing = frame.writeStream.foreachBatch(batches).option("checkpointLocation", str(tmp_path / "query"))
    expected: list[str] = []
    for trigger in ({"processingTime": "200 milliseconds"}, {"availableNow": True}):
        for more in ("", "and more"):  # which is there, or not, when the query starts again
            failing = f"{trigger} {more}"
            emit(sink, failing)
            assert "are not known" in how_it_ends(writing, trigger)
            expected += [word for word in (failing, more) if word]
            batches.known |= {*expected}
            if more:
                emit(sink, more)
            for _ in range(2):  # before 4.2 Spark ends after one micro-batch, if it is to end by itself
                assert how_it_ends(writing, trigger) == ""
            assert batches.words == expected
    sink.close()


def test_at_least_once_no_row_is_missing(spark: Any, tmp_path: Path) -> None:
    end = End(tmp_path)
    topo = numbers(tmp_path, NumbersUntilTold(end))
    with start(topo, workers=2, spark=spark, max_restarts=20, epoch_every_s=EPOCH_S) as running:
        query = copying(read(spark, tmp_path), tmp_path)
        wait_until(lambda: query.go_on() and copied(spark, tmp_path), "rows arrive")
        kill_a_worker(running, 1)
        end.tell(more=MORE)
        running.wait()
    query.process_all()
    query.stop()
    assert set(copied(spark, tmp_path)) == set(range(end.count))


@pytest.mark.core
def test_a_full_spool_holds_the_topology_up_until_a_query_comes(spark: Any, tmp_path: Path) -> None:
    end = End(tmp_path)
    topo = numbers(tmp_path, NumbersUntilTold(end), most_bytes=2000, patience_s=500)
    spool = Spool(str(tmp_path / "spool"))
    with start(topo, workers=2, spark=spark, checkpoint=tmp_path / "checkpoint", epoch_every_s=EPOCH_S) as running:
        wait_until(lambda: spool.overfull(2000), "the spool is full")
        files = len(spool.visible())
        assert not running.wait(timeout_s=3 * EPOCH_S)
        # Two tasks that wait with a file each, and what was being written when the limit was reached.
        assert len(spool.visible()) <= files + 2
        end.tell(more=1000)
        query = copying(read(spark, tmp_path), tmp_path)
        wait_until(lambda: query.go_on() and running.wait(1.0) is not None, "the run is over")
    query.process_all()
    query.stop()
    assert copied(spark, tmp_path) == list(range(end.count))


def test_when_nobody_reads_the_run_fails_and_goes_on_from_its_checkpoint(spark: Any, tmp_path: Path) -> None:
    end = End(tmp_path)
    where = {"spark": spark, "workers": 2, "checkpoint": tmp_path / "checkpoint", "epoch_every_s": EPOCH_S}
    with pytest.raises(RunError, match=r"sink 'numbers.out': spool .* holds \d+ bytes, of at most 2000, and no query"):
        run(numbers(tmp_path, NumbersUntilTold(end), most_bytes=2000, patience_s=0.5), **where)
    end.tell(more=MORE)
    run(numbers(tmp_path, NumbersUntilTold(end)), **where)
    rows = spark.read.format("penstock").load(str(tmp_path / "spool")).collect()
    assert sorted(row.n for row in rows) == list(range(end.count))


def test_wrong_options_are_named(spark: Any, tmp_path: Path) -> None:
    from pyspark.errors import AnalysisException

    register(spark)
    topo = numbers(tmp_path, NumbersUntilTold(End(tmp_path)))
    with start(topo, workers=1, spark=spark, checkpoint=tmp_path / "c", epoch_every_s=EPOCH_S) as running:
        for options, complaint in (
            ({}, "wanted the options run and stream, or path, got none"),
            ({"run": running.id}, "wanted the options run and stream, or path, got run="),
            (
                {"path": "/a", "stream": "out"},
                "wanted the options run and stream, or path, got path='/a', stream='out'",
            ),
            ({"run": running.id, "steam": "out"}, "wanted the options run and stream, or path, got run="),
            (
                {"path": "/a", "maxFilesPerTrigger": "0"},
                "option maxFilesPerTrigger: wanted a whole number above 0, got '0'",
            ),
            (
                {"path": "/a", "maxFilesPerTrigger": "1", "maxBytesPerTrigger": "1"},
                "wanted maxFilesPerTrigger or maxBytesPerTrigger, got both",
            ),
            ({"run": "nope", "stream": "out"}, "wanted a run named 'nope': no such run"),
            ({"run": running.id, "stream": "in"}, r"got 'in'; there is 'out'"),
            (
                {"path": str(tmp_path)},
                rf"wanted the spool of a SparkStream in {tmp_path}, got no {tmp_path}/spool.json",
            ),
        ):
            with pytest.raises(RunError, match=complaint):
                PenstockSource({name.lower(): value for name, value in options.items()}).schema()  # as Spark does
        with pytest.raises(AnalysisException, match="wanted the options run and stream, or path, got none"):
            spark.readStream.format("penstock").load()
        wrong = spark.readStream.format("penstock").schema("other string").load(str(tmp_path / "spool"))
        wait_until(lambda: bool(Spool(str(tmp_path / "spool")).visible()), "there is something to read")
        with pytest.raises(Exception, match="wanted rows of other: string"):
            copying(wrong, tmp_path).process_all()


@pytest.mark.usefixtures("spark")
def test_the_example_has_every_count_in_its_table(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    example = runpy.run_path(str(Path(__file__).parents[2] / "examples" / "stream_to_spark.py"))
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    in_time(lambda: example["main"](["--words", "5000"]))
    said = capsys.readouterr().out
    assert [f"   1,000  {name}" in said for name in example["NAMES"]] == [True] * 5
    assert "5,000 rows in the table" in said


@pytest.mark.box
def test_a_query_whose_driver_is_killed_goes_on_where_it_was(spark: Any, tmp_path: Path) -> None:
    end = End(tmp_path)
    topo = numbers(tmp_path, NumbersUntilTold(end))
    command = [sys.executable, "-m", "tests.spark.stream_driver", str(tmp_path)]
    with start(
        topo, workers=2, spark=spark, checkpoint=tmp_path / "checkpoint", max_restarts=20, epoch_every_s=EPOCH_S
    ) as running:
        for worker in (0, 1):
            before = len(copied(spark, tmp_path))
            with subprocess.Popen(command, start_new_session=True) as driver:
                wait_until(
                    lambda driver=driver, before=before: (  # type: ignore[misc]
                        driver.poll() is not None or len(copied(spark, tmp_path)) > before
                    ),
                    "its query has copied something",
                    patience_s=120,
                )
                assert driver.poll() is None
                kill_a_worker(running, worker)
                assert driver.poll() is None
                os.killpg(driver.pid, signal.SIGKILL)  # with its JVM
        end.tell(more=MORE)
        running.wait()
    subprocess.run(command, check=True, timeout=300)
    assert copied(spark, tmp_path) == list(range(end.count))
