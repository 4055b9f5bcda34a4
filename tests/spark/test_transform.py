"""A topology between two DataFrames: the right rows once, whatever stands before and behind it."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from penstock.connectors.collect import Collect
from penstock.connectors.from_frame import FromFrame
from penstock.connectors.lines import Lines
from penstock.connectors.rate import Rate
from penstock.connectors.streaming_frame import StreamingFrame
from penstock.errors import SlotsError, StartError, TopologyError
from penstock.spark.run import run
from penstock.spark.slots import held_slots
from penstock.spark.transform import transform
from penstock.topology.topology import Topology
from tests.spark import scenarios, transforms
from tests.spark.conftest import ALL_SLOTS, Place
from tests.spark.remote_driver import RemoteDriver

WORD_COUNT = "word string, count long"


def lines(spark: Any, count: int, *, partitions: int = 5) -> Any:
    return spark.range(0, count, 1, partitions).selectExpr("concat('the ', id % 7, ' end') AS line", "id")


def words_of(count: int) -> Counter[str]:
    return Counter(word for number in range(count) for word in ("the", str(number % 7), "end"))


def count_words(spark: Any, count: int, *, workers: int = 3, **source: int) -> Any:
    inputs = {"lines": lines(spark, count, **source)}
    return transform(transforms.word_count(), inputs, output="count", schema=WORD_COUNT, workers=workers)


def counted(rows: Any) -> dict[str, int]:
    found = {row.word: row["count"] for row in rows}
    assert len(found) == len(rows)
    return found


@pytest.mark.core
@pytest.mark.parametrize(("workers", "partitions"), [(1, 3), (3, 1), (3, 8)])
def test_words_are_counted(spark: Any, workers: int, partitions: int) -> None:
    rows = count_words(spark, 1000, workers=workers, partitions=partitions).collect()

    assert counted(rows) == words_of(1000)


def test_rows_that_lie_right_already_are_not_exchanged(
    spark: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lines(spark, 1000, partitions=4).write.parquet(str(tmp_path / "lines"))
    table = spark.read.parquet(str(tmp_path / "lines"))
    partitions = table.rdd.getNumPartitions()
    assert partitions <= ALL_SLOTS

    exchanges = []
    for workers in {partitions, max(1, partitions - 1)}:
        out = transform(transforms.word_count(), {"lines": table}, output="count", schema=WORD_COUNT, workers=workers)
        out.explain()
        exchanges.append(capsys.readouterr().out.count("Exchange"))
        assert counted(out.collect()) == words_of(1000)
    assert sorted(exchanges) == [1, 2]


def test_a_table_that_is_cut_otherwise_by_then_is_refused(spark: Any, tmp_path: Path) -> None:
    lines(spark, 1000, partitions=2).write.parquet(str(tmp_path / "lines"))
    table = spark.read.parquet(str(tmp_path / "lines"))
    workers = table.rdd.getNumPartitions()
    out = transform(transforms.word_count(), {"lines": table}, output="count", schema=WORD_COUNT, workers=workers)

    assert workers == 2

    spark.conf.set("spark.sql.files.minPartitionNum", "1")
    try:
        with pytest.raises(Exception, match="wanted an input of 2 partitions, as it was then, got 1"):
            out.collect()
    finally:
        spark.conf.unset("spark.sql.files.minPartitionNum")


@pytest.mark.core
def test_everything_that_looks_at_some_rows_works_behind_it(
    spark: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = count_words(spark, 100)

    out.show()
    assert "|the|  100|" in capsys.readouterr().out.replace("| the", "|the")
    assert len(out.take(2)) == 2  # which is limit(2).collect()
    assert out.count() == 9
    assert counted(list(out.toLocalIterator())) == words_of(100)
    out.write.parquet(str(tmp_path / "table"))
    assert counted(spark.read.parquet(str(tmp_path / "table")).collect()) == words_of(100)
    assert out.orderBy("word").coalesce(1).first().word == "0"


def test_frames_can_stand_before_and_behind_it(spark: Any) -> None:
    before = lines(spark, 50).join(spark.range(0, 50, 2), "id").unionByName(lines(spark, 10))
    out = transform(transforms.word_count(), {"lines": before}, output="count", schema=WORD_COUNT, workers=2)
    lengths = spark.createDataFrame([("the", 3), ("end", 3)], "word string, length int")

    rows = out.join(lengths, "word").groupBy("length").sum("count").collect()

    assert [(row[0], row[1]) for row in rows] == [(3, 2 * (25 + 10))]


def test_two_of_them_in_one_query(spark: Any) -> None:
    one, other = count_words(spark, 20, workers=4), count_words(spark, 30, workers=4)

    joined = {row.word: (row[1], row[2]) for row in one.join(other, "word").collect()}
    assert joined == {word: (count, words_of(30)[word]) for word, count in words_of(20).items()}

    again = one.selectExpr("word AS line")
    chained = transform(transforms.word_count(), {"lines": again}, output="count", schema=WORD_COUNT, workers=2)
    assert counted(chained.collect()) == dict.fromkeys(words_of(20), 1)


@pytest.mark.core
def test_several_frames_feed_several_spouts(spark: Any) -> None:
    left = spark.range(0, 300, 1, 4).selectExpr("id % 20 AS key", "cast(id AS string) AS left")
    right = spark.range(0, 10, 1, 3).selectExpr("id AS right", "'not taken' AS more", "id AS key")
    schema = "key long, left string, right long"

    out = transform(transforms.joining(), {"right": right, "left": left}, output="join", schema=schema, workers=3)

    assert sorted(map(tuple, out.collect())) == sorted(
        map(tuple, left.join(right, "key").select("key", "left", "right").collect())
    )


@pytest.mark.parametrize("partitions", [1, 4])
def test_there_may_be_no_rows(spark: Any, partitions: int) -> None:
    empty = lines(spark, 100, partitions=partitions).where("id < 0")
    out = transform(transforms.word_count(), {"lines": empty}, output="count", schema=WORD_COUNT, workers=3)

    assert out.collect() == []
    assert [field.name for field in out.schema] == ["word", "count"]


EMPTY = {
    "when it runs": "id < 0",
    "when it is planned": "1 = 0",
}


@pytest.mark.core
@pytest.mark.parametrize("condition", EMPTY.values(), ids=EMPTY)
@pytest.mark.parametrize("adaptive", ["true", "false"])
def test_without_rows_the_topology_runs_all_the_same(spark: Any, adaptive: str, condition: str) -> None:
    topo = Topology("counting")
    rows = topo.spout("rows", FromFrame("id"))
    own = topo.spout("own", Lines([1, 2, 3], fields=("id",)))
    topo.bolt("seen", transforms.Seen(), rows.shuffle(), own.to_one(), tasks=2)
    empty = spark.range(0, 10, 1, 3).where(condition)
    before = spark.conf.get("spark.sql.adaptive.enabled")
    spark.conf.set("spark.sql.adaptive.enabled", adaptive)
    try:
        out = transform(topo, {"rows": empty}, output="seen", schema="count long", workers=2)
        assert sorted(row["count"] for row in out.collect()) == [0, 3], "tasks finish, and other spouts are heard"
        out = transform(topo, {"rows": empty.repartition(2)}, output="seen", schema="count long", workers=1)
        assert sorted(row["count"] for row in out.collect()) == [0, 3]
    finally:
        spark.conf.set("spark.sql.adaptive.enabled", before)


def test_rows_of_nulls_are_rows(spark: Any) -> None:
    nulls = spark.range(0, 30, 1, 5).selectExpr("cast(NULL AS long) AS id")
    out = transform(
        transforms.one_bolt(lambda tup: (tup.id,), fields=("id",)),
        {"ids": nulls},
        output="bolt",
        schema="id long",
        workers=3,
    )
    assert [row.id for row in out.collect()] == [None] * 30


def test_partitions_may_be_empty(spark: Any) -> None:
    lonely = lines(spark, 100, partitions=10).where("id = 42")
    out = transform(transforms.word_count(), {"lines": lonely}, output="count", schema=WORD_COUNT, workers=3)

    assert counted(out.collect()) == {"the": 1, "0": 1, "end": 1}


def test_large_batches_pass_through_small_windows(spark: Any) -> None:
    """More than rings and windows hold, so that everybody has to wait for everybody."""
    fields = ("id", "text")
    rows = spark.range(0, 60_000, 1, 3).selectExpr("id", "repeat(cast(id AS string), 100) AS text")
    for batches in (False, True):
        topo = transforms.passing_on(fields, grouping="by", tasks=3, batches=batches)
        out = transform(topo, {"rows": rows}, output="second", schema="id long, text string", workers=3)
        assert out.selectExpr("sum(id)", "sum(length(text))", "count(*)").collect() == (
            rows.selectExpr("sum(id)", "sum(length(text))", "count(*)").collect()
        )


def test_a_batch_bolt_gets_record_batches_untouched(spark: Any) -> None:
    out = transform(
        transforms.one_bolt(transforms.Double()),
        {"ids": spark.range(0, 5000, 1, 3)},
        output="bolt",
        schema="id long",
        workers=2,
    )

    assert sorted(row.id for row in out.collect()) == [2 * number for number in range(5000)]


def test_a_topology_that_runs_on_its_own_source_takes_a_frame_instead(spark: Any) -> None:
    topo = Topology("rated")
    numbers = topo.spout("numbers", Rate(None, limit=10))
    passed = topo.bolt("same", lambda tup: (tup.seq,), numbers.shuffle(), fields=("seq",))
    topo.bolt("aside", print, passed.shuffle())  # what the output does not depend on does not run

    out = transform(
        topo,
        {"numbers": spark.range(3).selectExpr("id AS seq", "id AS at_ns")},
        output="same",
        schema="seq long",
        workers=2,
    )

    assert sorted(row.seq for row in out.collect()) == [0, 1, 2]


def test_spouts_that_no_frame_feeds_run_as_they_are(spark: Any) -> None:
    topo = Topology("both")
    own = topo.spout("own", Rate(None, limit=2))
    fed = topo.spout("fed", FromFrame("id"))
    topo.bolt("same", lambda tup: (tup[0],), own.shuffle(), fed.shuffle(), fields=("id",))
    out = transform(topo, {"fed": spark.range(10, 13)}, output="same", schema="id long", workers=2)

    assert sorted(row.id for row in out.collect()) == [0, 1, 10, 11, 12]


@pytest.mark.core
def test_a_killed_worker_changes_nothing(place: Place, tmp_path: Path) -> None:
    found = place(scenarios.transformed_twice, marker=tmp_path / "killed", executor=False, count=10_000)

    assert found == (10_000, 10_000, True)


def test_a_killed_executor_changes_nothing(cluster: RemoteDriver, tmp_path: Path) -> None:
    """It takes its part of the input with it, which Spark has to make again."""
    found = cluster(scenarios.transformed_twice, marker=tmp_path / "killed", executor=True, count=10_000)

    assert found == (10_000, 10_000, True)


def test_words_are_counted_on_all_nodes(cluster: RemoteDriver) -> None:
    assert cluster(scenarios.transformed, workers=ALL_SLOTS, count=5000) == words_of(5000)


def test_an_exception_fails_it_and_names_component_and_tuple(spark: Any) -> None:
    def fussy(tup: Any) -> Any:
        if tup.id == 13:
            message = "no luck"
            raise ValueError(message)
        return (tup.id,)

    topo = transforms.one_bolt(fussy, fields=("id",))
    out = transform(topo, {"ids": spark.range(100)}, output="bolt", schema="id long", workers=2)

    with pytest.raises(Exception, match="component 'bolt'") as raised:
        out.collect()
    assert "ValueError: no luck" in str(raised.value)
    assert "Tuple('ids', id=13)" in str(raised.value)


@pytest.mark.core
@pytest.mark.parametrize(
    ("how", "message"),
    [
        ("raise", "ValueError: no luck"),
        ("open", "ValueError: cannot open"),
        ("end", "RunError: no luck"),
        ("misfit", "column 'id' takes int: wanted bigint, got the str 'no luck'"),
    ],
)
def test_what_user_code_raises_is_not_tried_again_and_is_what_is_said(
    place: Place, tmp_path: Path, how: str, message: str
) -> None:
    said, rows = place(scenarios.transformed_raising, folder=tmp_path, how=how, workers=4)

    assert message in said
    assert "ring" not in said.partition("Driver stacktrace")[0]
    raised = (tmp_path / "raised").read_text().splitlines()
    assert {*raised} == {how}
    # Of a cluster's executors, Spark may lose one that got no turn for long, and then it tries everything once again.
    assert len(raised) == 1 or (isinstance(place, RemoteDriver) and len(raised) == 2)
    assert rows == [*range(100)], "the next evaluation runs"


def test_a_value_that_does_not_fit_is_named_with_its_row(spark: Any) -> None:
    topo = transforms.one_bolt(lambda tup: (tup.id, "many"), fields=("id", "count"))
    out = transform(topo, {"ids": spark.range(1)}, output="bolt", schema="id long, count long", workers=1)

    wanted = "output 'bolt', row (0, 'many'): column 'count' takes int: wanted bigint, got the str 'many'"
    with pytest.raises(Exception, match="column 'count'") as raised:
        out.collect()
    assert wanted in str(raised.value)


def test_columns_may_be_such_that_hold_no_null(spark: Any) -> None:
    schema = "id long not null, odd boolean"
    topo = transforms.one_bolt(lambda tup: (tup.id, None), fields=("id", "odd"))
    out = transform(topo, {"ids": spark.range(2)}, output="bolt", schema=schema, workers=1)

    assert [field.nullable for field in out.schema] == [False, True]
    assert sorted(map(tuple, out.collect())) == [(0, None), (1, None)]


def test_null_where_there_may_be_none_is_named(spark: Any) -> None:
    topo = transforms.one_bolt(lambda tup: (None,), fields=("id",))  # noqa: ARG005
    out = transform(topo, {"ids": spark.range(1)}, output="bolt", schema="id long not null", workers=1)

    with pytest.raises(Exception, match="column 'id' may not be null: wanted bigint not null, got the NoneType None"):
        out.collect()


def test_more_workers_than_slots_are_refused_at_once(spark: Any) -> None:
    with pytest.raises(SlotsError, match=r"workers=7 need 7 free slots, and there are 6: Spark has 6 slots"):
        count_words(spark, 1, workers=7)
    with (
        held_slots(spark, run="another", count=4),
        pytest.raises(SlotsError, match=r"workers=3 need 3 free slots, and there are 2: .* run another holds 4"),
    ):
        count_words(spark, 1, workers=3)
    with pytest.raises(ValueError, match="workers must be at least 1, got 0"):
        count_words(spark, 1, workers=0)


def test_who_asks_for_no_number_gets_what_there_is_room_for(spark: Any) -> None:
    with held_slots(spark, run="another", count=2):
        out = transform(transforms.word_count(), {"lines": lines(spark, 10)}, output="count", schema=WORD_COUNT)
    assert out.rdd.getNumPartitions() == 2
    assert counted(out.collect()) == words_of(10)


def test_who_asks_for_no_number_is_refused_where_there_is_no_room(spark: Any) -> None:
    """Spark would wait for a slot without a word, as long as the other run holds them."""
    with (
        held_slots(spark, run="another", count=6),
        pytest.raises(SlotsError, match=r"workers=1 need 1 free slot.*, and there are 0: .* run another holds 6"),
    ):
        transform(transforms.word_count(), {"lines": lines(spark, 10)}, output="count", schema=WORD_COUNT)


def test_a_session_without_barrier_stages_is_refused(spark: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = type(spark.conf).get
    monkeypatch.setattr(
        type(spark.conf),
        "get",
        lambda self, key, *more: "true" if key == "spark.dynamicAllocation.enabled" else asked(self, key, *more),
    )
    with pytest.raises(StartError, match=r"wanted spark\.dynamicAllocation\.enabled=false, got true"):
        count_words(spark, 1)


@pytest.mark.parametrize("guard", ["enabled", "enableFullRetryOnMismatch"])
def test_a_session_that_does_not_see_other_output_is_refused(spark: Any, guard: str) -> None:
    setting = f"spark.sql.shuffle.orderIndependentChecksum.{guard}"
    spark.conf.set(setting, "false")
    try:
        with pytest.raises(StartError, match=f"wanted {setting}=true, got false"):
            count_words(spark, 1)
    finally:
        spark.conf.unset(setting)


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        ({"output": "counts"}, r"output: wanted a component of topology 'word-count' \(.*\), got 'counts'"),
        ({"schema": "word string, n long"}, r"schema: wanted the columns that 'count' emits \('word', 'count'\)"),
        ({"inputs": {}}, "inputs: wanted a DataFrame for at least one spout"),
        ({"inputs": {"split": "line"}}, "inputs: wanted a spout with fields, got 'split', a bolt"),
        ({"inputs": {"line": "line"}}, r"inputs: wanted spouts that 'count' depends on \('lines'\), got 'line'"),
        ({"inputs": {"lines": "id"}}, r"inputs\['lines'\]: wanted .* \('line'\), got 'id'"),
    ],
)
def test_what_does_not_fit_together_is_refused_at_once(spark: Any, arguments: dict[str, Any], complaint: str) -> None:
    given: dict[str, Any] = {"inputs": {"lines": "line"}, "output": "count", "schema": WORD_COUNT} | arguments
    inputs = {name: lines(spark, 1).select(column) for name, column in given.pop("inputs").items()}

    with pytest.raises(TopologyError, match=complaint):
        transform(transforms.word_count(), inputs, workers=1, **given)


def _no_dataframes(spark: Any) -> dict[str, Any]:
    import pandas as pd

    return {
        "got a list: spark.createDataFrame(...) makes a DataFrame of rows": [("the end",)],
        "got None": None,
        "got a str": "lines",
        "got one of type pandas.core.frame.DataFrame: spark.createDataFrame(...)": pd.DataFrame({"line": ["the end"]}),
        "RDD: its toDF(...) is a DataFrame of Spark's": spark.sparkContext.parallelize([("the end",)]),
    }


def test_what_is_no_dataframe_is_refused_by_name(spark: Any, tmp_path: Path) -> None:
    for complaint, given in _no_dataframes(spark).items():
        with pytest.raises(TopologyError, match=r"inputs\['lines'\]: wanted a DataFrame, .*" + re.escape(complaint)):
            transform(transforms.word_count(), {"lines": given}, output="count", schema=WORD_COUNT, workers=1)
        topo = Topology("fed")
        topo.bolt("all", Collect(), topo.spout("rows", StreamingFrame(given, checkpoint=tmp_path)).shuffle())
        with pytest.raises(
            TopologyError, match=r"StreamingFrame: wanted a streaming DataFrame, .*" + re.escape(complaint)
        ):
            run(topo, workers=1)
    with pytest.raises(TopologyError, match="inputs: wanted a dict from the names of spouts to DataFrames, got a list"):
        transform(transforms.word_count(), [lines(spark, 1)], output="count", schema=WORD_COUNT, workers=1)  # type: ignore[arg-type]


def test_a_streaming_frame_is_refused_at_once(spark: Any) -> None:
    endless = spark.readStream.format("rate").load().selectExpr("cast(value AS string) AS line")

    with pytest.raises(TopologyError, match=r"inputs\['lines'\]: wanted a table, got a streaming .*ps\.StreamingFrame"):
        transform(transforms.word_count(), {"lines": endless}, output="count", schema=WORD_COUNT, workers=1)


def test_a_place_for_a_frame_is_no_source_for_a_run() -> None:
    with pytest.raises(TopologyError, match=r"FromFrame: wanted a DataFrame, as in ps\.transform"):
        run(transforms.word_count(), workers=1)
