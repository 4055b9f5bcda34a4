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
    tuples: int
    """How many it was given; 0 for the spout."""


class ProcessNote:
    """Kept by a task. Several of one process are one process."""

    def __init__(self, folder: str, task: str) -> None:
        self._file = Path(folder, task + _SUFFIX)
        self._opened_cpu_ns = cpu_ns(os.getpid()) or 0

    def leave(self, tuples: int = 0) -> None:
        """The task has finished, and was given so many tuples."""
        note = Note(
            pid=os.getpid(),
            opened_cpu_ns=self._opened_cpu_ns,
            finished_cpu_ns=cpu_ns(os.getpid()) or 0,
            resident_mb=resident_mb(os.getpid()),
            tuples=tuples,
        )
        self._file.write_bytes(msgspec.json.encode(note))


class Taken(msgspec.Struct, frozen=True, kw_only=True):
    """What the workers of a run have taken."""

    cpu_s: float
    resident_mb_per_worker: float
    local_share: float
    """Of all tuples, how many stayed in the process of the spout."""


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
    tuples = {pid: sum(note.tuples for note in notes) for pid, notes in by_process.items()}
    of_spouts = [pid for pid, notes in by_process.items() if any(not note.tuples for note in notes)]
    return Taken(
        cpu_s=sum(spans) / 1e9,
        resident_mb_per_worker=sum(resident) / len(resident),
        local_share=sum(tuples[pid] for pid in of_spouts) / max(1, sum(tuples.values())),
    )


def resident_mb(pid: int) -> float:
    """How much memory a process has that is in RAM, shared pages counted by its share of them; 0 if it is gone."""
    try:
        rollup = Path(f"/proc/{pid}/smaps_rollup").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return 0.0
    (line,) = (line for line in rollup.splitlines() if line.startswith("Pss:"))
    return int(line.split()[1]) / 1024
