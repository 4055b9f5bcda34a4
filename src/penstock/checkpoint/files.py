"""A folder in which a file is there whole or not at all, on any filesystem that pyarrow has.

How a file gets into its place depends on what the filesystem offers:

- On a disk of this machine (or one that it mounts): written under another name, flushed to the disk, renamed.
- On an object store: in one go, because there an object appears when its upload is complete.
- On any other: written under another name and moved; in one go if it cannot move.

Only in the last case can a file be torn: `may_tear`. Checksums tell: `penstock.checkpoint.manifest` and `PartRef` have
them.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import secrets
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from penstock.checkpoint.location import Location
from penstock.errors import CheckpointError

if TYPE_CHECKING:
    from pyarrow import fs

__all__ = ["WRITING", "Files"]

WRITING = ".writing"
"""How the name of a file ends that is not in its place yet."""

_OBJECT_STORES = frozenset({"s3", "gcs", "abfs"})

_LOCK_PATIENCE_S = 10.0
"""Who holds a lock reads and writes a small file meanwhile."""
_LOCK_LOOK_S = 0.005
_NO_LOCKS = frozenset({errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP, errno.EINVAL, errno.EBADF})


class Files:
    """The files below a location. Every failure is a CheckpointError that names the file and what was tried."""

    def __init__(self, location: Location) -> None:
        self._filesystem = location.filesystem
        self._root = location.root
        self._shown = location.shown
        kind = self._filesystem.type_name
        self._is_local = kind == "local"
        self._has_folders = kind not in _OBJECT_STORES
        self._can_move = kind not in _OBJECT_STORES

    @property
    def may_tear(self) -> bool:
        """Whether a put that is cut off can leave half a file in its place. Known after the first put."""
        return self._has_folders and not self._can_move

    @contextlib.contextmanager
    def locked(self, path: str) -> Iterator[None]:
        """Keeps other processes out while they lock the same file, where files can be locked: on disks, that is."""
        if not self._is_local:
            yield
            return
        with self._failing("lock", path):
            descriptor = _opened_to_lock(self._place(path))
            try:
                _lock(descriptor)
            except BaseException:
                os.close(descriptor)
                raise
        try:
            yield
        finally:
            os.close(descriptor)

    def create_folder(self, folder: str) -> None:
        """Makes a folder and those above it, where there are folders."""
        if self._has_folders:
            with self._failing("create folder", folder):
                self._filesystem.create_dir(self._place(folder), recursive=True)

    def put(self, path: str, payload: bytes) -> None:
        """Puts a file into its place, over one that is there."""
        with self._failing("write", path):
            if self._is_local:
                self._put_on_disk(Path(self._place(path)), payload)
            elif self._can_move:
                self._put_and_move(self._place(path), payload)
            else:
                self._write(self._place(path), payload)

    def read(self, path: str) -> bytes | None:
        """All of a file; None if it is not there."""
        with self._failing("read", path):
            try:
                with self._filesystem.open_input_stream(self._place(path), compression=None) as stream:
                    content: bytes = stream.read()
                    return content
            except FileNotFoundError:
                return None

    def sizes(self, folder: str) -> dict[str, int]:
        """The files in a folder, by name, and how large each is; none if there is no such folder."""
        return {info.base_name: info.size for info in self._listed(folder) if info.is_file}

    def names(self, folder: str) -> list[str]:
        """All that is in a folder, whatever it is."""
        return [info.base_name for info in self._listed(folder)]

    def ages_s(self, folder: str) -> dict[str, float]:
        """The files in a folder, by name, and how much older than the newest of them each is.

        Compared are times of the filesystem's own clock. A file without one counts as new.
        """
        written = {info.base_name: info.mtime_ns for info in self._listed(folder) if info.is_file}
        newest = max((at_ns for at_ns in written.values() if at_ns is not None), default=0)
        return {name: 0.0 if at_ns is None else (newest - at_ns) / 1e9 for name, at_ns in written.items()}

    def _listed(self, folder: str) -> list[fs.FileInfo]:
        with self._failing("list", folder):
            from pyarrow import fs

            selector = fs.FileSelector(self._place(folder), allow_not_found=True)
            found: list[fs.FileInfo] = self._filesystem.get_file_info(selector)
            return found

    def delete(self, path: str) -> None:
        """Deletes a file, if it is there."""
        with self._failing("delete", path), contextlib.suppress(FileNotFoundError):
            self._filesystem.delete_file(self._place(path))

    def shown(self, path: str) -> str:
        """The name of a file, for messages."""
        return f"{self._shown}/{path}" if path else self._shown

    def _place(self, path: str) -> str:
        return f"{self._root}/{path}" if path else self._root or "/"

    def _put_on_disk(self, final: Path, payload: bytes) -> None:
        temporary = Path(_temporary(str(final)))
        try:
            with temporary.open("wb") as file:
                file.write(payload)
                file.flush()
                # Before the rename: after a loss of power a name must not lead to a file without its content.
                os.fsync(file.fileno())
            temporary.replace(final)
        except BaseException:
            with contextlib.suppress(OSError):
                temporary.unlink(missing_ok=True)
            raise
        _flush_folder(final.parent)

    def _put_and_move(self, final: str, payload: bytes) -> None:
        temporary = _temporary(final)
        try:
            self._write(temporary, payload)
            self._move_over(temporary, final)
        except NotImplementedError:
            self._can_move = False
        except BaseException:
            self._forget(temporary)
            raise
        else:
            return
        self._forget(temporary)
        self._write(final, payload)

    def _move_over(self, temporary: str, final: str) -> None:
        try:
            self._filesystem.move(temporary, final)
        except NotImplementedError:
            raise
        except OSError:
            # Some do not move onto a file that is there (HDFS). For a moment there is none, then.
            if not self._filesystem.get_file_info(final).is_file:
                raise
            self._filesystem.delete_file(final)
            self._filesystem.move(temporary, final)

    def _write(self, place: str, payload: bytes) -> None:
        with self._filesystem.open_output_stream(place, compression=None) as stream:
            stream.write(payload)

    def _forget(self, temporary: str) -> None:
        with contextlib.suppress(Exception):  # what cannot be deleted now is found by the next cleaning
            self._filesystem.delete_file(temporary)

    @contextlib.contextmanager
    def _failing(self, doing: str, path: str) -> Iterator[None]:
        try:
            yield
        except CheckpointError:
            raise
        except Exception as error:  # filesystems written in Python raise whatever they like
            message = f"checkpoint: cannot {doing} {self.shown(path)}: {type(error).__name__}: {error}"
            raise CheckpointError(message) from error


def _opened_to_lock(place: str) -> int:
    try:
        return os.open(place, os.O_RDWR | os.O_CREAT, 0o666)
    except PermissionError:  # another user made it, who lets us write to the folder
        return os.open(place, os.O_RDONLY)


def _lock(descriptor: int) -> None:
    """Locks a file, until the descriptor is closed or the process dies; does nothing on a disk that has no locks."""
    deadline_s = time.monotonic() + _LOCK_PATIENCE_S
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() >= deadline_s:
                raise
            time.sleep(_LOCK_LOOK_S)
        except OSError as error:
            if error.errno in _NO_LOCKS:
                return
            raise
        else:
            return


def _flush_folder(folder: Path) -> None:
    """Makes a rename in it last."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    except OSError as error:
        if error.errno != errno.EINVAL:  # a filesystem that has no such thing
            raise
    finally:
        os.close(descriptor)


def _temporary(final: str) -> str:
    """A name beside `final` that no other process has thought of."""
    return f"{final}.{secrets.token_hex(4)}{WRITING}"
