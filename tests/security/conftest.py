"""What the security tests share."""

import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest


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
