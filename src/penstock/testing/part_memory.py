"""What stands in for a checkpoint on a filesystem."""

from __future__ import annotations

from penstock.checkpoint.manifest import PartRef
from penstock.errors import CheckpointError

__all__ = ["PartMemory"]


class PartMemory:
    """Keeps parts in memory (a `penstock.worker.checkpoints.PartStore`)."""

    def __init__(self) -> None:
        self._parts: dict[str, bytes] = {}
        self.is_full = False
        """Whether nothing can be written, as on a full disk."""

    def write_part(self, *, epoch: int, task: int, payload: bytes) -> PartRef:
        """See PartStore."""
        if self.is_full:
            message = f"the part of task {task} for epoch {epoch} cannot be written: no space left"
            raise CheckpointError(message)
        path = f"{epoch}-{task}-{len(self._parts)}"
        self._parts[path] = payload
        return PartRef(path=path, size_bytes=len(payload), checksum="")

    def read_part(self, ref: PartRef) -> bytes:
        """See PartStore."""
        return self._parts[ref.path]
