"""One local session for all tests, and one cluster with a driver of its own."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from penstock.spark.session import borrowed_session
from tests.spark import scenarios
from tests.spark.remote_driver import RemoteDriver
from tests.spark.standalone import CORES_PER_NODE, FAST_START, NODES, standalone_cluster

# A session takes seconds to start, and half a minute on a machine that is busy.
PATIENCE_S = 600

Place = Callable[..., Any]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if "tests/spark/" not in item.path.as_posix():
            continue
        item.add_marker(pytest.mark.timeout(PATIENCE_S))
        on_cluster = "cluster" in getattr(item, "fixturenames", ()) or "[cluster" in item.name
        if on_cluster or item.path.stem in ("test_connect", "test_drivers"):
            item.add_marker(pytest.mark.cluster)


@pytest.fixture(scope="session")
def spark() -> Iterator[Any]:
    """A local session with room for six workers. What it starts lazily has been started."""
    with borrowed_session(workers=4) as session:
        session.range(0, 6, 1, 6).mapInArrow(lambda batches: batches, "id long").collect()
        yield session


@pytest.fixture(scope="session")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RemoteDriver]:
    """The driver of a standalone cluster with two nodes."""
    settings = {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.executor.memory": "512m",
        "spark.driver.extraJavaOptions": FAST_START,
        "spark.executor.extraJavaOptions": FAST_START,
    }
    with (
        standalone_cluster(tmp_path_factory.mktemp("cluster")) as master,
        RemoteDriver(master, settings) as driver,
    ):
        driver(scenarios.await_slots, count=len(NODES) * CORES_PER_NODE)
        yield driver


# For the whole session, so that it is there before the check for leaks looks around.
@pytest.fixture(scope="session", params=["local", "cluster"])
def place(request: pytest.FixtureRequest) -> Place:
    """Where a scenario takes place: `place(scenario, **arguments)`."""
    if request.param == "cluster":
        driver: RemoteDriver = request.getfixturevalue("cluster")
        return driver
    session = request.getfixturevalue("spark")
    return lambda scenario, **arguments: scenario(session, **arguments)
