"""A pyarrow filesystem that fails on command: at the nth operation, half way through a write, or by lacking a skill."""

from __future__ import annotations

import errno
import io
from typing import Any

import pyarrow as pa
from pyarrow import fs

from penstock.checkpoint.location import Location


class Faults:
    """What goes wrong, and when. Operations are counted from 0; reading counts too."""

    def __init__(
        self, *, fail_at: int | None = None, torn: bool = False, can_move: bool = True, moves_onto_files: bool = True
    ) -> None:
        self.fail_at = fail_at
        self.torn = torn
        """Whether a write that fails leaves half of it, and the file in its place."""
        self.can_move = can_move
        self.moves_onto_files = moves_onto_files
        self.operations = 0

    def is_due(self) -> bool:
        self.operations += 1
        return self.fail_at == self.operations - 1

    def pass_or_fail(self, what: str) -> None:
        if self.is_due():
            raise OSError(errno.EIO, f"planted failure of {what}")


class _FaultyFile(io.RawIOBase):
    def __init__(self, below: Any, faults: Faults) -> None:
        super().__init__()
        self._below = below
        self._faults = faults

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        content = bytes(data)
        if self._faults.is_due():
            if self._faults.torn:
                self._below.write(content[: len(content) // 2])
            raise OSError(errno.ENOSPC, "planted: no space left on device")
        self._below.write(content)
        return len(content)

    def close(self) -> None:
        if not self.closed:
            self._below.close()
        super().close()


class _FaultyHandler(fs.FileSystemHandler):  # type: ignore[misc]  # pyarrow has no types
    def __init__(self, below: fs.FileSystem, faults: Faults) -> None:
        self._below = below
        self._faults = faults

    def get_type_name(self) -> str:
        return "faulty"

    def get_file_info(self, paths: list[str]) -> Any:
        self._faults.pass_or_fail("looking")
        return self._below.get_file_info(paths)

    def get_file_info_selector(self, selector: Any) -> Any:
        self._faults.pass_or_fail("listing")
        return self._below.get_file_info(selector)

    def create_dir(self, path: str, recursive: bool) -> None:
        self._faults.pass_or_fail("making a folder")
        self._below.create_dir(path, recursive=recursive)

    def delete_dir(self, path: str) -> None:
        raise AssertionError(path)

    def delete_dir_contents(self, path: str, missing_dir_ok: bool = False) -> None:
        raise AssertionError(path, missing_dir_ok)

    def delete_root_dir_contents(self) -> None:
        raise AssertionError

    def delete_file(self, path: str) -> None:
        self._faults.pass_or_fail("deleting")
        self._below.delete_file(path)

    def move(self, src: str, dest: str) -> None:
        if not self._faults.can_move:
            raise NotImplementedError
        self._faults.pass_or_fail("moving")
        if not self._faults.moves_onto_files and self._below.get_file_info(dest).type == fs.FileType.File:
            raise FileExistsError(errno.EEXIST, "planted: it does not move onto a file", dest)
        self._below.move(src, dest)

    def copy_file(self, src: str, dest: str) -> None:
        raise AssertionError(src, dest)

    def open_input_stream(self, path: str) -> Any:
        self._faults.pass_or_fail("opening to read")
        return pa.PythonFile(self._below.open_input_file(path), mode="r")

    def open_input_file(self, path: str) -> Any:
        raise AssertionError(path)

    def open_output_stream(self, path: str, metadata: Any) -> Any:
        self._faults.pass_or_fail("opening to write")
        return pa.PythonFile(_FaultyFile(self._below.open_output_stream(path, metadata=metadata), self._faults), "w")

    def open_append_stream(self, path: str, metadata: Any) -> Any:
        raise AssertionError(path, metadata)

    def normalize_path(self, path: str) -> str:
        return path


def faulty(below: Location, faults: Faults) -> Location:
    """The same place, reached through a filesystem that fails."""
    filesystem = fs.PyFileSystem(_FaultyHandler(below.filesystem, faults))
    return Location(filesystem=filesystem, root=below.root, url=below.url, shown=below.shown)


def in_memory() -> Location:
    """A place that only this process sees. It has folders, and can move."""
    return Location(filesystem=fs._MockFileSystem(), root="checkpoint", url="mock://checkpoint", shown="checkpoint")
