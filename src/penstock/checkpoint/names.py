"""What the files of a checkpoint are called. The epoch is in every name, so that it is known without reading."""

from __future__ import annotations

import re
import secrets

from penstock.checkpoint.files import WRITING

__all__ = [
    "IDENTITY",
    "LEASE",
    "LOCK",
    "MANIFESTS",
    "PARTS",
    "ROOT",
    "epoch_of_manifest",
    "epoch_of_part",
    "is_litter",
    "manifest_path",
    "part_path",
    "probe_name",
]

IDENTITY = "identity"
LEASE = "lease.json"
LOCK = "lease.lock"
"""Locked, on a disk, while somebody reads and writes the lease. Never deleted: two would lock two files."""
MANIFESTS = "manifests"
PARTS = "parts"
ROOT = ""
"""The folder that the others are in."""

_BEING_WRITTEN = rf"(?:\.[0-9a-f]+{re.escape(WRITING)})?"
_MANIFEST = re.compile(rf"(\d{{12,}})\.json{_BEING_WRITTEN}")
_LITTER = re.compile(
    rf"probe-[0-9a-f]+{_BEING_WRITTEN}|(?:{re.escape(LEASE)}|{IDENTITY})\.[0-9a-f]+{re.escape(WRITING)}"
)
_PART = re.compile(rf"(\d{{12,}})-\d{{6,}}-[0-9a-f]+\.part{_BEING_WRITTEN}")


def manifest_path(epoch: int) -> str:
    """Where the manifest of an epoch is.

    >>> manifest_path(7)
    'manifests/000000000007.json'
    """
    return f"{MANIFESTS}/{epoch:012d}.json"


def part_path(epoch: int, task: int) -> str:
    """A place for a part, another one each time: no two attempts, of any processes, write the same file."""
    return f"{PARTS}/{epoch:012d}-{task:06d}-{secrets.token_hex(8)}.part"


def probe_name() -> str:
    """A file that is written to find out whether one can be."""
    return f"probe-{secrets.token_hex(8)}"


def is_litter(name: str) -> bool:
    """Whether a file in the root was left by a process that was killed while it wrote it."""
    return _LITTER.fullmatch(name) is not None


def epoch_of_manifest(name: str) -> int | None:
    """The epoch of a manifest, or of one that is being written; None if the name is of something else.

    >>> epoch_of_manifest("000000000007.json"), epoch_of_manifest("notes.txt")
    (7, None)
    """
    return _epoch(_MANIFEST.fullmatch(name))


def epoch_of_part(name: str) -> int | None:
    """The epoch of a part, or of one that is being written; None if the name is of something else."""
    return _epoch(_PART.fullmatch(name))


def _epoch(match: re.Match[str] | None) -> int | None:
    return int(match[1]) if match else None
