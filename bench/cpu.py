"""CPU time of processes, to the nanosecond.

The kernel has a clock for every process, which others may read by its id: no clock ticks of 10 ms as in /proc, and
nothing for the process itself to do.
"""

import time
from collections.abc import Callable, Iterable
from pathlib import Path

# Of a clock's id, the upper bits are the process's, inverted; the lower say which of its clocks: 2 is the scheduler's.
_PROCESS_BITS = 3
_SCHEDULER_CLOCK = 2


def cpu_ns(pid: int) -> int | None:
    """User and system time of all threads of a process so far; None if it is gone."""
    try:
        return time.clock_gettime_ns(~pid << _PROCESS_BITS | _SCHEDULER_CLOCK)
    except OSError:
        return None


def session_members(leader: int) -> list[int]:
    """The processes of the session whose first process is, or was, `leader`."""
    return [
        int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdecimal() and _is_member(entry, leader)
    ]


class CpuMeter:
    """What a changing set of processes takes from `start` to the last `look`.

    Who came after the start is counted from its beginning; who ended in between, up to the last look at it.
    """

    def __init__(self, pids: Callable[[], Iterable[int]]) -> None:
        """Measure whoever `pids` says are there."""
        self._pids = pids
        self._before: dict[int, int] = {}
        self._latest: dict[int, int] = {}

    def start(self) -> None:
        """Begin at 0 now."""
        self._before = self._now()
        self._latest = dict(self._before)

    def look(self) -> None:
        """Take into account what was used up to now."""
        self._latest.update(self._now())

    @property
    def taken_s(self) -> float:
        """The CPU time from `start` to the last `look`."""
        return sum(used - self._before.get(pid, 0) for pid, used in self._latest.items()) / 1e9

    def _now(self) -> dict[int, int]:
        return {pid: used for pid in self._pids() if (used := cpu_ns(pid)) is not None}


def _is_member(entry: Path, leader: int) -> bool:
    try:
        stat = (entry / "stat").read_text()
    except (FileNotFoundError, ProcessLookupError):  # it ended while we were looking
        return False
    # The command stands in parentheses and may hold anything; after it come state, parent, group and session.
    state, _, _, session, *_ = stat.rpartition(")")[2].split()
    return int(session) == leader and state != "Z"
