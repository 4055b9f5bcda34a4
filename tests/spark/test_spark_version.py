"""What differs between versions of Spark, on whichever is installed: done without, or refused in one line."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from penstock.connectors.lines import Lines
from penstock.connectors.spark_stream import SparkStream
from penstock.errors import RunError, StartError
from penstock.spark import spark_version
from penstock.spark.feeds import require_feedable
from penstock.spark.run import start
from penstock.spark.spark_version import HERE, require_version, version_of
from penstock.spark.streams import most_per_trigger, register
from penstock.spark.transform import _GUARDS, _require_guards
from penstock.topology.topology import Topology
from tests.spark.settled import settled

pytestmark = pytest.mark.core


class Old:
    """A session of a Spark that was before this one."""

    version = "3.5.9"


def test_the_oldest_of_session_and_pyspark_counts(spark: Any) -> None:
    assert version_of(spark) == HERE >= (3, 5)
    old: Any = Old()
    assert version_of(old) == (3, 5)
    require_version(old, (3, 5), "this", instead="that")
    with pytest.raises(StartError, match=r"^this needs Spark 4\.0 or newer, got 3\.5\.\d+: that$"):
        require_version(old, (4, 0), "this", instead="that")
    with pytest.raises(StartError, match=rf"^this needs Spark 9\.0 or newer, got {HERE[0]}\.{HERE[1]}\.\d+: that$"):
        require_version(None, (9, 0), "this", instead="that")


def test_our_hash_of_an_int_is_that_of_spark(spark: Any) -> None:
    values = [*range(-300, 3000), 2**31 - 1, -(2**31)]
    rows = spark.createDataFrame([(value,) for value in values], "value int").selectExpr("value", "hash(value)")
    assert [tuple(row) for row in rows.collect()] == [(value, spark_version._hash_of_int(value)) for value in values]


@pytest.mark.parametrize("partitions", [1, 2, 3, 7, 64])
@pytest.mark.parametrize("version", [(4, 0), HERE])
def test_rows_go_to_the_partitions_of_their_numbers(
    spark: Any, monkeypatch: pytest.MonkeyPatch, partitions: int, version: tuple[int, int]
) -> None:
    monkeypatch.setattr(spark_version, "HERE", min(HERE, version))
    numbers = spark.range(0, 2 * partitions + 1, 1, 3).selectExpr("cast(id AS int) AS number")
    moved = spark_version.repartitioned_by_id(numbers, partitions, "number")
    rows = moved.selectExpr("number", "spark_partition_id()").collect()
    assert sorted(tuple(row) for row in rows) == [(number, number % partitions) for number in range(2 * partitions + 1)]


def test_a_spark_without_data_sources_is_refused_before_anything_starts(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("pyspark.__version__", "3.5.9")
    monkeypatch.setattr("penstock.spark.run.borrowed_session", None)  # whoever would start one fails
    refused = (
        r'^SparkStream, as format\("penstock"\), needs Spark 4\.0 or newer, got 3\.5\.9: write with ps\.ParquetSink'
    )
    topo = Topology("spooled")
    topo.bolt("out", SparkStream(tmp_path, schema="line string"), topo.spout("lines", Lines(["a"])).shuffle())
    with pytest.raises(StartError, match=refused):
        start(topo, workers=1)
    with pytest.raises(StartError, match=refused):
        register(Old())
    assert not any(tmp_path.iterdir())


def test_a_limit_is_refused_where_spark_cannot_be_held_to_it() -> None:
    refused = r'^format "penstock": option maxBytesPerTrigger needs Spark 4\.2 or newer: leave it out, or use that$'
    with pytest.raises(RunError, match=refused):
        most_per_trigger({"maxbytespertrigger": "1"}, known=False)
    assert most_per_trigger({}, known=False) == (None, None)


def test_a_transform_on_an_old_cluster_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """And not on an old local session, which has no executor to lose, nor on a cluster whose guards are on."""
    local, cluster, guarded = settled("local[4,4]"), settled("spark://head:7077"), settled("spark://head:7077")
    guards = dict.fromkeys(_GUARDS, "true") | {"spark.master": "spark://head:7077"}
    guarded.conf.get = guarded.sparkContext.getConf().get = guards.get
    too_old = r"^a transform on a cluster needs Spark 4\.1 or newer, got "
    for version, refused in (
        ("3.5.9", too_old),
        ("4.0.5", too_old),
        ("4.1.4", rf"wanted {_GUARDS[0]}=true, got false"),
    ):
        monkeypatch.setattr("pyspark.__version__", version)
        monkeypatch.setattr(spark_version, "HERE", tuple(map(int, version.split(".")[:2])))
        local.version = cluster.version = guarded.version = version
        _require_guards(local)
        with pytest.raises(StartError, match=refused):
            _require_guards(cluster)
    _require_guards(guarded)
    for version in ("4.2.0", "4.3.1"):  # which have them on
        monkeypatch.setattr(spark_version, "HERE", tuple(map(int, version.split(".")[:2])))
        cluster.version = version
        _require_guards(cluster)


def test_a_streaming_frame_over_an_old_connect_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    old: Any = Old()
    require_feedable(old)
    monkeypatch.setattr("penstock.spark.feeds.is_connect", lambda _: True)
    with pytest.raises(StartError, match=r"^StreamingFrame over Spark Connect needs Spark 4\.1 or newer, got 3\.5\.9"):
        require_feedable(old)
