"""What is promised, on a cluster in a box, whatever dies, hangs or is cut off: every row of the output is checked."""

from __future__ import annotations

import functools
import subprocess
import sys
from pathlib import Path

import pytest

from penstock.devcluster import ClusterRegistry, DevCluster, DevClusterSettings
from penstock.devcluster.commands import trouble_with
from penstock.flow.delivery import Delivery
from tests.spark import scenarios, trouble
from tests.spark.conftest import ALL_SLOTS, SLOTS_PER_NODE
from tests.spark.full_disk import on_a_small_disk
from tests.spark.remote_driver import QUIET, RemoteDriver
from tests.spark.topologies import words_of

ROOT = Path(__file__).parents[2]
# Room for the workers of one node on the others.
WORKERS = ALL_SLOTS - SLOTS_PER_NODE
BOTH = pytest.mark.parametrize("delivery", ["at_least_once", "exactly_once"])
# What is less likely to go wrong is left to `make box`.
BOTH_IN_TIME = pytest.mark.parametrize(
    "delivery", [pytest.param("at_least_once", marks=pytest.mark.box), "exactly_once"]
)
QUICK = {"detection_s": 1.0, "restart_after_s": 1.0}


@BOTH_IN_TIME
def test_an_executor_that_is_killed(cluster: RemoteDriver, box: DevCluster, tmp_path: Path, delivery: Delivery) -> None:
    kill = functools.partial(trouble.kill_executors, box=box.folder)
    result = cluster(
        trouble.endured, trouble=kill, delivery=delivery, workers=WORKERS, folder=tmp_path, broadcast="binary"
    )
    assert result["phase"] == "ended"


@BOTH
def test_a_node_that_is_cut_off_is_noticed_named_and_healed(
    cluster: RemoteDriver, cuttable: DevCluster, tmp_path: Path, delivery: Delivery
) -> None:
    cut = functools.partial(trouble.cut_off_and_back, box=cuttable.folder)
    result = cluster(
        trouble.endured, trouble=cut, delivery=delivery, workers=ALL_SLOTS, folder=tmp_path, broadcast="ring"
    )

    assert result["phase"] == "ended"
    assert len(result["told"]["victims"]) == SLOTS_PER_NODE
    assert result["told"]["named"] >= result["told"]["victims"]
    assert {node.state for node in cuttable.nodes} == {"up"}


@BOTH_IN_TIME
def test_workers_of_a_node_that_stays_cut_off_are_started_elsewhere_and_what_is_left_of_them_does_no_harm(
    cluster: RemoteDriver, cuttable: DevCluster, tmp_path: Path, delivery: Delivery
) -> None:
    cut = functools.partial(trouble.cut_off_until_replaced, box=cuttable.folder)
    result = cluster(
        trouble.endured, trouble=cut, delivery=delivery, workers=WORKERS, folder=tmp_path, broadcast="flat", **QUICK
    )

    assert result["phase"] == "ended"
    assert {node.state for node in cuttable.nodes} == {"up"}


@pytest.mark.box
@BOTH
def test_a_worker_that_is_stopped_for_a_while(cluster: RemoteDriver, tmp_path: Path, delivery: Delivery) -> None:
    stop = trouble.stop_worker_for_a_while
    result = cluster(
        trouble.endured, trouble=stop, delivery=delivery, workers=3, folder=tmp_path, broadcast="two_way_ring"
    )
    assert result["phase"] == "ended"


@BOTH
def test_a_worker_that_is_stopped_until_it_is_replaced(
    cluster: RemoteDriver, tmp_path: Path, delivery: Delivery
) -> None:
    stop = trouble.stop_worker_until_replaced
    result = cluster(
        trouble.endured, trouble=stop, delivery=delivery, workers=3, folder=tmp_path, broadcast="ring", **QUICK
    )
    assert result["phase"] == "ended"


@pytest.mark.box
@BOTH
def test_nodes_that_are_killed_or_given_up_come_back(tmp_path: Path, delivery: Delivery) -> None:
    settings = DevClusterSettings(nodes=2, slots_per_node=2, lost_after_s=8.0)
    with (
        DevCluster(settings, registry=ClusterRegistry(tmp_path / "clusters")) as own,
        RemoteDriver(own.master_url, own.spark_settings() | QUIET) as driver,
    ):
        driver(scenarios.await_slots, count=4)
        kill = functools.partial(trouble.kill_node, box=own.folder)
        result = driver(
            trouble.endured, trouble=kill, delivery=delivery, workers=3, folder=tmp_path, broadcast="binary"
        )
        assert result["phase"] == "ended"
        if own.can_cut_off:
            driver(trouble.given_up_by_spark, box=own.folder, node=0, slots=(2, 4))
            assert driver(scenarios.word_count, workers=4, times=10)["counts"] == words_of(10)
        assert {node.state for node in own.nodes} == {"up"}
    assert not own.folder.exists()


@pytest.mark.cluster
def test_a_disk_that_is_full_for_a_while(tmp_path: Path) -> None:
    if (problem := trouble_with(on_a_small_disk(tmp_path, ["true"]))) is not None:
        pytest.skip(f"no small disk can be mounted here: {problem}")
    driver = on_a_small_disk(tmp_path, [sys.executable, "-m", "tests.spark.full_disk", str(tmp_path)])
    done = subprocess.run(driver, cwd=ROOT, capture_output=True, text=True, check=False)

    assert done.returncode == 0, done.stderr
    assert "exact: " in done.stdout
    assert "No space left" in done.stdout
