"""Which processes belong to a node: those that carry its mark in their environment.

A node's own JVM starts executors, they start Python, and that forks workers; any of them may be dead when we look, so
neither parents nor process groups lead to all of them. The environment does: it is inherited by all.
"""

from __future__ import annotations

import contextlib
import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path

from penstock.errors import DevClusterError

__all__ = ["MARK_VARIABLE", "kill_marked", "kill_running", "mark_of", "marked_processes"]

MARK_VARIABLE = "PENSTOCK_DEV_NODE"

_PATIENCE_S = 30.0
_LOOK_EVERY_S = 0.02


def mark_of(cluster: str, place: int | str) -> str:
    """The mark of what belongs to a place of a cluster: a node's number, or a name."""
    return f"{cluster}/{place}"


def marked_processes(cluster: str, place: int | str | None = None) -> list[int]:
    """The pids of processes of a place, or of a whole cluster."""
    return [pid for pid in _pids() if _is_marked(pid, cluster, place)]


def kill_marked(cluster: str, place: int | str | None = None) -> None:
    """Kills all processes of a place, or of a whole cluster, and returns when there are none."""
    deadline_s = time.monotonic() + _PATIENCE_S
    # One round is not enough: what is being killed may have started others while we looked.
    while found := marked_processes(cluster, place):
        for pid in found:
            _kill(pid, cluster, place)
        if time.monotonic() > deadline_s:
            message = f"processes were killed, and are still there after {_PATIENCE_S:g} s: {found}"
            raise DevClusterError(message)
        time.sleep(_LOOK_EVERY_S)


def kill_running(cluster: str, place: int | str, word: str) -> None:
    """Kills the processes of a place that have `word` in their command line. Once: others may take their places."""
    for pid in marked_processes(cluster, place):
        if word in _words_of(pid):
            _kill(pid, cluster, place)


def _words_of(pid: int) -> list[str]:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().decode(errors="replace").split("\0")
    except OSError:  # gone
        return []


def _kill(pid: int, cluster: str, place: int | str | None) -> None:
    try:
        descriptor = os.pidfd_open(pid)
    except ProcessLookupError:
        return
    try:
        # The pid may be another's since we looked. That of the descriptor cannot become another's, so look again.
        if _is_marked(pid, cluster, place):
            with contextlib.suppress(ProcessLookupError):
                signal.pidfd_send_signal(descriptor, signal.SIGKILL)
    finally:
        os.close(descriptor)


def _pids() -> Iterator[int]:
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal():
            yield int(entry.name)


def _is_marked(pid: int, cluster: str, place: int | str | None) -> bool:
    try:
        environment = Path(f"/proc/{pid}/environ").read_bytes()
    except OSError:  # gone, or another user's
        return False
    wanted = f"{MARK_VARIABLE}={mark_of(cluster, '' if place is None else place)}".encode()
    return any(entry == wanted or (place is None and entry.startswith(wanted)) for entry in environment.split(b"\0"))
