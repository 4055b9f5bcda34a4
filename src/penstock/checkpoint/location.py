"""From the URL of a checkpoint to a filesystem and a folder on it."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit, urlunsplit

import msgspec

from penstock.errors import CheckpointError

__all__ = ["Location", "locate"]


class Location(msgspec.Struct, frozen=True, kw_only=True):
    """A folder on some filesystem."""

    filesystem: Any  # of pyarrow
    root: str
    """The folder, as the filesystem names it."""
    url: str
    """Leads to the same place from any working directory. May hold a password: see `shown`."""
    shown: str
    """The URL for messages, without passwords and options."""


def locate(url: str | os.PathLike[str]) -> Location:
    """What a URL, or a path on this machine, means.

    Raises:
        CheckpointError: no filesystem is known for it, or what it needs is not installed.
    """
    given = os.fspath(url)
    if not given:
        message = "checkpoint: wanted a URL or a path, got an empty one"
        raise CheckpointError(message)
    from pyarrow import fs  # only who keeps checkpoints needs it

    if "://" not in given:
        path = os.path.abspath(Path(given).expanduser())  # noqa: PTH100 - resolves '..' without looking at the disk
        return Location(filesystem=fs.LocalFileSystem(), root=path, url=path, shown=path)
    shown = _without_secrets(given)
    try:
        filesystem, root = fs.FileSystem.from_uri(given)
    except Exception as error:  # whatever a driver of a filesystem may raise
        # Not chained, because its text may hold the whole URL.
        got = str(error).replace(given, shown)
        message = (
            f"checkpoint {shown}: wanted a URL that pyarrow has a filesystem for, such as file:///…, s3://… or "
            f"hdfs://…, got {type(error).__name__}: {got}"
        )
        raise CheckpointError(message) from None
    return Location(filesystem=filesystem, root=root.rstrip("/"), url=given, shown=shown)


def _without_secrets(url: str) -> str:
    parts = urlsplit(url)
    return urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path, "", ""))
