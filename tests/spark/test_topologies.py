"""Topologies on a real Spark: in a local session, and on a cluster in a box."""

from __future__ import annotations

import pytest

from penstock.devcluster import DevCluster
from tests.spark import scenarios
from tests.spark.conftest import ALL_SLOTS, NODES, SLOTS_PER_NODE, Place
from tests.spark.remote_driver import RemoteDriver
from tests.spark.topologies import words_of


@pytest.mark.core
def test_word_count_is_right(place: Place) -> None:
    result = place(scenarios.word_count, workers=3, times=200)

    assert result["counts"] == words_of(200)
    assert result["phase"] == "ended"
    assert result["lost"] == 0
    assert result["workers"] == 3
    assert result["processed"]["split"] == 600


def test_word_count_on_all_nodes(cluster: RemoteDriver) -> None:
    result = cluster(scenarios.word_count, workers=ALL_SLOTS, times=100)

    assert result["counts"] == words_of(100)
    assert (result["workers"], result["lost"]) == (ALL_SLOTS, 0)


def test_rings_within_a_node_and_links_between_nodes(box: DevCluster, cluster: RemoteDriver) -> None:
    testimony = cluster(scenarios.testimony, workers=ALL_SLOTS)

    assert {said["worker"] for said in testimony} == set(range(ALL_SLOTS))
    by_node: dict[str, set[int]] = {}
    for said in testimony:
        by_node.setdefault(said["node"], set()).add(said["worker"])
    # Every slot of every node is taken, so each worker has one neighbour.
    assert [len(workers) for workers in by_node.values()] == [SLOTS_PER_NODE] * NODES
    nodes = {node.address for node in box.nodes}
    homes = []
    for said in testimony:
        assert said["rings"] == SLOTS_PER_NODE, said  # its own, and that of its neighbour
        elsewhere = nodes & set(said["peers"])
        assert len(elsewhere) == NODES - 1, said
        homes.append(nodes - elsewhere)
    assert set().union(*homes) == nodes


@pytest.mark.core
def test_user_errors_are_counted_and_the_run_goes_on(place: Place) -> None:
    result = place(scenarios.user_errors, count=100)

    assert result["passed"] == [number for number in range(100) if number % 10 != 3]
    bolt, spout = sorted(result["failures"], key=lambda failure: str(failure["component"]))
    assert (bolt["component"], spout["component"]) == ("fussy", "numbers")
    assert (bolt["count"], spout["count"]) == (40, 10), "each of ten was tried four times, and then given up"
    assert "three is no number for me" in bolt["traceback"]


@pytest.mark.core
def test_an_error_of_the_start_reaches_the_caller_with_its_traceback(place: Place) -> None:
    result = place(scenarios.start_error)

    assert result["kind"] == "StartError"
    assert "ConnectionRefusedError: no database for reluctant" in result["text"]
    assert "in open" in result["text"]


@pytest.mark.core
def test_a_drained_run_has_lost_nothing(place: Place) -> None:
    result = place(scenarios.drained)

    assert result["phase"] == "ended"
    assert result["complete"]
    assert result["count"] > 0


def test_a_killed_worker_comes_back_and_the_run_goes_on(place: Place) -> None:
    result = place(scenarios.killed)

    assert result["phase"] == "ended"
    assert result["restarts"] >= 1
    assert result["others_stayed"]
    assert result["replaced"]
    assert result["dead"]
    assert result["missing"] == set(), "what was inside of it is emitted again"


@pytest.mark.core
def test_a_worker_that_hangs_is_ended_by_force(place: Place) -> None:
    assert place(scenarios.hung) == {"phase": "ended", "gone": True}


def test_workers_that_find_no_slot_are_waited_for_and_then_counted(cluster: RemoteDriver) -> None:
    result = cluster(scenarios.too_few_slots, workers=ALL_SLOTS + 1)

    assert result["kind"] == "SlotsError"
    assert "6 of 7 workers came" in result["text"]
    assert "Spark has 6 slots" in result["text"]


def test_two_runs_in_one_session_do_not_meet(place: Place) -> None:
    result = place(scenarios.two_at_once, times=50)

    assert result["counts"] == words_of(50)
    assert result["other"] == "running"


@pytest.mark.core
def test_nothing_is_left_in_the_processes_that_hosted_workers(place: Place) -> None:
    place(scenarios.word_count, workers=3, times=5)
    place(scenarios.start_error)

    assert place(scenarios.leftovers, tasks=6) == set()
