"""How patient these tests are."""

from __future__ import annotations

import pytest

# Some JVMs have to start, on as few as two cores.
PATIENCE_S = 600


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if "tests/devcluster/" in item.path.as_posix() and item.get_closest_marker("box"):
            item.add_marker(pytest.mark.timeout(PATIENCE_S))
