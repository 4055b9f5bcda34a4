"""What the sink notes of each output, in memory, and as a file when there is much of it.

A file for each life of the sink's task, because it moves like the others. Standard library only: it travels to workers.
"""

import os
import time
from array import array
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

_WRITE_EVERY = 4 * 4096


class Output(NamedTuple):
    """One word that came out."""

    arrived_ns: int
    due_ns: int
    """When its line was due. Who is late does not get to move the start."""
    number: int
    counter: int
    """Which task has counted it."""


class Journal:
    """Open from when the sink's task opens until it closes."""

    def __init__(self, folder: str) -> None:
        self.path = Path(folder, f"journal-{os.getpid()}-{time.monotonic_ns()}")
        self.pending = array("q")
        self.file = self.path.open("wb", buffering=0)

    def note(self, number: int, due_ns: int, counter: int) -> None:
        """An output has arrived, now."""
        self.pending.extend((time.monotonic_ns(), due_ns, number, counter))
        if len(self.pending) >= _WRITE_EVERY:
            self._write()

    def close(self) -> None:
        """Writes the rest."""
        self._write()
        self.file.close()

    def _write(self) -> None:
        self.pending.tofile(self.file)
        del self.pending[:]


def read_journals(folder: str) -> list[Output]:
    """All outputs of all lives, by arrival."""
    return sorted(output for path in Path(folder).glob("journal-*") for output in _read(path))


def _read(path: Path) -> Iterator[Output]:
    values = array("q")
    values.frombytes(path.read_bytes())
    fields = len(Output._fields)
    return (Output(*values[start : start + fields]) for start in range(0, len(values), fields))
