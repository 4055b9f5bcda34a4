"""Streaming DataFrames that feed a topology: nothing is lost and nothing comes twice, whatever dies."""

from __future__ import annotations

import datetime
import json
import os
import shutil
import signal
import time
import uuid
from collections.abc import Callable, Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from penstock.connectors.collect import Collect
from penstock.connectors.lines import Lines
from penstock.connectors.parquet_sink import ParquetSink
from penstock.connectors.streaming_frame import StreamingFrame
from penstock.errors import CheckpointError, RunError, SlotsError, StartError, TopologyError
from penstock.flow.delivery import Delivery
from penstock.spark.feeds import require_no_speculation
from penstock.spark.run import Run, run, start
from penstock.topology.bolts import BatchBolt, KeyedBolt
from penstock.topology.topology import Topology
from penstock.topology.tuples import Tuple
from tests.ring.patience import wait_until
from tests.spark.arrivals import Arrivals, numbers_in, numbers_to_files
from tests.spark.scenarios import pids
from tests.spark.settled import settled
from tests.spark.stream_driver import in_time

EPOCH_S = 0.2


def promise(delivery: Delivery, folder: Path) -> dict[str, Any]:
    return {"delivery": delivery} | ({"checkpoint": folder / "checkpoint"} if delivery == "exactly_once" else {})


def as_promised(came: list[Any], delivery: Delivery) -> list[Any]:
    """Without what may come again at least once: a worker that got no turn for a while is taken for lost."""
    return sorted(set(came)) if delivery == "at_least_once" else came


@pytest.mark.core
@pytest.mark.parametrize("delivery", ["at_most_once", "at_least_once", "exactly_once"])
def test_every_row_of_what_is_there_comes_once(spark: Any, tmp_path: Path, delivery: Delivery) -> None:
    arrivals = Arrivals(tmp_path / "in")
    arrivals.more(3)
    topo = Topology("numbers")
    frame = arrivals.frame(spark).selectExpr("n", "n % 17 AS key")
    numbers = topo.spout("numbers", StreamingFrame(frame, checkpoint=tmp_path / "query", available_now=True), tasks=2)
    topo.bolt("all", Collect(), numbers.by("key"), tasks=2)

    summary = run(topo, spark=spark, workers=2, epoch_every_s=EPOCH_S, **promise(delivery, tmp_path))

    came = sorted(summary.collected("all"))
    assert as_promised(came, delivery) == [(n, n % 17) for n in range(arrivals.count)]
    assert not spark.streams.active


@pytest.mark.parametrize("delivery", ["at_least_once", "exactly_once"])
def test_no_micro_batch_waits_until_the_next_epoch_is_due(spark: Any, tmp_path: Path, delivery: Delivery) -> None:
    arrivals = Arrivals(tmp_path / "in")
    arrivals.more(2)
    topo = numbers_to_files(spark, tmp_path, arrivals)
    with start(topo, spark=spark, workers=2, epoch_every_s=3600.0, **promise(delivery, tmp_path)):
        [query] = spark.streams.active
        # A query that waits for more tells of the micro-batch that would be next.
        wait_until(lambda: (query.lastProgress or {}).get("batchId", 0) >= 1, "Spark has committed both")
    assert as_promised(numbers_in(tmp_path), delivery) == list(range(arrivals.count))


def wait_for_more(folder: Path, before: int) -> None:
    wait_until(lambda: len(set(numbers_in(folder))) > before, "rows have come")


def kill(running: Run, worker: int) -> None:
    restarts = running.status().restarts
    os.kill(pids(running)[worker], signal.SIGKILL)
    wait_until(lambda: running.status().restarts > restarts, "the worker has come back")


def fail_the_query(spark: Any, arrivals: Arrivals) -> None:
    """Has Spark cancel what the query is at, which is an error to it."""
    [query] = spark.streams.active
    wait_until(lambda: _is_cancelled(spark, query, arrivals), "the query has failed")


