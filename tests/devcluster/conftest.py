"""One cluster in a box for all tests that need Spark on it, and its driver."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from penstock.devcluster import ClusterRegistry, DevCluster, DevClusterSettings
from penstock.devcluster.abilities import probe
from tests.spark import scenarios
from tests.spark.remote_driver import RemoteDriver

# Some JVMs have to start, on as few as two cores.
PATIENCE_S = 600
NODES = 3
SLOTS_PER_NODE = 2
QUIET = {"spark.ui.enabled": "false", "spark.ui.showConsoleProgress": "false"}


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if "tests/devcluster/" in item.path.as_posix() and item.get_closest_marker("box"):
            item.add_marker(pytest.mark.timeout(PATIENCE_S))


@pytest.fixture(scope="session")
def box_registry(tmp_path_factory: pytest.TempPathFactory) -> ClusterRegistry:
    """Where the command line looks if XDG_CACHE_HOME is the folder two above."""
    return ClusterRegistry(tmp_path_factory.mktemp("cache") / "penstock" / "dev-clusters")


@pytest.fixture(scope="session")
def box(box_registry: ClusterRegistry) -> Iterator[DevCluster]:
    """Three nodes that can be cut off."""
    if (trouble := probe().no_namespaces) is not None:
        pytest.skip(f"no network namespaces here: {trouble}")
    settings = DevClusterSettings(nodes=NODES, slots_per_node=SLOTS_PER_NODE, network="namespaces")
    with DevCluster(settings, registry=box_registry) as cluster:
        yield cluster


# For the whole session, so that it is there before the check for leaks looks around.
@pytest.fixture(scope="session")
def driver(box: DevCluster) -> Iterator[RemoteDriver]:
    """A driver on this machine, outside of the nodes."""
    with RemoteDriver(box.master_url, box.spark_settings() | QUIET) as remote:
        remote(scenarios.await_slots, count=NODES * SLOTS_PER_NODE)
        yield remote
