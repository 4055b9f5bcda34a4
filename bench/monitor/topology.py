"""What runs: a flood through two layers of bolts, whose last tasks note how far they are."""

import struct
import time
from pathlib import Path

import penstock as ps

WORKERS = 2
_EMITTED_AT_ONCE = 64
_NOTE_EVERY = 500
_BODY = "x" * 88
_NOTE = "<qq"


class Flood(ps.Spout):
    """Tuples without end, as fast as they are taken."""

    fields = ("number", "body")

    def __init__(self) -> None:
        self.emitted = 0

    def next(self) -> list[tuple[int, str]]:
        first = self.emitted
        self.emitted += _EMITTED_AT_ONCE
        return [(number, _BODY) for number in range(first, self.emitted)]


class Forward(ps.Bolt):
    """Makes a new tuple of each."""

    fields = ("number", "body")

    def process(self, tup: ps.Tuple) -> tuple[int, str]:
        return tup.number, tup.body


class Notes(ps.Bolt):
    """Notes, now and then, how many have come by when. All processes of a machine have the same steady clock."""

    fields = ()

    def __init__(self, folder: str) -> None:
        self.folder = folder

    def open(self, context: ps.TaskContext) -> None:
        self.taken = 0
        self.file = Path(self.folder, str(context.index)).open("ab", buffering=0)  # noqa: SIM115 -- until close

    def process(self, tup: ps.Tuple) -> None:  # noqa: ARG002
        self.taken += 1
        if self.taken % _NOTE_EVERY == 0:
            self.file.write(struct.pack(_NOTE, time.monotonic_ns(), self.taken))

    def close(self) -> None:
        self.file.close()


def flooded(folder: str) -> ps.Topology:
    """As many pairs of tasks as a small cluster would have: 2 × 6 and 6 × 6."""
    topology = ps.Topology("monitor")
    source = topology.spout("source", Flood(), tasks=2)
    forward = topology.bolt("forward", Forward(), source.shuffle(), tasks=6)
    topology.bolt("notes", Notes(folder), forward.shuffle(), tasks=6)
    return topology


def noted(folder: str) -> list[list[tuple[int, int]]]:
    """Of each task what it noted: when, and how many had come."""
    notes, size = [], struct.calcsize(_NOTE)
    for path in sorted(Path(folder).iterdir()):
        data = path.read_bytes()
        notes.append(list(struct.iter_unpack(_NOTE, data[: len(data) // size * size])))
    return notes