def _is_cancelled(spark: Any, query: Any, arrivals: Arrivals) -> bool:
    if query.isActive and not query.status["isTriggerActive"]:
        arrivals.more()  # it may be done with all that was there, and then there is nothing to cancel
    spark.sparkContext.cancelJobGroup(query.runId)
    return not query.isActive


@pytest.mark.core
@pytest.mark.parametrize("delivery", [pytest.param("at_least_once", marks=pytest.mark.box), "exactly_once"])
def test_workers_and_queries_may_die(spark: Any, tmp_path: Path, delivery: Delivery) -> None:
    arrivals = Arrivals(tmp_path / "in")
    topo = numbers_to_files(spark, tmp_path, arrivals)
    settings = promise(delivery, tmp_path) | {"max_restarts": 20, "epoch_every_s": EPOCH_S}
    with start(topo, spark=spark, workers=2, **settings) as running:
        blows: list[Callable[[], None]] = [
            lambda: kill(running, 0),
            lambda: fail_the_query(spark, arrivals),
            lambda: kill(running, 1),
        ]
        for blow in blows:
            before = len(set(numbers_in(tmp_path)))
            arrivals.more(4)
            wait_for_more(tmp_path, before)
            blow()
        wait_until(lambda: len(set(numbers_in(tmp_path))) == arrivals.count, "all rows have come", patience_s=300)
        running.drain()
    found = numbers_in(tmp_path)
    assert sorted(set(found)) == list(range(arrivals.count))
    if delivery == "exactly_once":
        assert len(found) == arrivals.count


def test_exactly_once_a_run_goes_on_where_it_was_stopped(spark: Any, tmp_path: Path) -> None:
    arrivals = Arrivals(tmp_path / "in")
    settings = {"spark": spark, "workers": 2, "checkpoint": tmp_path / "checkpoint", "epoch_every_s": EPOCH_S}
    for _ in range(2):
        arrivals.more(4)
        before = len(numbers_in(tmp_path))
        with start(numbers_to_files(spark, tmp_path, arrivals), **settings) as running:
            wait_for_more(tmp_path, before)
            running.stop()
    run(numbers_to_files(spark, tmp_path, arrivals, available_now=True), **settings)

    assert numbers_in(tmp_path) == list(range(arrivals.count))


def test_exactly_once_what_comes_after_the_end_is_for_the_next_run(spark: Any, tmp_path: Path) -> None:
    arrivals = Arrivals(tmp_path / "in")
    settings = {"spark": spark, "workers": 2, "checkpoint": tmp_path / "checkpoint", "epoch_every_s": EPOCH_S}
    for night in range(3):
        arrivals.more(1)
        topo = Topology("nights")
        frame = arrivals.frame(spark).selectExpr("n % 2 AS odd")
        rows = topo.spout("rows", StreamingFrame(frame, checkpoint=tmp_path / "query", available_now=True))
        others = topo.spout("others", Lines([0], fields=("odd",)))
        counts = topo.bolt("count", Counted(), rows.by("odd"), others.by("odd"), tasks=2)
        topo.bolt("all", Collect(), counts.shuffle())
        summary = run(topo, **settings)

        # Each night's rows are on top of those before. The other source had ended in the first.
        each = 100 * (night + 1)
        assert {(0, each + 1), (1, each)} <= {*summary.collected("all")}


def test_when_somebody_stops_the_query_the_run_ends_in_good_order(spark: Any, tmp_path: Path) -> None:
    arrivals = Arrivals(tmp_path / "in")
    arrivals.more(3)
    with start(numbers_to_files(spark, tmp_path, arrivals), spark=spark, workers=2) as running:
        wait_until(lambda: numbers_in(tmp_path), "rows have come")
        [query] = spark.streams.active
        # Within a micro-batch would do, but Spark's own processes complain loudly then.
        wait_until(lambda: not query.status["isTriggerActive"], "the query waits for more")
        query.stop()
        assert running.wait(timeout_s=100)


