"""What the command line says of itself."""

from __future__ import annotations

import pytest

from penstock.version import __version__
from tests.cli.conftest import Penstock

# A word that each command's help must have for each thing that can be given.
EXPLAINED = {
    "run": {
        "target": "FILE:name",
        "--workers": "worker processes",
        "--min-workers": "how few",
        "--master": "spark://",
        "--scheduler": "scheduler places",
        "--set": "NAME=VALUE",
    },
    "list": {},
    "status": {"name": "a topology"},
    "top": {"name": "a topology"},
    "metrics": {"name": "a topology"},
    "stop": {"name": "a topology"},
    "drain": {"name": "a topology"},
    "doctor": {"--master": "spark://", "--workers": "worker processes"},
}


def words(text: str) -> str:
    """Without the frames around, and the ends of lines between."""
    return " ".join("".join(" " if "─" <= character <= "╿" else character for character in text).split())


def test_without_a_command_all_are_listed(penstock: Penstock) -> None:
    code, out, _ = penstock()

    assert code == 0
    for command in EXPLAINED:
        assert f" {command} " in words(out)


@pytest.mark.parametrize("command", EXPLAINED)
def test_every_command_explains_itself_and_all_that_it_takes(penstock: Penstock, command: str) -> None:
    code, out, _ = penstock(command, "--help")
    told = words(out)

    assert code == 0
    assert told.startswith(f"Usage: penstock {command}")
    for name, explanation in EXPLAINED[command].items():
        assert name.lower() in told.lower()
        assert explanation in told


def test_the_version(penstock: Penstock) -> None:
    assert penstock("--version")[:2] == (0, f"{__version__}\n")


def test_a_command_that_is_not_there(penstock: Penstock) -> None:
    code, out, err = penstock("stat")

    assert (code, out) == (2, "")
    assert "stat" in err
