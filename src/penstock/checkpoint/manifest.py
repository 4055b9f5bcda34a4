"""The manifest of an epoch: everything that is needed to go on from it. An epoch is committed when its manifest exists.

It is JSON, for people to read, in an envelope with a checksum, so that half a manifest is never taken for one, nor one
that has changed since.
"""

from __future__ import annotations

from datetime import datetime

import msgspec
import xxhash

from penstock.checkpoint.shape import SavedShape
from penstock.errors import CheckpointError

__all__ = [
    "FORMAT",
    "DamagedManifestError",
    "FeedMark",
    "Manifest",
    "PartRef",
    "SavedTask",
    "TornManifestError",
    "decode_manifest",
    "encode_manifest",
]

FORMAT = 1
"""The version of what is written below the URL of a checkpoint: manifests, parts and where they lie."""


class PartRef(msgspec.Struct, frozen=True, kw_only=True):
    """A piece of a task's state: where it is, and how to know that it is whole."""

    path: str
    """Below the URL of the checkpoint."""
    size_bytes: int
    checksum: str
    """XXH3 of 64 bits, as hexadecimal digits."""


class SavedTask(msgspec.Struct, frozen=True, kw_only=True):
    """What an epoch has of one task."""

    component: str
    index: int
    ended: bool = False
    """Whether all its inputs had ended, and it had finished; a spout: whether it had nothing more."""
    parts: tuple[PartRef, ...] = ()
    """Its state, in the order in which it has to be read: a full one, then deltas."""
    position: bytes | None = None
    """Where a spout was, by `encode_value`."""
    prepared: bytes | None = None
    """The tokens that a transactional sink had prepared and not yet committed, as a list, by `encode_value`."""
    owes: bool = False
    """Whether some of what a sink was given is not where it belongs yet: prepared and not committed, or not fetched."""


class FeedMark(msgspec.Struct, frozen=True, kw_only=True):
    """The last micro-batch that a spout was fed before the epoch ended."""

    query: str
    """The id of the query that it was of."""
    batch: int


class Manifest(msgspec.Struct, frozen=True, kw_only=True):
    """A committed epoch."""

    format: int = FORMAT
    epoch: int
    run: str
    """The id of the run that wrote it."""
    created_at: datetime
    """In UTC."""
    shape: SavedShape
    tasks: tuple[SavedTask, ...] = ()
    feeds: dict[str, FeedMark] = {}
    """By spout that Spark feeds."""
    finished: bool = False
    """Whether the run was bounded and has ended: there is nothing to go on with."""

    def tasks_of(self, component: str) -> tuple[SavedTask, ...]:
        """The tasks of one component, in the order of their indices; none if it had no such component."""
        found = (task for task in self.tasks if task.component == component)
        return tuple(sorted(found, key=lambda task: task.index))

    def parts(self) -> tuple[PartRef, ...]:
        """Every part that it refers to."""
        return tuple(part for task in self.tasks for part in task.parts)


class DamagedManifestError(ValueError):
    """Bytes that are not what was written as a manifest."""


class TornManifestError(DamagedManifestError):
    """Bytes that may be the beginning of a manifest, as a write leaves them that was cut off."""


_TOO_SHORT = "Input data was truncated"
"""What msgspec says of the beginning of a text in JSON, and of nothing at all."""


class _Envelope(msgspec.Struct, frozen=True):
    checksum: str
    manifest: msgspec.Raw


class _Versioned(msgspec.Struct, frozen=True):
    format: int


def encode_manifest(manifest: Manifest) -> bytes:
    """A manifest as the bytes of its file."""
    content = msgspec.json.encode(manifest)
    return msgspec.json.encode(_Envelope(checksum=xxhash.xxh3_64_hexdigest(content), manifest=msgspec.Raw(content)))


def decode_manifest(payload: bytes) -> Manifest:
    """What `encode_manifest` was given.

    Raises:
        TornManifestError: it ends too early.
        DamagedManifestError: it is no manifest, or has changed since it was written.
        CheckpointError: it is a whole one, in a format of another version. That is not passed over in silence, because
            an older manifest would be taken instead, and what came after it be done again.
    """
    try:
        envelope = msgspec.json.decode(payload, type=_Envelope)
        content = bytes(envelope.manifest)
        if xxhash.xxh3_64_hexdigest(content) != envelope.checksum:
            message = f"wanted checksum {envelope.checksum}, got {xxhash.xxh3_64_hexdigest(content)}"
            raise DamagedManifestError(message)
        version = msgspec.json.decode(content, type=_Versioned).format
        if version == FORMAT:
            return msgspec.json.decode(content, type=Manifest)
    except DamagedManifestError:
        raise
    except (ValueError, RecursionError) as error:  # msgspec's own errors are of the former
        kind = TornManifestError if str(error) == _TOO_SHORT else DamagedManifestError
        message = f"wanted a whole manifest, got {len(payload)} bytes: {error}"
        raise kind(message) from error
    message = f"wanted a manifest of format {FORMAT}, got one of format {version}, which another version has written"
    raise CheckpointError(message)
