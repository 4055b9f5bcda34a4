"""One local session for all tests, and one cluster in a box with a driver of its own."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from penstock.devcluster import DevCluster, DevClusterSettings
from penstock.spark.session import borrowed_session
from tests.spark import scenarios
from tests.spark.remote_driver import QUIET, RemoteDriver
from tests.spark.yarn_cluster import BUILT, YarnCluster

NODES = 3
SLOTS_PER_NODE = 2
ALL_SLOTS = NODES * SLOTS_PER_NODE

Place = Callable[..., Any]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if "tests/spark/" not in item.path.as_posix():
            continue
        on_cluster = bool({"cluster", "yarn"} & {*getattr(item, "fixturenames", ())}) or "[cluster" in item.name
        own_drivers = item.path.stem in ("test_connect", "test_drivers")
        if (on_cluster or own_drivers) and not item.get_closest_marker("box"):  # those are left to `make box`
            item.add_marker(pytest.mark.cluster)


@pytest.fixture(scope="session")
def spark() -> Iterator[Any]:
    """A local session with room for six workers. What it starts lazily has been started."""
    with borrowed_session(workers=4) as session:
        session.range(0, 6, 1, 6).mapInArrow(lambda batches: batches, "id long").collect()
        yield session


@pytest.fixture(scope="session")
def box() -> Iterator[DevCluster]:
    """Three nodes: network namespaces where they can be had, else addresses of the loopback interface.

    Kept where all clusters of a user are: if the tests are killed, the next start sweeps.
    """
    with DevCluster(DevClusterSettings(nodes=NODES, slots_per_node=SLOTS_PER_NODE)) as cluster:
        yield cluster


@pytest.fixture(scope="session")
def cuttable(box: DevCluster) -> DevCluster:
    """The same, for who has to cut nodes off."""
    if not box.can_cut_off:
        pytest.skip("; ".join(box.lacking))
    return box


@pytest.fixture(scope="session")
def cluster(box: DevCluster) -> Iterator[RemoteDriver]:
    """A driver of the cluster in a box, on this machine and outside of the nodes."""
    with RemoteDriver(box.master_url, box.spark_settings() | QUIET) as driver:
        driver(scenarios.await_slots, count=ALL_SLOTS)
        yield driver


@pytest.fixture(scope="session")
def yarn(tmp_path_factory: pytest.TempPathFactory) -> Iterator[YarnCluster]:
    """A YARN with two NodeManagers, each with room for one executor and a driver."""
    if not (BUILT / "classes").exists():
        pytest.skip("YARN is not in build/yarn: `make cluster` puts it there, with Maven and a JDK")
    with YarnCluster(tmp_path_factory.mktemp("yarn")) as cluster:
        cluster.await_start()
        yield cluster


# For the whole session, so that it is there before the check for leaks looks around.
@pytest.fixture(scope="session", params=["local", "cluster"])
def place(request: pytest.FixtureRequest) -> Place:
    """Where a scenario takes place: `place(scenario, **arguments)`."""
    if request.param == "cluster":
        driver: RemoteDriver = request.getfixturevalue("cluster")
        return driver
    session = request.getfixturevalue("spark")
    return lambda scenario, **arguments: scenario(session, **arguments)
