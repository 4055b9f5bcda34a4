"""Topologies on a cluster in a box, and what happens to them when a node is in trouble."""

from __future__ import annotations

from pathlib import Path

import pytest

from penstock.devcluster import ClusterRegistry, DevCluster, DevClusterSettings
from tests.devcluster import box_scenarios
from tests.devcluster.conftest import NODES, QUIET, SLOTS_PER_NODE
from tests.spark import scenarios
from tests.spark.remote_driver import RemoteDriver
from tests.spark.topologies import words_of

pytestmark = pytest.mark.box

ALL = NODES * SLOTS_PER_NODE


def addresses(box: DevCluster) -> dict[int, str]:
    return {node.number: node.address for node in box.nodes}


def test_word_count_on_all_nodes(driver: RemoteDriver) -> None:
    result = driver(scenarios.word_count, workers=ALL, times=100)

    assert result["counts"] == words_of(100)
    assert (result["workers"], result["lost"]) == (ALL, 0)


def test_workers_of_a_node_share_rings_and_nodes_are_joined_by_links(box: DevCluster, driver: RemoteDriver) -> None:
    testimony = driver(scenarios.testimony, workers=ALL)

    assert {said["worker"] for said in testimony} == set(range(ALL))
    by_node: dict[str, set[int]] = {}
    for said in testimony:
        by_node.setdefault(said["node"], set()).add(said["worker"])
    # Every slot of every node is taken, so each worker has one neighbour.
    assert [len(workers) for workers in by_node.values()] == [SLOTS_PER_NODE] * NODES
    nodes = set(addresses(box).values())
    homes = []
    for said in testimony:
        assert said["rings"] == SLOTS_PER_NODE, said  # its own, and that of its neighbour
        elsewhere = nodes & set(said["peers"])
        assert len(elsewhere) == NODES - 1, said
        homes.append(nodes - elsewhere)
    assert set().union(*homes) == nodes


def test_a_node_that_is_cut_off_is_noticed_and_healed(box: DevCluster, driver: RemoteDriver) -> None:
    result = driver(box_scenarios.cut_off_and_back, folder=box.folder, workers=ALL)

    assert result["phase"] == "ended"
    assert len(result["victims"]) == SLOTS_PER_NODE
    assert result["silent"] == result["victims"]
    for victim in result["victims"]:
        assert [text for text in result["notices"] if f"worker {victim}" in text and "is silent" in text]
    assert result["missing"] == result["counted"]
    assert {node.state for node in box.nodes} == {"up"}


def test_workers_of_a_node_that_stays_cut_off_are_started_elsewhere(box: DevCluster, driver: RemoteDriver) -> None:
    result = driver(box_scenarios.cut_off_for_long, folder=box.folder, workers=ALL - SLOTS_PER_NODE)

    assert result["phase"] == "ended"
    assert result["moved"]
    for victim in result["victims"]:
        assert [text for text in result["notices"] if f"worker {victim}" in text and "is lost: silent for" in text]
    assert {node.state for node in box.nodes} == {"up"}


def test_nodes_come_back_while_another_cluster_goes_on(box: DevCluster, driver: RemoteDriver, tmp_path: Path) -> None:
    settings = DevClusterSettings(nodes=2, slots_per_node=2, network="namespaces", lost_after_s=8.0)
    with DevCluster(settings, registry=ClusterRegistry(tmp_path / "clusters")) as other:
        assert {node.address for node in other.nodes}.isdisjoint(addresses(box).values())
        with RemoteDriver(other.master_url, other.spark_settings() | QUIET) as its_driver:
            its_driver(scenarios.await_slots, count=4)
            result = its_driver(box_scenarios.killed_and_restarted, folder=other.folder, workers=3)
            assert result["phase"] == "ended"
            its_driver(box_scenarios.given_up_by_spark, folder=other.folder, node=0, slots=(2, 4))
            assert its_driver(scenarios.word_count, workers=4, times=10)["counts"] == words_of(10)
        assert {node.state for node in other.nodes} == {"up"}
    assert driver(scenarios.word_count, workers=2, times=10)["counts"] == words_of(10)
    assert not other.folder.exists()
