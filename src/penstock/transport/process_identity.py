"""Which process is meant, and whether it still lives: asked of the kernel, never of a clock.

A pid alone does not name a process, because pids are reused. A pid together with its start time does, within one
pid namespace.
"""

from __future__ import annotations

import contextlib
import os
import select
from pathlib import Path

import msgspec

__all__ = ["ProcessIdentity"]


class ProcessIdentity(msgspec.Struct, frozen=True, kw_only=True):
    """A process: its pid, when it started (in clock ticks since boot), and the namespace that its pid counts in."""

    pid: int
    start_time: int
    pid_namespace: int

    @classmethod
    def current(cls) -> ProcessIdentity:
        """This very process."""
        return cls.of(os.getpid())

    @classmethod
    def of(cls, pid: int) -> ProcessIdentity:
        """The process that has this pid now, as seen from our pid namespace; start time 0 if there is none."""
        return cls(pid=pid, start_time=_start_time(pid), pid_namespace=_own_pid_namespace())

    def is_provably_dead(self) -> bool:
        """Whether the kernel says that it is no more. False also when it cannot say (another pid namespace)."""
        if self.pid_namespace != _own_pid_namespace() or self.pid <= 0:
            return False
        return _start_time(self.pid) != self.start_time or _has_exited(self.pid)


def _own_pid_namespace() -> int:
    return Path("/proc/self/ns/pid").stat().st_ino


def _stat_fields(pid: int) -> list[str]:
    """The fields of /proc/PID/stat from the third on (the second may hold spaces and brackets); empty if gone."""
    with contextlib.suppress(FileNotFoundError, ProcessLookupError):
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return []


def _start_time(pid: int) -> int:
    fields = _stat_fields(pid)
    return int(fields[19]) if fields else 0


def _has_exited(pid: int) -> bool:
    """Whether all its threads are gone, even if nobody has collected its exit code yet.

    A pidfd tells. The state in /proc does not: it says "zombie" as soon as the first thread is gone.
    """
    try:
        descriptor = os.pidfd_open(pid)
    except ProcessLookupError:
        return True
    except OSError:  # the kernel does not let us look: not proven
        return False
    try:
        return bool(select.select([descriptor], [], [], 0)[0])
    finally:
        os.close(descriptor)
