"""What the security tests share."""

import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

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


@pytest.fixture
def common_folder() -> Iterator[Path]:
    """A folder that every user can enter and write to; pytest's own are closed to others."""
    folder = Path(tempfile.mkdtemp(prefix="penstock-"))
    folder.chmod(0o777)
    yield folder
    shutil.rmtree(folder)


@pytest.fixture
def needs_root() -> None:
    if os.geteuid() != 0:
        pytest.skip("only root can become another user")
