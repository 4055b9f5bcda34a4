"""The preflight on real executors."""

from __future__ import annotations

from typing import Any

import pytest

from penstock.spark.doctor import Finding, diagnose
from penstock.spark.self_test import own_versions, self_test
from penstock.version import __version__
from tests.spark import scenarios
from tests.spark.conftest import ALL_SLOTS
from tests.spark.remote_driver import RemoteDriver


def test_a_healthy_session_is_found_so(spark: Any) -> None:
    settings, executors = diagnose(spark)

    assert settings == Finding(level="ok", what="the session's settings are good for workers")
    assert executors.level == "ok"
    assert executors.what.startswith(f"executors on 1 node have Penstock {__version__}; Spark has 6 slots")


def test_a_pandas_that_spark_does_not_support_is_told_of(spark: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.metadata.version", {"pandas": "3.1.1"}.get)
    (told, _) = diagnose(spark)

    assert told.level == "warning"
    assert told.what.startswith("pandas 3.1.1 with Spark ")
    assert told.remedy == 'if you use those: pip install "pandas<3"'


def test_all_nodes_of_a_cluster_are_looked_at(cluster: RemoteDriver) -> None:
    cluster(scenarios.await_slots, count=ALL_SLOTS)  # a test before this one may have killed an executor
    settings, executors = cluster(scenarios.preflight)

    assert settings[0] == "ok"
    assert executors[0] == "ok"
    assert executors[1].startswith(f"executors on 3 nodes have Penstock {__version__}; Spark has 6 slots")


def test_a_driver_out_of_reach_is_found() -> None:
    report = self_test("127.0.0.1", 9, own_versions())

    assert report.keys() == {"node", "driver out of reach"}
    assert "refused" in report["driver out of reach"]


def test_everything_that_is_wrong_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    def no_memory(*_: Any, **__: Any) -> Any:
        message = "memfd_create: Operation not permitted"
        raise PermissionError(message)

    monkeypatch.setattr("penstock.transport.ring.RingReader.create", no_memory)
    monkeypatch.setattr("zmq.has", lambda _: False)

    report = self_test("127.0.0.1", 9, ("0.0.1", "3.1"))

    assert report.keys() == {"node", "other versions", "no shared memory", "no encryption", "driver out of reach"}
    assert "0.0.1" in report["other versions"]
    assert "Operation not permitted" in report["no shared memory"]
    assert "CURVE" in report["no encryption"]
