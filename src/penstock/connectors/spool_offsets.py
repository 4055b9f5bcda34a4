"""Where a reader of a spool is: pure, and the same for the sink that writes and the source that reads.

**Writers.** Each time that a task of the sink opens it is a new *writer*: it has a generation, greater than that of all
writers that had the task before, and numbers its files 0, 1, 2 … in the order in which they appear.

**Offsets.** An offset says for each writer how many of its files are behind the reader. It names the newest generation
of each task and whatever was read last beside it, so it does not grow with the number of restarts.

**The invariant** that makes this enough: once a file of a generation is visible, nothing of an older generation of the
same task will appear that anybody needs. Exactly once, because a task shows what its predecessors owe before it
writes anything itself. At least once, because what a predecessor shows after it was given up is emitted again.

>>> blue = Writer(task=0, generation=1, attempt=0, process="aa")
>>> files = [(blue, 0), (blue, 1)]
>>> end = advanced({}, files, files)
>>> end
{'00000-00000001-0-aa': 2}
>>> green = Writer(task=0, generation=2, attempt=0, process="bb")
>>> advanced(end, [*files, (green, 0)], [*files, (green, 0)])
{'00000-00000002-0-bb': 1}
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Self

import msgspec

__all__ = ["Numbered", "Offset", "Writer", "advanced", "files_between", "is_behind", "shortened"]

Offset = dict[str, int]
"""How many files are behind the reader, by the name of the writer. Plain values: Spark keeps it in its checkpoint."""

_WRITER = re.compile(r"(\d{5,})-(\d{8,})-([0-9a-f]+)-([0-9a-f]+)")


class Writer(msgspec.Struct, frozen=True, kw_only=True, order=True):
    """A task of a sink, from one opening to the next."""

    task: int
    generation: int
    attempt: int
    """`TaskContext.attempt`, by which those that were given up are told from their successors."""
    process: str
    """Tells two apart that were opened in the same instant."""

    def __str__(self) -> str:
        return f"{self.task:05d}-{self.generation:08d}-{self.attempt:x}-{self.process}"

    @classmethod
    def parse(cls, name: str) -> Self | None:
        """The writer of this name; None if it is no such name."""
        found = _WRITER.fullmatch(name)
        if found is None:
            return None
        task, generation, attempt, process = found.groups()
        return cls(task=int(task), generation=int(generation), attempt=int(attempt, 16), process=process)


Numbered = tuple[Writer, int]
"""A file: who wrote it, and which of the writer's files it is, from 0."""


def advanced(start: Offset, before: Iterable[Numbered], now: Iterable[Numbered]) -> Offset:
    """The newest offset, for two listings of the files that are visible, one after the other.

    Why two: a listing takes time, and a file that appears meanwhile may be in it or not. So it can show a file without
    the one that appeared right before it. What the first listing shows was there when the second began, and everything
    older with it.

    Raises:
        ValueError: a file is missing that will not come any more.
    """
    behind = _writers(start)
    started, seen = _newest(behind), _newest(writer for writer, _ in before)
    numbers: dict[Writer, set[int]] = {}
    for writer, number in now:
        if started.get(writer.task, 0) <= writer.generation <= seen.get(writer.task, 0):
            numbers.setdefault(writer, set()).add(number)
    ends = dict(behind)
    for writer, there in numbers.items():
        while ends.get(writer, 0) in there:
            ends[writer] = ends.get(writer, 0) + 1
    newest = _newest(ends)
    for writer, there in numbers.items():
        # With a newer generation in sight it is not that the missing one appears only now.
        if writer.generation < newest[writer.task] and max(there) > ends.get(writer, 0):
            message = f"writer {writer}: wanted its file {ends.get(writer, 0)}, got none, but file {max(there)}"
            raise ValueError(message)
    return _offset(behind, ends)


def shortened(
    start: Offset, end: Offset, sizes: Mapping[Numbered, int], *, most_files: int | None, most_bytes: int | None
) -> Offset:
    """An offset between two, with at most so many files or bytes before it, but one file at least.

    Tasks take turns, so that none waits until the others are read. Those of one task come in their order, an older
    generation first: what is of a generation before the newest one is behind an offset.
    """
    turns: dict[int, int] = {}
    ordered = []
    for writer, number in sorted(files_between(start, end)):
        turn = turns[writer.task] = turns.get(writer.task, 0) + 1
        ordered.append((turn, writer.task, (writer, number)))
    behind = _writers(start)
    ends, files, total = dict(behind), 0, 0
    for _, _, (writer, number) in sorted(ordered):
        files, total = files + 1, total + sizes.get((writer, number), 0)
        too_many = most_files is not None and files > most_files
        if files > 1 and (too_many or (most_bytes is not None and total > most_bytes)):
            break
        ends[writer] = number + 1
    return _offset(behind, ends)


def _offset(behind: dict[Writer, int], ends: dict[Writer, int]) -> Offset:
    newest = _newest(ends)
    return {
        str(writer): end
        for writer, end in sorted(ends.items())
        if writer.generation == newest[writer.task] or end > behind.get(writer, 0)
    }


def files_between(start: Offset, end: Offset) -> Iterator[Numbered]:
    """The files that are behind `end` and not behind `start`, each writer's in order."""
    behind = _writers(start)
    for writer, past in _writers(end).items():
        for number in range(behind.get(writer, 0), past):
            yield writer, number


def is_behind(offset: Offset, file: Numbered) -> bool:
    """Whether a reader at this offset will not ask for the file any more."""
    writer, number = file
    writers = _writers(offset)
    newest = _newest(writers).get(writer.task, 0)
    return writer.generation < newest or number < writers.get(writer, 0)


def _writers(offset: Offset) -> dict[Writer, int]:
    found = {}
    for name, count in offset.items():
        writer = Writer.parse(name)
        if writer is None or not isinstance(count, int):
            message = f"offset of a spool: wanted writers and numbers of files, got {name!r}: {count!r}"
            raise ValueError(message)
        found[writer] = count
    return found


def _newest(writers: Iterable[Writer] | Mapping[Writer, int]) -> dict[int, int]:
    newest: dict[int, int] = {}
    for writer in writers:
        newest[writer.task] = max(newest.get(writer.task, 0), writer.generation)
    return newest
