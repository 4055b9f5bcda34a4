"""Workers in containers of YARN, on two NodeManagers."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.ring.patience import wait_until
from tests.spark import scenarios
from tests.spark.remote_driver import QUIET, RemoteDriver
from tests.spark.scenarios import is_there
from tests.spark.yarn_cluster import END_PATIENCE_S, NODE_MANAGERS, YarnCluster

ROOT = Path(__file__).parents[2]
WORKERS = 4


@pytest.fixture(scope="module")
def application(yarn: YarnCluster) -> Iterator[RemoteDriver]:
    """A driver in client mode. When it has ended, nothing of its application is left."""
    before = yarn.applications().keys()
    settings = yarn.spark_settings() | QUIET
    with RemoteDriver("yarn", settings, environment=yarn.environment) as driver:
        driver(scenarios.await_slots, count=WORKERS)
        (own,) = yarn.applications().keys() - before
        yield driver
    wait_until(lambda: yarn.applications()[own] == ("FINISHED", "SUCCEEDED"), f"{own} has finished, and well")
    wait_until(lambda: yarn.processes_of(own) == [], f"no process of {own} is left")


def test_the_doctor_finds_both_node_managers_good(application: RemoteDriver) -> None:
    assert [level for level, _ in application(scenarios.preflight)] == ["ok", "ok"]


def test_workers_are_in_a_container_on_each_node_manager(application: RemoteDriver) -> None:
    found = application(scenarios.containers, workers=WORKERS)

    assert found.keys() == set(range(WORKERS))
    assert len({container for container, _ in found.values()}) == NODE_MANAGERS
    assert len({node_manager for _, node_manager in found.values()}) == NODE_MANAGERS


def test_words_are_counted_exactly_once_though_a_worker_is_killed(application: RemoteDriver, tmp_path: Path) -> None:
    result = application(scenarios.killed_word_count, folder=tmp_path, workers=3, more=20_000)

    assert result["counts"] == result["right"]
    assert result["phase"] == "ended"
    assert result["restarts"] >= 1


def test_at_least_once_nothing_is_missing_when_a_worker_is_killed(application: RemoteDriver) -> None:
    result = application(scenarios.killed)

    assert result["phase"] == "ended"
    assert result["restarts"] >= 1
    assert result["missing"] == set()


def test_a_transform_survives_its_executor(application: RemoteDriver, tmp_path: Path) -> None:
    marker = tmp_path / "killed"
    assert application(scenarios.transformed_twice, marker=marker, executor=True, count=1000) == (1000, 1000, True)


def test_yarn_ends_when_the_process_that_started_it_is_killed(yarn: YarnCluster, tmp_path: Path) -> None:
    assert is_there(yarn.pid)
    command = [sys.executable, "-m", "tests.spark.yarn_cluster", str(tmp_path / "yarn")]
    with subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as owner:
        assert owner.stdout is not None
        jvm = int(owner.stdout.readline())
        owner.kill()
    wait_until(lambda: not is_there(jvm), "the JVM is gone", patience_s=END_PATIENCE_S)
