"""Numbered lines at a rate, split, counted by word, and noted."""

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

import penstock as ps
from bench.moves.journal import Journal
from bench.moves.lines import SPOUTS, Lines

SPLITTERS = 2
COUNTERS = 4
_AT_ONCE = 16
_NO_NUMBER = -1


class NumberedLines(ps.Spout):
    """Every word once, and then lines at a rate.

    When a line is due is settled with the first one, and is part of its position: so what a spout that moves is late
    by counts.
    """

    fields = ("line", "first_number", "due_ns")

    def __init__(self, lines: Lines, per_s: float) -> None:
        self.lines = lines
        self.per_s = per_s

    def open(self, context: ps.TaskContext) -> None:
        self.index = context.index
        self.emitted = 0
        self.origin_ns = 0

    def next(self) -> list[tuple[str, int, int]] | None:
        if self.emitted < self.lines.first_lines:
            upto = min(self.lines.first_lines, self.emitted + _AT_ONCE)
            first = [(self.lines.first(self.index, line), _NO_NUMBER, 0) for line in range(self.emitted, upto)]
            self.emitted = upto
            return first
        line = self.emitted - self.lines.first_lines
        if line == self.lines.lines_per_spout:
            raise StopIteration
        now_ns = time.monotonic_ns()
        self.origin_ns = self.origin_ns or now_ns
        due_ns = self.origin_ns + int(line * 1e9 / self.per_s)
        if now_ns < due_ns:
            return None
        self.emitted += 1
        numbers = self.lines.numbers(self.index, line)
        return [(" ".join(str(self.lines.word(number)) for number in numbers), numbers[0], due_ns)]

    def position(self) -> list[int]:
        return [self.emitted, self.origin_ns]

    def seek(self, position: list[int]) -> None:
        self.emitted, self.origin_ns = position


class Split(ps.Bolt):
    """Words of lines, numbered if the line is."""

    fields = ("word", "number", "due_ns")

    def process(self, tup: ps.Tuple) -> Iterator[tuple[str, int, int]]:
        numbered = tup.first_number != _NO_NUMBER
        for position, word in enumerate(tup.line.split()):
            yield word, tup.first_number + position if numbered else _NO_NUMBER, tup.due_ns


class Count(ps.KeyedBolt):
    """Counts words, and leaves the counts in a folder at the end."""

    fields = ("number", "due_ns", "counter")

    def __init__(self, folder: str) -> None:
        self.folder = folder

    def open(self, context: ps.TaskContext) -> None:
        self.index = context.index

    def process(self, key: Any, tup: ps.Tuple) -> tuple[int, int, int] | None:
        self.state[key] = self.state.get(key, 0) + 1
        return None if tup.number == _NO_NUMBER else (tup.number, tup.due_ns, self.index)

    def finish(self) -> None:
        Path(self.folder, f"counts-{self.index}").write_bytes(msgspec.msgpack.encode(dict(self.state)))


class Note(ps.Bolt):
    """Notes what comes out."""

    fields = ()

    def __init__(self, folder: str) -> None:
        self.folder = folder

    def open(self, context: ps.TaskContext) -> None:  # noqa: ARG002
        self.journal = Journal(self.folder)

    def process(self, tup: ps.Tuple) -> None:
        self.journal.note(tup.number, tup.due_ns, tup.counter)

    def close(self) -> None:
        self.journal.close()


def moving_word_count(lines: Lines, lines_per_s: float, folder: str) -> ps.Topology:
    """So many lines a second in all; one sink, so that no output hides the pause of another."""
    topology = ps.Topology("moving-word-count")
    spout = topology.spout("lines", NumberedLines(lines, lines_per_s / SPOUTS), tasks=SPOUTS)
    words = topology.bolt("split", Split(), spout.shuffle(), tasks=SPLITTERS)
    counts = topology.bolt("count", Count(folder), words.by("word"), tasks=COUNTERS)
    topology.bolt("note", Note(folder), counts.to_one())
    return topology
