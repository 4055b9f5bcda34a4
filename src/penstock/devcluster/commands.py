"""Running the commands `ip` and `tc`."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence

from penstock.errors import DevClusterError

__all__ = ["output_of", "run_command", "trouble_with"]

_PATIENCE_S = 30.0


def run_command(command: Sequence[str]) -> None:
    """Runs a command. DevClusterError has what it said if it fails."""
    if (trouble := trouble_with(command)) is not None:
        message = f"`{' '.join(command)}` failed: {trouble}"
        raise DevClusterError(message)


def trouble_with(command: Sequence[str]) -> str | None:
    """Runs a command. Returns None if it worked, else what it said."""
    try:
        done = _run(command)
    except FileNotFoundError:
        return f"there is no command {command[0]!r}"
    except subprocess.TimeoutExpired:
        return f"it did not end within {_PATIENCE_S:g} s"
    if done.returncode == 0:
        return None
    return " ".join(done.stderr.split()) or f"exit code {done.returncode}"


def output_of(command: Sequence[str]) -> str:
    """What a command says that cannot fail."""
    return _run(command).stdout


def _run(command: Sequence[str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False, timeout=_PATIENCE_S
    )
