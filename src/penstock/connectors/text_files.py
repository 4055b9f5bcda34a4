r"""The lines of text files.

The files are shared out over the tasks by bytes, however many and however large they are; a line that reaches into the
share of the next task belongs to the one where it begins:

    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp())
    >>> _ = (folder / "a.txt").write_text("one\ntwo\n"), (folder / "b.txt").write_text("three\n")
    >>> spout = TextFiles(folder / "*.txt")
    >>> spout.open(TaskContext(topology="t", component="lines"))
    >>> spout.next(), spout.next()
    ([('one',), ('two',)], [('three',)])
    >>> spout.close()
"""

from __future__ import annotations

import codecs
import glob
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import BinaryIO

import msgspec

from penstock.topology.context import TaskContext
from penstock.topology.emit import Outputs
from penstock.topology.spouts import Spout

__all__ = ["TextFiles"]

# Enough for the cost of a call to vanish, and little enough for the first line to be on its way at once.
_READ_BYTES = 8 << 10


class Piece(msgspec.Struct, frozen=True):
    """A part of a file: every line that begins in it."""

    path: str
    begin: int
    end: int | None
    """None is the end of the file, wherever that will be."""


class TextFiles(Spout):
    """Emits each line of each file that a pattern finds, without its line break.

    The files are looked up where the topology is built, and must be at the same place on every node.

    Args:
        pattern: such as ``"texts/*.txt"``; ``**`` is any number of folders.
        encoding: what the files are written in. Has to be one in which a line break is one byte.
        errors: what to do with bytes that are not in the encoding: ``strict`` fails, with the file and the line;
            ``replace`` and the others of Python's codecs go on.
    """

    fields = ("line",)

    def __init__(self, pattern: str | os.PathLike[str], *, encoding: str = "utf-8", errors: str = "strict") -> None:
        self.pattern = os.fspath(pattern)
        self.encoding = encoding
        self.errors = errors
        # Sizes too, now: every task has to cut at the same bytes.
        self.files = _found(self.pattern)

    def problems(self, tasks: int, fields: tuple[str, ...]) -> Iterator[str]:  # noqa: ARG002
        """Whether there are files, and whether they can be read by lines."""
        if len(fields) != 1:
            yield f"TextFiles: wanted 1 field, for the line, got {fields}"
        if not self.files:
            yield f"TextFiles: wanted files, found none for {self.pattern!r} in {Path.cwd()}"
        for path, _ in self.files:
            if not os.access(path, os.R_OK):
                yield f"TextFiles: {path} is not readable"
        try:
            ends_in_a_byte = "\n\n".encode(self.encoding).endswith(b"\n\n")
        except LookupError:
            yield f"TextFiles: encoding: wanted one that Python knows, got {self.encoding!r}"
        else:
            if not ends_in_a_byte:
                yield f"TextFiles: encoding: wanted one in which a line break is the byte 0x0a, got {self.encoding!r}"

    def open(self, context: TaskContext) -> None:
        """Finds its share, and whether it is there."""
        self._pieces = pieces(self.files, context.index, context.count)
        self._file: BinaryIO | None = None
        for piece in self._pieces:
            if not os.access(piece.path, os.R_OK):
                message = (
                    f"TextFiles: {piece.path} is not readable on worker {context.worker}, which has a share of it: "
                    "files must be at the same place on every node"
                )
                raise FileNotFoundError(message)
        self.seek((0, self._pieces[0].begin if self._pieces else 0))

    def next(self) -> Outputs:
        """The next lines, a few kilobytes of them."""
        while self._piece < len(self._pieces):
            batch = self._read(self._pieces[self._piece])
            if batch:
                return batch
            following = self._piece + 1
            self.seek((following, self._pieces[following].begin if following < len(self._pieces) else 0))
        raise StopIteration

    def _read(self, piece: Piece) -> list[tuple[str]]:
        """Lines of a piece, or none at its end."""
        file = self._file or self._open(piece)
        if piece.end is not None and self._offset >= piece.end:
            return []
        block = file.read(_READ_BYTES) + file.readline()  # whole lines: it begins where one begins
        if not block:
            return []
        if piece.end is not None:
            # Up to where the line ends that holds the last byte of the piece.
            cut = block.find(b"\n", piece.end - self._offset - 1) + 1
            block = block[:cut] if cut else block
        text = self._decode(block, piece)
        if "\r" in text:
            text = text.replace("\r\n", "\n").removesuffix("\r")
        return [(line,) for line in text.removesuffix("\n").split("\n")]

    def _decode(self, block: bytes, piece: Piece) -> str:
        """Decodes a block and moves on behind it, or else up to the line that cannot be decoded."""
        # A byte order mark stands at the beginning of a file, and elsewhere is a character like others.
        encoding = "utf-8" if self._offset and codecs.lookup(self.encoding).name == "utf-8-sig" else self.encoding
        try:
            text = block.decode(encoding, self.errors)
        except UnicodeDecodeError as error:
            self._close_file()  # to be opened again at the offset
            good = block.rfind(b"\n", 0, error.start) + 1
            if good:
                # The lines before it go first: the next call meets it as its first, and raises.
                return self._decode(block[:good], piece)
            number = _line_number(piece.path, self._offset)
            self._offset += (block.find(b"\n", error.start) + 1) or len(block)
            got = f"{block[error.start : error.end]!r} ({error.reason})"
            message = f"{piece.path}, line {number}: wanted {self.encoding}, got {got}"
            raise ValueError(message) from None
        self._offset += len(block)
        return text

    def _open(self, piece: Piece) -> BinaryIO:
        """Opens the file at the first line that begins at the offset or behind it."""
        self._file = file = Path(piece.path).open("rb")  # noqa: SIM115 - closed by close()
        if self._offset > 0:
            # What is read is a line break if a line begins at the offset, else the rest of a line that is not ours.
            file.seek(self._offset - 1)
            self._offset += len(file.readline()) - 1
        return file

    def _close_file(self) -> None:
        if self._file is not None:
            self._file.close()
            self._file = None

    def position(self) -> tuple[int, int]:
        """The number of the piece among those of this task, and the byte in its file."""
        return self._piece, self._offset

    def seek(self, position: Sequence[int]) -> None:
        """Goes on with the line at that byte."""
        self._close_file()
        self._piece, self._offset = position

    def close(self) -> None:
        """Closes the file that it was reading."""
        self._close_file()

    def __repr__(self) -> str:
        return f"TextFiles({self.pattern!r})"