class Counted(KeyedBolt):
    """Counts, and tells in the end."""

    fields = ("odd", "count")

    def process(self, key: Any, tup: Tuple) -> None:  # noqa: ARG002
        self.state[key] = self.state.get(key, 0) + 1

    def finish(self) -> Iterator[Any]:
        yield from self.state.items()


class Gate:
    """A bolt that waits until a file is there."""

    def __init__(self, file: Path) -> None:
        self.file = file

    def __call__(self, tup: Tuple) -> Any:
        while not self.file.exists():
            time.sleep(0.01)
        return (tup.n,)


def test_when_the_topology_is_slow_spark_waits(spark: Any, tmp_path: Path) -> None:
    arrivals = Arrivals(tmp_path / "in", numbers_per_file=20_000)
    arrivals.more(1)
    wide = arrivals.frame(spark).selectExpr("n", "repeat('x', 2000) AS text")
    topo = Topology("slow")
    numbers = topo.spout("numbers", StreamingFrame(wide, checkpoint=tmp_path / "query", available_now=True))
    passed = topo.bolt("gate", Gate(tmp_path / "open"), numbers.shuffle(), fields=("n",))
    topo.bolt("all", Collect(), passed.shuffle())
    with start(topo, spark=spark, workers=2, delivery="at_most_once") as running:
        emitted = [-1]

        def is_stuck() -> bool:
            time.sleep(0.3)
            emitted.append(sum(task.emitted for task in running.metrics().tasks if task.component == "numbers"))
            return len(emitted) > 5 and 0 < emitted[-1] == emitted[-5]

        wait_until(is_stuck, "nothing moves any more")
        assert emitted[-1] < arrivals.count / 2, "40 MB of rows, and most of them wait in Spark"
        [query] = spark.streams.active
        assert query.lastProgress is None
        (tmp_path / "open").touch()
        running.wait()
    assert sorted(running.summary().collected("all")) == [(n,) for n in range(arrivals.count)]


