"""Every test of the command line has a folder of runs of its own, and leaves no module of a user behind."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from penstock.cli.main import main


@pytest.fixture(autouse=True)
def own_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """So that runs which somebody has on this machine are neither seen nor stopped."""
    runtime = tmp_path / "runtime"
    runtime.mkdir()
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(runtime))


@pytest.fixture(autouse=True)
def modules_are_forgotten(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(sys, "path", sys.path.copy())
    yield
    for name, module in list(sys.modules.items()):
        if str(getattr(module, "__file__", None)).startswith(f"{tmp_path}/"):
            del sys.modules[name]


Penstock = Callable[..., tuple[int, str, str]]


@pytest.fixture
def penstock(capsys: pytest.CaptureFixture[str]) -> Penstock:
    """Calls the command line with some arguments, and returns the exit code, what was said, and what complained of."""

    def call(*arguments: str) -> tuple[int, str, str]:
        with pytest.raises(SystemExit) as ended:
            main(arguments)
        code = ended.value.code
        assert isinstance(code, int)
        out, err = capsys.readouterr()
        return code, out, err

    return call
