"""Spark Connect, where there is no SparkContext: the same topologies, launched and ended the same way."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.spark import feed_driver, scenarios
from tests.spark.remote_driver import RemoteDriver
from tests.spark.topologies import words_of

pytest.importorskip("grpc", reason="Spark Connect comes with `pip install pyspark[connect]`")


@pytest.fixture(scope="session")
def connect() -> Iterator[RemoteDriver]:
    """A client of a Connect server, with room for six workers."""
    with RemoteDriver("local[6,4]", {"spark.ui.enabled": "false"}, connect=True) as driver:
        yield driver


def test_word_count_is_right(connect: RemoteDriver) -> None:
    result = connect(scenarios.word_count, workers=3, times=50)

    assert result["counts"] == words_of(50)
    assert result["phase"] == "ended"


def test_slots_are_counted(connect: RemoteDriver) -> None:
    assert connect(scenarios.slots) == (6, 6)


def test_a_killed_worker_comes_back(connect: RemoteDriver) -> None:
    result = connect(scenarios.killed)

    assert result["phase"] == "ended"
    assert result["restarts"] >= 1
    assert result["others_stayed"]


def test_a_worker_that_hangs_is_ended_by_force(connect: RemoteDriver) -> None:
    assert connect(scenarios.hung) == {"phase": "ended", "gone": True}


def test_a_topology_is_a_function_of_frames(connect: RemoteDriver, tmp_path: Path) -> None:
    assert connect(scenarios.transformed, workers=3, count=70) == {"the": 70, "end": 70} | dict.fromkeys("0123456", 10)
    killed = connect(scenarios.transformed_twice, marker=tmp_path / "killed", executor=False, count=1000)
    assert killed == (1000, 1000, True)


def test_streams_are_read(connect: RemoteDriver, tmp_path: Path) -> None:
    assert connect(scenarios.streamed, folder=tmp_path, count=1000) == (list(range(1000)), 1000)


@pytest.mark.box
def test_a_streaming_frame_feeds_a_topology(connect: RemoteDriver, tmp_path: Path) -> None:
    found, count = connect(feed_driver.fed, folder=tmp_path, workers=2, kills=False)
    assert found == list(range(count))