def pieces(files: Sequence[tuple[str, int]], index: int, count: int) -> list[Piece]:
    """The share of one task: as if all files were one, cut into equal parts.

    >>> pieces([("a", 60), ("b", 40)], index=1, count=2)
    [Piece(path='a', begin=50, end=None), Piece(path='b', begin=0, end=None)]
    """
    total = sum(size for _, size in files)
    share_begin, share_end = total * index // count, total * (index + 1) // count
    found = []
    file_begin = 0
    for path, size in files:
        begin, end = max(share_begin - file_begin, 0), min(share_end - file_begin, size)
        if begin < end:
            found.append(Piece(path, begin, None if end == size else end))
        file_begin += size
    return found


def _found(pattern: str) -> list[tuple[str, int]]:
    """The files and their sizes. Absolute, because a worker has another working directory."""
    anywhere = glob.iglob(str(Path(pattern).expanduser()), recursive=True)  # noqa: PTH207 - takes absolute ones too
    paths = sorted(Path(path).absolute() for path in anywhere if Path(path).is_file())
    return [(str(path), path.stat().st_size) for path in paths]


def _line_number(path: str, offset: int) -> int:
    """The number of the line that begins at the offset. Counted only when something is wrong."""
    number = 1
    with Path(path).open("rb") as file:
        while offset > 0 and (block := file.read(min(offset, 1 << 20))):
            number += block.count(b"\n")
            offset -= len(block)
    return number