class Types(BatchBolt):
    """Tells what it was given."""

    fields = ("rows", "types")

    def process_batch(self, batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
        types = [str(column.type) for column in batch.columns]
        yield pa.RecordBatch.from_pydict({"rows": [batch.num_rows], "types": [types]})


@pytest.mark.core
def test_rows_are_tuples_and_batches_stay_batches(spark: Any, tmp_path: Path) -> None:
    arrivals = Arrivals(tmp_path / "in", numbers_per_file=3)
    arrivals.more(1)
    columns = {
        "n": "n",
        "nothing": "cast(null AS string)",
        "amount": "cast(n AS decimal(12, 3)) / 8",
        "moment": "timestamp'2026-01-02 03:04:05.678 Europe/Berlin'",
        "day": "date'2026-01-02'",
        "raw": "cast('raw' AS binary)",
        "list": "array(n, null)",
        "pairs": "map('a', n)",
        "nested": "named_struct('a', n, 'b', array('c'))",
    }
    frame = arrivals.frame(spark).selectExpr(*(f"{value} AS {name}" for name, value in columns.items()))
    topo = Topology("types")
    rows = topo.spout("rows", StreamingFrame(frame, checkpoint=tmp_path / "query", available_now=True))
    topo.bolt("tuples", Collect(), rows.shuffle())
    topo.bolt("seen", Collect(), topo.bolt("types", Types(), rows.shuffle()).shuffle())

    summary = run(topo, spark=spark, workers=2)

    first = sorted(summary.collected("tuples"))[0]
    moment = datetime.datetime(2026, 1, 2, 2, 4, 5, 678_000, tzinfo=datetime.UTC)
    assert first[:2] == (0, None)
    assert first[2] == Decimal("0.000")
    assert first[3] == moment
    assert first[4:] == (datetime.date(2026, 1, 2), b"raw", [0, None], {"a": 0}, {"a": 0, "b": ["c"]})
    [(count, types)] = summary.collected("seen")
    assert count == 3
    assert types[2].startswith("decimal128")
    assert types[8].startswith("struct")


def test_a_topology_may_have_several_sources(spark: Any, tmp_path: Path) -> None:
    topo = Topology("several")
    inputs = []
    for name in ("first", "second"):
        arrivals = Arrivals(tmp_path / name, numbers_per_file=10)
        arrivals.more(2)
        frame = arrivals.frame(spark).selectExpr(f"concat('{name}', n) AS word")
        inputs.append(topo.spout(name, StreamingFrame(frame, checkpoint=tmp_path / f"{name}-q", available_now=True)))
    inputs.append(topo.spout("third", Lines(["third"], fields=("word",))))
    topo.bolt("all", Collect(), *(stream.shuffle() for stream in inputs))

    summary = run(topo, spark=spark, workers=2, checkpoint=tmp_path / "checkpoint", epoch_every_s=EPOCH_S)

    wanted = [*(f"{name}{n}" for name in ("first", "second") for n in range(20)), "third"]
    assert sorted(summary.collected("all")) == sorted((word,) for word in wanted)


# ---- what cannot be


def test_a_run_that_would_starve_its_source_is_refused(spark: Any, tmp_path: Path) -> None:
    topo = numbers_to_files(spark, tmp_path, Arrivals(tmp_path / "in"), tasks=8)
    with pytest.raises(
        SlotsError, match="workers=6 and 1 streaming query beside them need 7 free slots, and there are 6"
    ):
        start(topo, spark=spark, workers=6)


def test_two_queries_have_two_checkpoints(spark: Any, tmp_path: Path) -> None:
    topo = Topology("twice")
    frame = Arrivals(tmp_path / "in").frame(spark)
    streams = [topo.spout(name, StreamingFrame(frame, checkpoint=tmp_path / "query")) for name in ("one", "two")]
    topo.bolt("all", Collect(), *(stream.shuffle() for stream in streams))
    with pytest.raises(TopologyError, match="'two': checkpoint: wanted one of its own, got that of 'one'"):
        start(topo, spark=spark, workers=1)


def test_exactly_once_speculation_is_refused() -> None:
    with pytest.raises(StartError, match=r"wanted spark.speculation=false, got true"):
        require_no_speculation(settled("local[2]", speculation="true"))


def test_a_table_is_refused(spark: Any, tmp_path: Path) -> None:
    topo = Topology("table")
    topo.bolt("all", Collect(), topo.spout("rows", StreamingFrame(spark.range(3), checkpoint=tmp_path)).shuffle())
    with pytest.raises(TopologyError, match=r"wanted a streaming DataFrame.*got a table; ps.transform takes tables"):
        start(topo, spark=spark)


@pytest.mark.parametrize(
    ("settings", "complaint"),
    [
        ({"every_s": 0}, "every_s: wanted a number above 0, got 0"),
        ({"every_s": 1.0, "available_now": True}, "wanted available_now or every_s, got both"),
        ({"output_mode": "update"}, "output_mode: wanted 'append' or 'complete', got 'update'"),
    ],
)
def test_wrong_settings_are_named(spark: Any, tmp_path: Path, settings: Any, complaint: str) -> None:
    topo = Topology("wrong")
    frame = StreamingFrame(Arrivals(tmp_path / "in").frame(spark), checkpoint=tmp_path / "query", **settings)
    topo.bolt("all", Collect(), topo.spout("rows", frame).shuffle())
    with pytest.raises(TopologyError, match=complaint):
        topo.check()


def no_run(*_: Any, **__: Any) -> None:
    pytest.fail("something was started")


def counted(spark: Any, folder: Path, arrivals: Arrivals, **settings: Any) -> Topology:
    """A topology that is fed with an aggregation."""
    topo = Topology("counted")
    counts = arrivals.frame(spark).selectExpr("n % 2 AS odd").groupBy("odd").count()
    rows = topo.spout("rows", StreamingFrame(counts, checkpoint=folder / "query", **settings))
    topo.bolt("all", Collect(), rows.shuffle())
    return topo


def test_what_no_query_can_compute_is_refused_before_anything_starts(
    spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("penstock.spark.run.Run", no_run)
    arrivals = Arrivals(tmp_path / "in")
    counts = counted(spark, tmp_path, arrivals)  # append mode wants a watermark
    with pytest.raises(
        StartError, match=r"StreamingFrame 'rows': its query cannot start in output mode 'append': .*agg"
    ):
        start(counts, spark=spark, workers=1)
    topo = Topology("numbers")
    frame = StreamingFrame(arrivals.frame(spark), checkpoint=tmp_path / "query", output_mode="complete")
    topo.bolt("all", Collect(), topo.spout("numbers", frame).shuffle())
    with pytest.raises(StartError, match="'numbers': its query cannot start in output mode 'complete'"):
        start(topo, spark=spark, workers=1)


@pytest.mark.core
@pytest.mark.parametrize("delivery", ["at_least_once", "exactly_once"])
def test_in_complete_mode_every_micro_batch_is_all_there_is(spark: Any, tmp_path: Path, delivery: Delivery) -> None:
    arrivals = Arrivals(tmp_path / "in")
    before = spark.conf.get("spark.sql.shuffle.partitions")
    spark.conf.set("spark.sql.shuffle.partitions", "2")
    try:
        arrivals.more(2)
        topo = counted(spark, tmp_path, arrivals, output_mode="complete", available_now=True)
        first = run(topo, spark=spark, workers=2, epoch_every_s=EPOCH_S, **promise(delivery, tmp_path))
        arrivals.more(1)
        topo = counted(spark, tmp_path, arrivals, output_mode="complete", available_now=True)
        second = run(topo, spark=spark, workers=2, epoch_every_s=EPOCH_S, **promise(delivery, tmp_path))
    finally:
        spark.conf.set("spark.sql.shuffle.partitions", before)
    rows = [(odd, count) for count in (100, 200) for odd in (0, 1)]
    assert as_promised(sorted(first.collected("all")), delivery) == sorted(rows)
    more = [(odd, 300) for odd in (0, 1)]
    wanted = sorted([*rows, *more] if delivery == "exactly_once" else more)
    assert as_promised(sorted(second.collected("all")), delivery) == wanted


def test_a_query_that_fails_each_time_fails_the_run(spark: Any, tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.setattr("penstock.spark.feed_query.MOST_FAILURES", 1)
    arrivals = Arrivals(tmp_path / "in")
    arrivals.more(1)
    broken = arrivals.frame(spark).selectExpr("raise_error('no such thing') AS n")
    topo = Topology("broken")
    topo.bolt("all", Collect(), topo.spout("rows", StreamingFrame(broken, checkpoint=tmp_path / "query")).shuffle())
    with pytest.raises(RunError, match=r"(?s)the query that feeds 'rows' fails again and again.*no such thing"):
        run(topo, spark=spark, workers=1)


@pytest.mark.core
def test_checkpoints_that_do_not_fit_each_other_are_refused_before_anything_starts(
    spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    arrivals = Arrivals(tmp_path / "in")
    settings = {"spark": spark, "workers": 2, "checkpoint": tmp_path / "checkpoint", "epoch_every_s": EPOCH_S}

    def fed() -> None:
        arrivals.more(2)
        run(numbers_to_files(spark, tmp_path, arrivals, available_now=True), **settings)

    query, checkpoint = tmp_path / "query", tmp_path / "checkpoint"
    fed()
    shutil.copytree(query, tmp_path / "older query")
    shutil.copytree(checkpoint, tmp_path / "older checkpoint")
    fed()
    assert numbers_in(tmp_path) == list(range(arrivals.count))
    shutil.copytree(tmp_path / "older query", tmp_path / "another query")
    about = tmp_path / "another query" / "metadata"
    about.write_text(about.read_text().replace(json.loads(about.read_text())["id"], str(uuid.uuid4())))
    (tmp_path / "another query" / ".metadata.crc").unlink(missing_ok=True)

    misfits = [
        (tmp_path / "nothing", checkpoint, "nothing, but it is empty, so that its micro-batches would begin with 0"),
        (tmp_path / "another query", checkpoint, "another query, but it is that of query [0-9a-f-]{36}"),
        (tmp_path / "older query", checkpoint, "older query, but it is older, and ends with micro-batch 1"),
        (query, tmp_path / "older checkpoint", "query, but it goes on with micro-batch 4: those between were fed"),
    ]
    monkeypatch.setattr("penstock.spark.run.Run", no_run)
    for place, own, complaint in misfits:
        topo = Topology("numbers")
        numbers = topo.spout("numbers", StreamingFrame(arrivals.frame(spark), checkpoint=place), tasks=2)
        passed = topo.bolt("pass", lambda tup: (tup.n,), numbers.by("n"), tasks=2, fields=("n",))
        topo.bolt("files", ParquetSink(tmp_path / "files"), passed.shuffle(), tasks=2)
        for _ in range(2):  # the claim was given back
            with pytest.raises(CheckpointError, match=rf"StreamingFrame 'numbers': .* got /.*{complaint}"):
                start(topo, **settings | {"checkpoint": own})
    monkeypatch.undo()
    fed()
    assert numbers_in(tmp_path) == list(range(arrivals.count))


def test_a_query_that_can_never_feed_the_run_is_not_started_again(
    spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Where it could not be found out before the start."""
    monkeypatch.setattr("penstock.spark.run.require_fitting_queries", lambda *_: None)
    arrivals = Arrivals(tmp_path / "in")
    arrivals.more(2)
    settings = {"spark": spark, "workers": 2, "checkpoint": tmp_path / "checkpoint", "epoch_every_s": EPOCH_S}
    run(numbers_to_files(spark, tmp_path, arrivals, available_now=True), **settings)
    (tmp_path / "query").rename(tmp_path / "lost")
    with pytest.raises(RunError, match=r"^StreamingFrame 'numbers': .* micro-batches of query .* and this is query"):
        run(numbers_to_files(spark, tmp_path, arrivals), **settings)
    assert "is started again" not in caplog.text
    assert not spark.streams.active


def test_nobody_writes_to_a_run_by_hand(spark: Any, tmp_path: Path) -> None:
    from penstock.spark.streams import register

    register(spark)
    arrivals = Arrivals(tmp_path / "in")
    arrivals.more(1)
    frame = arrivals.frame(spark)
    writing = frame.writeStream.format("penstock").option("checkpointLocation", str(tmp_path / "query"))
    with pytest.raises(Exception, match=r"is written to by ps.StreamingFrame"):
        in_time(lambda: writing.start().processAllAvailable())


def test_a_run_can_be_drained_right_after_a_worker_was_lost(spark: Any, tmp_path: Path) -> None:
    arrivals = Arrivals(tmp_path / "in", numbers_per_file=5000)
    arrivals.more(4)
    topo = Topology("slow")
    numbers = topo.spout("numbers", StreamingFrame(arrivals.frame(spark), checkpoint=tmp_path / "query"))
    passed = topo.bolt("gate", Gate(tmp_path / "open"), numbers.shuffle(), fields=("n",))
    topo.bolt("all", Collect(), passed.shuffle())
    with start(topo, spark=spark, workers=2) as running:
        wait_until(lambda: running.metrics().tasks[0].emitted, "rows are under way")
        [fed] = [one.worker for one in running.status().workers if 0 in one.tasks]
        os.kill(pids(running)[fed], signal.SIGKILL)
        (tmp_path / "open").touch()
        assert running.drain(timeout_s=300)
