"""What the processes of a run leave behind in a folder: how much CPU time and memory each has taken."""

import os
from collections import defaultdict
from pathlib import Path

import msgspec

from bench.cpu import cpu_ns

_SUFFIX = ".process"


class Note(msgspec.Struct, frozen=True, kw_only=True):
    """A task's process, from when the task was opened until it had finished."""

    pid: int
    opened_cpu_ns: int
    finished_cpu_ns: int
    resident_mb: float


class ProcessNote:
    """Kept by a task. Several of one process are one process."""

    def __init__(self, folder: str, task: str) -> None:
        self._file = Path(folder, task + _SUFFIX)
        self._opened_cpu_ns = cpu_ns(os.getpid()) or 0

    def leave(self) -> None:
        """The task has finished."""
        note = Note(
            pid=os.getpid(),
            opened_cpu_ns=self._opened_cpu_ns,
            finished_cpu_ns=cpu_ns(os.getpid()) or 0,
            resident_mb=resident_mb(os.getpid()),
        )
        self._file.write_bytes(msgspec.json.encode(note))


class Taken(msgspec.Struct, frozen=True, kw_only=True):
    """What the workers of a run have taken."""

    cpu_s: float
    resident_mb_per_worker: float


def taken(folder: str) -> Taken:
    """By all processes that have left a note."""
    by_process: dict[int, list[Note]] = defaultdict(list)
    for file in Path(folder).glob("*" + _SUFFIX):
        note = msgspec.json.decode(file.read_bytes(), type=Note)
        by_process[note.pid].append(note)
    spans = [
        max(note.finished_cpu_ns for note in notes) - min(note.opened_cpu_ns for note in notes)
        for notes in by_process.values()
    ]
    resident = [max(note.resident_mb for note in notes) for notes in by_process.values()]
    return Taken(cpu_s=sum(spans) / 1e9, resident_mb_per_worker=sum(resident) / len(resident))


def resident_mb(pid: int) -> float:
    """How much memory a process has that is in RAM, shared pages counted by its share of them."""
    rollup = Path(f"/proc/{pid}/smaps_rollup").read_text()
    (line,) = (line for line in rollup.splitlines() if line.startswith("Pss:"))
    return int(line.split()[1]) / 1024
