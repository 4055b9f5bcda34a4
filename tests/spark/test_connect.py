"""Spark Connect, where there is no SparkContext: the same topologies, launched and ended the same way."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.spark import scenarios
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
    assert result["restarts"] == 1
    assert result["others_stayed"]


def test_a_worker_that_hangs_is_ended_by_force(connect: RemoteDriver) -> None:
    assert connect(scenarios.hung) == {"phase": "ended", "gone": True}
