"""A folder on any filesystem that pyarrow knows, for sinks whose files are there whole or not at all.

A file is written under a hidden name, which readers of folders (Spark, Arrow, Hive) pass over, and then shown: renamed.
"""

from __future__ import annotations

import contextlib
import errno
import os
import re
import secrets
from pathlib import Path
from typing import Any

from pyarrow import fs

from penstock.errors import RunError

__all__ = ["HIDDEN", "Folder", "absolute", "without_secrets"]

HIDDEN = "."
"""How a hidden name begins; the rest of it is the name under which the file will be shown."""


class Folder:
    """The files of one folder. Names are those within it."""

    def __init__(self, url: str) -> None:
        if "://" in url:
            self.filesystem, path = fs.FileSystem.from_uri(url)
        else:
            self.filesystem, path = fs.LocalFileSystem(), url
        self._path = path.rstrip("/")
        self._is_local = self.filesystem.type_name == "local"

    def create(self) -> None:
        """Makes the folder and those above it, if there is none."""
        self.filesystem.create_dir(self._path, recursive=True)

    def place(self, name: str) -> str:
        """A file's name, as the filesystem knows it."""
        return f"{self._path}/{name}"

    def sizes(self) -> dict[str, int]:
        """How large each of the files is that are there; none if there is no such folder."""
        selector = fs.FileSelector(self._path, allow_not_found=True)
        found = self.filesystem.get_file_info(selector)
        return {info.base_name: info.size for info in found if info.type == fs.FileType.File}

    def has(self, name: str) -> bool:
        """Whether there is such a file."""
        found: bool = self.filesystem.get_file_info(self.place(name)).type == fs.FileType.File
        return found

    def read(self, name: str) -> bytes | None:
        """All of a file; None if it is not there."""
        try:
            with self.filesystem.open_input_stream(self.place(name), compression=None) as stream:
                content: bytes = stream.read()
                return content
        except FileNotFoundError:
            return None

    def put(self, name: str, content: bytes) -> None:
        """Puts a file into its place, over one that is there."""
        draft = f"{HIDDEN}{name}.{secrets.token_hex(4)}"
        try:
            with self.open_output(draft) as stream:
                stream.write(content)
            self.flush(draft)
            self.filesystem.move(self.place(draft), self.place(name))
        except BaseException:
            with contextlib.suppress(OSError):
                self.delete(draft)
            raise
        self.flush()

    def put_once(self, name: str, content: bytes) -> None:
        """Puts a file into its place that others may be putting there, too, the same one.

        Not every filesystem lets one replace what another has put.
        """
        try:
            self.put(name, content)
        except OSError:
            if not self.has(name):
                raise

    def open_output(self, name: str) -> Any:
        """A stream of pyarrow to write a file with."""
        return self.filesystem.open_output_stream(self.place(name), compression=None)

    def show(self, name: str, *, owner: str) -> bool:
        """Makes a file visible that may be so already. Returns whether it is there.

        Raises:
            RunError: it is there and cannot be renamed. The text names the `owner`.
        """
        hidden, final = self.place(HIDDEN + name), self.place(name)
        try:
            self.filesystem.move(hidden, final)
        except OSError as error:
            if self.has(name):
                return True
            if self.has(HIDDEN + name):
                message = f"{owner}: cannot rename {hidden} to {final}: {error}"
                raise RunError(message) from error
            return False
        return True

    def delete(self, name: str) -> None:
        """Deletes a file, if it is there."""
        with contextlib.suppress(FileNotFoundError):
            self.filesystem.delete_file(self.place(name))

    def flush(self, name: str | None = None) -> None:
        """Makes a file, or the names in the folder, outlast a loss of power. Object stores do it by themselves."""
        if not self._is_local:
            return
        descriptor = os.open(self._path if name is None else self.place(name), os.O_RDONLY)
        try:
            os.fsync(descriptor)
        except OSError as error:
            if error.errno != errno.EINVAL:  # a filesystem that has no such thing
                raise
        finally:
            os.close(descriptor)


def absolute(path: str | os.PathLike[str]) -> str:
    """The URL, or the path made absolute, because a worker has another working directory."""
    given = os.fspath(path)
    return given if "://" in given else str(Path(given).expanduser().absolute())


def without_secrets(url: str) -> str:
    """For messages: a URL may hold a password."""
    return re.sub(r"(?<=://)[^/@]*@", "", url).partition("?")[0] if "://" in url else url
