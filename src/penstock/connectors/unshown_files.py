"""The files that a sink has written and not shown yet: one that may be open, and those before it.

What was written is shown whole, when somebody says that it counts, or deleted, when it will come again.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

import pyarrow as pa

from penstock.connectors.folder import HIDDEN, Folder
from penstock.errors import RunError

__all__ = ["UnshownFiles"]


class UnshownFiles:
    """Files of one sink, under their hidden names.

    Args:
        folder: where they are.
        owner: the sink, for messages.
        opened: makes what writes a file's format, of a stream and a schema.
    """

    def __init__(self, folder: Folder, *, owner: str, opened: Callable[[Any, pa.Schema], Any]) -> None:
        self._folder = folder
        self._owner = owner
        self._opened = opened
        self._names: list[str] = []  # the last one may be open
        self._stream: Any = None
        self._writer: Any = None

    def __bool__(self) -> bool:
        return bool(self._names)

    @property
    def is_open(self) -> bool:
        """Whether a file is being written."""
        return self._writer is not None

    @property
    def open_bytes(self) -> int:
        """How large the file is that is being written."""
        size: int = 0 if self._writer is None else self._stream.tell()
        return size

    def begin(self, name: str, schema: pa.Schema) -> None:
        """Opens a file, which will be shown under this name."""
        self._names.append(name)
        with self._ending_the_run():
            self._stream = self._folder.open_output(HIDDEN + name)
            self._writer = self._opened(self._stream, schema)

    def write(self, batch: pa.RecordBatch) -> None:
        """Adds rows to the file that is open."""
        with self._ending_the_run():
            self._writer.write_batch(batch)

    def end(self) -> None:
        """Completes the file that is open, if one is."""
        if self._writer is None:
            return
        with self._ending_the_run():
            self._writer.close()
            self._stream.close()
            self._folder.flush(HIDDEN + self._names[-1])
            self._folder.flush()
        self._writer = None

    def take(self) -> list[str]:
        """The names of all files, which are complete: from now on they are the caller's to show."""
        names, self._names = self._names, []
        return names

    def discard(self) -> None:
        """As if nothing had been written since `take`."""
        writer, self._writer = self._writer, None
        if writer is not None:
            # A full disk, or that it is closed already, is no reason not to forget what is on it, nor to keep it open.
            for open_one in (writer, self._stream):
                with contextlib.suppress(OSError, pa.ArrowException):
                    open_one.close()
        while self._names:
            self._folder.delete(HIDDEN + self._names.pop())

    @contextlib.contextmanager
    def _ending_the_run(self) -> Iterator[None]:
        """Rows of many tuples are written at once. An error that failed only the last of them would lose the others."""
        try:
            yield
        except OSError as error:
            message = f"{self._owner}: cannot write {self._folder.place(HIDDEN + self._names[-1])}: {error}"
            with contextlib.suppress(OSError):
                self.discard()  # or else it might still be committed, when the run ends
            raise RunError(message) from error
