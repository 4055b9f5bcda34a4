"""The spool: rows of one stream on their way from a topology to Spark, as files in a folder.

    spool.json                      the schema of the rows, whose they are, and which spool this is; written once
    owner-KIND-ID                   whose they are: see `spool_owner`
    reader-ID.json                  the query that reads: see `spark.only_reader`
    taken-NUMBER.json               the offset that a query has committed: what is behind it is not needed any more; the
                                    one of the greatest number counts, so that none is ever written over
    writer-WRITER                   says that this generation of a task is taken; the newest of each task stays
    rows-WRITER-NUMBER.arrow        rows, an Arrow IPC file: whole, and never changed
    .rows-WRITER-NUMBER.arrow       rows that are prepared, or being written

WRITER is TASK-GENERATION-ATTEMPT-PROCESS. `spool_offsets` says what a reader may conclude from these names. The sink
creates files and shows them, a reader says what is taken and deletes what is behind it: in this order, so that a file
which is not there was either taken or is missing.
"""

from __future__ import annotations

import re
import secrets
from typing import TypeVar

import msgspec

from penstock.connectors.folder import HIDDEN, Folder, without_secrets
from penstock.connectors.spool_offsets import (
    Numbered,
    Offset,
    Writer,
    advanced,
    files_between,
    is_behind,
    shortened,
)
from penstock.errors import RunError

__all__ = ["About", "Listing", "Spool"]

FORMAT = 1

Kind = TypeVar("Kind")

_ABOUT, _WRITER = "spool.json", "writer-"
_TAKEN = re.compile(r"taken-(\d{8,})\.json")
_ROWS = re.compile(r"rows-(.+)-(\d{8,})\.arrow")


class About(msgspec.Struct, frozen=True, kw_only=True):
    """What is in a spool."""

    schema: str
    """Of the rows, as Spark writes it: ``word string, count long``."""
    sink: str
    """The only one that may write: ``topology.component``. Tasks of two would pass for successors of each other."""
    spool: str
    """Tells it from others, by where it was made first, so that it stays the same when somebody has emptied it."""
    format: int = FORMAT


Listing = dict[Numbered, int]
"""Visible files, and how large each is."""


