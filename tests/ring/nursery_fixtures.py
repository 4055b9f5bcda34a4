"""One nursery for all tests that fork children."""

from collections.abc import Iterator

import pytest

from tests.ring.nursery import Nursery


@pytest.fixture(scope="session")
def nursery_process() -> Iterator[Nursery]:
    with Nursery() as nursery:
        yield nursery


@pytest.fixture
def nursery(nursery_process: Nursery) -> Iterator[Nursery]:
    """Forks children, which may become somebody else. Those that a test leaves running are killed and reaped."""
    yield nursery_process
    nursery_process.clear()
