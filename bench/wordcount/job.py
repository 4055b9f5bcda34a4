"""What a runner is given, and what it leaves behind.

A runner is a script that one system's interpreter executes: it counts the words of a stream of sentences once, and
leaves notes in the job's folder. All times are of CLOCK_MONOTONIC, which all processes of a machine share.

    started         when sentence 0 was emitted, or due
    NAME.counts     the words that one counter counted, and when it was done
    NAME.times      at a rate: when the latest word of each sentence was counted, 0 if this counter had none

Standard library only: it is imported in the peers' environments too.
"""

import json
import sys
from array import array
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

START_FILE = "started"
COUNTS_SUFFIX = ".counts"
TIMES_SUFFIX = ".times"


@dataclass(frozen=True, kw_only=True)
class Job:
    """One count of `sentences` sentences, the corpus over and over."""

    corpus: str
    sentences: int
    rate_per_s: int
    """At which sentences are due; 0 for as fast as they go."""
    folder: str
    options: dict[str, Any] = field(default_factory=dict)
    """What one system's runner wants to know besides."""

    @classmethod
    def from_command_line(cls) -> "Job":
        """The job whose file is the runner's first argument."""
        return cls.from_file(Path(sys.argv[1]))

    @classmethod
    def from_file(cls, path: Path) -> "Job":
        """The job that was saved there."""
        return cls(**json.loads(path.read_text()))

    def save(self, path: Path) -> None:
        """Write the file that a runner is given."""
        path.write_text(json.dumps(asdict(self)))

    def due_ns(self, started_ns: int, sentence: int) -> int:
        """When a sentence is due."""
        return started_ns + sentence * 1_000_000_000 // self.rate_per_s

    def due_count(self, started_ns: int, now_ns: int) -> int:
        """How many sentences are due by now: the inverse of `due_ns`."""
        if now_ns < started_ns:
            return 0
        return min(self.sentences, (now_ns - started_ns) * self.rate_per_s // 1_000_000_000 + 1)

    def note_start(self, started_ns: int) -> None:
        """Leave behind when sentence 0 was emitted, or due."""
        Path(self.folder, START_FILE).write_text(str(started_ns))


class CounterNotes:
    """What one counter leaves behind. `times` is public, because writing to it must cost little."""

    def __init__(self, job: Job, name: str) -> None:
        """Start with nothing counted."""
        self.times = array("q", bytes(8 * job.sentences if job.rate_per_s else 0))
        """By sentence, when the latest of its words was counted."""
        self._base = Path(job.folder, name)

    def save(self, counts: Mapping[str, int], finished_ns: int) -> None:
        """Leave everything behind: the counts, and when the last word had been counted."""
        notes = {"finished_ns": finished_ns, "counts": dict(counts)}
        with self._base.with_name(self._base.name + TIMES_SUFFIX).open("wb") as file:
            self.times.tofile(file)
        self._base.with_name(self._base.name + COUNTS_SUFFIX).write_text(json.dumps(notes))