class Spool:
    """A spool, for those who write to it and those who read from it."""

    def __init__(self, url: str) -> None:
        self.folder = Folder(url)
        self.shown = without_secrets(url)
        """The URL, for messages."""

    # What both do.

    def about(self) -> About | None:
        """What is in it; None if there is no spool."""
        content = self.folder.read(_ABOUT)
        if content is None:
            return None
        found = self._decoded(content, About, _ABOUT)
        if found.format != FORMAT:
            message = f"spool {self.shown}: wanted format {FORMAT}, got {found.format}, of another version of Penstock"
            raise RunError(message)
        return found

    def taken(self) -> Offset:
        """The offset that was committed last; the beginning, if none was."""
        while newest := max(self._takings(), default=0):
            name = _taking(newest)
            if (content := self.folder.read(name)) is not None:  # else there is a newer one by now
                return self._decoded(content, Offset, name)
        return {}

    # What the sink does.

    def create(self, *, schema: str, sink: str) -> None:
        """Makes the folder, if there is none, and says what will be in it.

        Raises:
            RunError: it holds rows of another schema, or of another sink.
        """
        self.folder.create()
        about = self.about()
        if about is None:
            # The same for all tasks of the sink, whichever of them comes first.
            self.folder.put_once(_ABOUT, msgspec.json.encode(About(schema=schema, sink=sink, spool=self.shown)))
        elif (about.schema, about.sink) != (schema, sink):
            message = (
                f"spool {self.shown}: wanted one for rows {schema!r} of sink {sink!r}, got one with rows "
                f"{about.schema!r} of sink {about.sink!r}: give another path"
            )
            raise RunError(message)

    def register(self, *, task: int, attempt: int, now_s: int) -> Writer:
        """Makes the caller the newest writer of a task.

        Its generation is the time if that is greater than all before: also than those of which nothing is left because
        somebody has emptied the folder, while a query still goes on from an offset that names them.
        """
        others = [
            writer
            for name in self.folder.sizes()
            if name.startswith(_WRITER) and (writer := Writer.parse(name.removeprefix(_WRITER))) and writer.task == task
        ]
        newest = max((other.generation for other in others), default=0)
        writer = Writer(task=task, generation=max(newest + 1, now_s), attempt=attempt, process=secrets.token_hex(4))
        self.folder.put(f"{_WRITER}{writer}", b"")
        # Only now: there must always be one that tells of the newest generation.
        for other in others:
            self.folder.delete(f"{_WRITER}{other}")
        return writer

    def overfull(self, most_bytes: int) -> int | None:
        """How many bytes of rows are there, if that is too many and a reader could make it less; else None.

        If no file is visible, no reader can: they are files of an epoch that is not committed yet.
        """
        sizes = self.folder.sizes()
        files = {name: file for name in sizes if (file := file_of(name.removeprefix(HIDDEN)))}
        total = sum(sizes[name] for name in files)
        if total <= most_bytes:
            return None
        taken = self.taken()
        visible = any(not (name.startswith(HIDDEN) or is_behind(taken, file)) for name, file in files.items())
        return total if visible else None

    def show(self, name: str, *, owner: str) -> None:
        """Makes a file visible that may be so already, or even taken.

        Raises:
            RunError: it cannot be renamed, or is missing.
        """
        if self.folder.show(name, owner=owner):
            return
        file = file_of(name)
        if file is None or not is_behind(self.taken(), file):
            place = self.folder.place(name)
            message = f"{owner}: wanted {place}, or {HIDDEN}{name} to rename, or that it was taken, got none of these"
            raise RunError(message)

    def forget_hidden(self, *, task: int, tasks: int, attempt: int) -> None:
        """Deletes what a task, or one whose place it takes, has left behind hidden.

        Not that of a later attempt: it may be the caller who was given up, and only does not know yet.
        """
        for name in self.folder.sizes():
            file = file_of(name.removeprefix(HIDDEN)) if name.startswith(HIDDEN) else None
            if file and file[0].task % tasks == task and file[0].attempt <= attempt:
                self.folder.delete(name)

    # What a reader does.

    def visible(self) -> Listing:
        """The files that were shown, also those behind `taken` that are still there."""
        sizes = self.folder.sizes()
        return {file: size for name, size in sizes.items() if (file := file_of(name))}

    def newest_offset(self, start: Offset) -> Offset:
        """Behind everything that can be read from `start` on.

        Raises:
            RunError: a file is missing, or another query has taken some.
        """
        before = self.visible()
        if all(is_behind(start, file) for file in before):
            return start
        return self.advanced(start, before, self.visible())

    def advanced(self, start: Offset, before: Listing, now: Listing) -> Offset:
        """Behind everything that two listings show, one after the other. Raises as `newest_offset` does."""
        self._require_not_taken(start)
        try:
            end = advanced(start, before, now)
        except ValueError as error:
            message = f"spool {self.shown}: {error}"
            raise RunError(message) from error
        # One that only forgets writers of the past would make a batch without rows.
        return end if any(files_between(start, end)) else start

    def shortened(self, start: Offset, end: Offset, *, most_files: int | None, most_bytes: int | None) -> Offset:
        """Not as far as `end`, if there is more between than that."""
        return shortened(start, end, self.visible(), most_files=most_files, most_bytes=most_bytes)

    def files(self, start: Offset, end: Offset) -> list[tuple[str, int]]:
        """The files between two offsets, and how large each is.

        Raises:
            RunError: one is not there.
        """
        there = self.visible()
        found = []
        for file in files_between(start, end):
            name = name_of(file)
            if file not in there:
                self._require_not_taken(start)
                message = f"spool {self.shown}: wanted {name}, got no such file: it is lost"
                raise RunError(message)
            found.append((name, there[file]))
        return found

    def take(self, end: Offset) -> None:
        """What is behind `end` is not needed any more: it is deleted.

        Raises:
            RunError: another query has taken more.
        """
        self._require_not_taken(end)
        before = self._takings()
        if end != self.taken():
            self.folder.put(_taking(max(before, default=0) + 1), msgspec.json.encode(end))
            for number in before:
                self.folder.delete(_taking(number))
        for name in self.folder.sizes():
            file = file_of(name.removeprefix(HIDDEN))
            # Hidden ones only of older generations: nothing of them will be shown any more.
            if file and is_behind(end, file):
                self.folder.delete(name)

    def _takings(self) -> list[int]:
        return [int(found[1]) for name in self.folder.sizes() if (found := _TAKEN.fullmatch(name))]

    def _require_not_taken(self, start: Offset) -> None:
        taken = self.taken()
        beyond = [file for file in files_between(start, taken) if not is_behind(start, file)]
        if beyond:
            message = (
                f"spool {self.shown}: wanted {name_of(beyond[0])} and what comes after it, got a spool from which "
                f"another query has taken {len(beyond)} files more, and deleted them: a spool has one reader"
            )
            raise RunError(message)

    def _decoded(self, content: bytes, kind: type[Kind], name: str) -> Kind:
        try:
            return msgspec.json.decode(content, type=kind)
        except msgspec.DecodeError as error:
            message = f"spool {self.shown}: {name} is not what was written: {error}"
            raise RunError(message) from error


def _taking(number: int) -> str:
    return f"taken-{number:08d}.json"


def name_of(file: Numbered) -> str:
    """What a file is called."""
    writer, number = file
    return f"rows-{writer}-{number:08d}.arrow"


def file_of(name: str) -> Numbered | None:
    """The file of this name; None if it is none of ours."""
    found = _ROWS.fullmatch(name)
    writer = found and Writer.parse(found[1])
    return (writer, int(found[2])) if found and writer else None
