"""Processes that a test sends SIGINT to.

Who runs the tests in the background of a shell ignores SIGINT, and so would everything that they start.
"""

from __future__ import annotations

from collections.abc import Sequence


def interruptible(command: Sequence[str]) -> list[str]:
    """The command, in the same process, with SIGINT as the system has it."""
    return ["env", "--default-signal=INT", *command]
