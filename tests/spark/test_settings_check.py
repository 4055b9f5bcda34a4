"""Settings of Spark that are bad for workers."""

from __future__ import annotations

import logging
from typing import Any

import pytest

from penstock.errors import StartError
from penstock.spark.doctor import refuse_or_warn
from penstock.spark.finding import Finding
from penstock.spark.settings_check import examine_settings
from penstock.worker.settings import WorkerSettings
from tests.spark.settled import settled

CLUSTER = "spark://host:7077"


def examine(session: Any, **settings: Any) -> list[Finding]:
    return examine_settings(session, workers=4, settings=WorkerSettings(**settings))


@pytest.mark.parametrize("master", ["local[4,4]", CLUSTER])
def test_an_ordinary_session_is_fine(master: str) -> None:
    assert examine(settled(master)) == []


def test_our_own_session_is_fine(spark: Any) -> None:
    assert examine(spark) == []


BAD = [
    (
        settled(CLUSTER, python_worker_idleTimeoutSeconds="60", python_worker_killOnIdleTimeout="true"),
        "error",
        "kills a Python worker that returns nothing for 60 s",
    ),
    (
        settled(
            CLUSTER,
            python_worker_idleTimeoutSeconds="60",
            sql_execution_pyspark_udf_idleTimeoutSeconds="30",
            sql_execution_pyspark_udf_killOnIdleTimeout="true",
        ),
        "error",
        "returns nothing for 30 s",
    ),
    (
        settled(CLUSTER, speculation="true", speculation_task_duration_threshold="10min"),
        "error",
        "starts long tasks a second time",
    ),
    (settled(CLUSTER, python="./environment/bin/python"), "error", "executors have no ./environment/bin/python"),
    (
        settled("yarn", python="./environment/bin/python", yarn_dist_archives="file:/home/me/env.tar.gz"),
        "error",
        "executors have no ./environment/bin/python",
    ),
    (settled(CLUSTER, task_maxFailures="1"), "warning", "does not restart a task"),
    (settled("local"), "warning", "does not restart a task"),
    (settled("local[4]"), "warning", "does not restart a task"),
    (settled("local[*]"), "warning", "does not restart a task"),
    (settled("local[4,1]"), "warning", "does not restart a task"),
    (settled(CLUSTER, dynamicAllocation_enabled="true"), "warning", "allocated dynamically"),
    (settled(CLUSTER, decommission_enabled="true"), "warning", "decommissioned"),
    (settled(CLUSTER, excludeOnFailure_enabled="true"), "warning", "excluded after failures"),
    (settled(CLUSTER, sql_pyspark_udf_profiler="perf"), "warning", "profiled"),
    (settled("yarn", executor_cores="4"), "warning", "has 384 MiB beside the JVM, and 4 workers want about 832 MiB"),
    (
        settled("yarn", executor_cores="2", executor_memory="8g", executor_memoryOverhead="256"),
        "warning",
        "has 256 MiB",
    ),
]


@pytest.mark.parametrize(("session", "level", "what"), BAD, ids=[what for _, _, what in BAD])
def test_a_bad_setting_is_found(session: Any, level: str, what: str) -> None:
    (finding,) = examine(session)

    assert finding.level == level
    assert what in finding.what
    assert finding.why
    assert finding.remedy


GOOD = [
    settled(CLUSTER, python="./environment/bin/python", archives="data.zip,hdfs:///env.tar.gz#environment"),
    settled(CLUSTER, python="environment/bin/python", archives="s3a://bucket/env.tar.gz#environment"),
    settled("yarn", python="./environment/bin/python", yarn_dist_archives="file:/home/me/env.tar.gz#environment"),
    settled("yarn", python="./env.tar.gz/bin/python", yarn_dist_archives="file:/home/me/env.tar.gz"),
    settled(CLUSTER, python="/opt/env/bin/python"),  # the nodes' own affair
    settled("k8s://https://host", python="./environment/bin/python", executor_memoryOverhead="1g"),  # in the image
    settled("local[4,4]", python="./env/bin/python"),
    settled(CLUSTER, python_worker_idleTimeoutSeconds="60"),  # only says so in the log
    settled(
        CLUSTER,
        python_worker_idleTimeoutSeconds="60",
        python_worker_killOnIdleTimeout="true",
        sql_execution_pyspark_udf_killOnIdleTimeout="false",
    ),
    settled(CLUSTER, speculation="true"),  # only among several tasks of one stage
    settled("yarn", executor_cores="4", executor_memoryOverhead="1g"),
    settled("yarn", executor_cores="4", executor_memory="10g"),  # a tenth of it is added
    settled("k8s://https://host", executor_cores="2", executor_pyspark_memory="1g"),
]


@pytest.mark.parametrize("session", GOOD)
def test_a_harmless_setting_is_not(session: Any) -> None:
    assert examine(session) == []


def test_larger_rings_want_more_memory() -> None:
    session = settled("yarn", executor_cores="4", executor_memoryOverhead="1g")

    (finding,) = examine(session, inbox_bytes=256 << 20)

    assert "want about 1824 MiB" in finding.what


def test_threads_that_share_a_connection_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYSPARK_PIN_THREAD", "false")

    assert [finding.level for finding in examine(settled(CLUSTER))] == ["error"]


def test_a_python_without_what_spark_3_imports_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("penstock.spark.spark_version.HERE", (3, 5))
    monkeypatch.setattr("importlib.util.find_spec", lambda name: name if name == "distutils" else None)
    assert examine(settled(CLUSTER)) == []
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)
    [finding] = examine(settled(CLUSTER))
    assert finding.level == "error"
    assert finding.what.startswith("Spark 3.5 imports distutils, which Python 3.")
    monkeypatch.setattr("penstock.spark.spark_version.HERE", (4, 0))
    assert examine(settled(CLUSTER)) == []


def test_errors_refuse_a_start_and_warnings_are_logged(caplog: pytest.LogCaptureFixture) -> None:
    warning = Finding(level="warning", what="slow", why="because", remedy="hurry")
    error = Finding(level="error", what="broken", why="therefore", remedy="mend")

    with caplog.at_level(logging.WARNING):
        refuse_or_warn([warning, Finding(level="ok", what="fine")])
    assert caplog.messages == ["slow: because. To do: hurry"]
    with pytest.raises(StartError, match=r"broken: therefore\. To do: mend"):
        refuse_or_warn([warning, error])
