"""Whose a checkpoint is: one run's at a time.

The lease is a file with the id of the run, renewed while the run lives. It keeps two runs from writing to one
checkpoint by mistake. On a disk it is taken and renewed under a lock, so of two runs that claim at the same moment one
has it, and the other is told which. There is no lock that all filesystems have. What holds everywhere is that each
commit looks whether the lease is still its own, so a run that was away for long and was given up stops at its next
commit.

What is not promised: without locks, as on object stores, of two runs that claim at the same moment both may believe
that they have it, and the one that came first is stopped only by its first commit. And anywhere, a run that pauses for
longer than its lease lasts, between that look and the commit itself, can still commit, over an epoch of its heir.
"""

from __future__ import annotations

import socket
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from penstock.transport.process_identity import ProcessIdentity

__all__ = ["Lease", "decode_lease", "encode_lease", "new_lease"]


class Lease(msgspec.Struct, frozen=True, kw_only=True):
    """That a run writes to the checkpoint."""

    run: str
    renewed_at: datetime
    stale_after_s: float
    host: str
    """For people."""
    boot_id: str
    process: ProcessIdentity
    claim: int = 1
    """How many runs have taken the checkpoint, this one included."""
    released: bool = False
    """Whether the run has ended, and said so."""

    def age_s(self, now: datetime) -> float:
        """How long ago it was renewed."""
        return (now - self.renewed_at).total_seconds()

    def is_free(self, now: datetime) -> bool:
        """Whether another run may take it: given back, not renewed for long, or its process is known to be dead."""
        return self.released or self.age_s(now) > self.stale_after_s or self._holder_is_dead()

    def _holder_is_dead(self) -> bool:
        # Pids and their namespaces mean something on the same machine only, and until it boots again.
        return self.boot_id == _boot_id() and self.process.is_provably_dead()


def new_lease(run: str, *, claim: int, now: datetime, stale_after_s: float, released: bool = False) -> Lease:
    """A lease for a run of this very process."""
    return Lease(
        run=run,
        renewed_at=now.astimezone(UTC),
        stale_after_s=stale_after_s,
        host=socket.gethostname(),
        boot_id=_boot_id(),
        process=ProcessIdentity.current(),
        claim=claim,
        released=released,
    )


def encode_lease(lease: Lease) -> bytes:
    """A lease as the bytes of its file."""
    return msgspec.json.encode(lease)


def decode_lease(payload: bytes) -> Lease | None:
    """What `encode_lease` was given; None if that is not what the bytes are."""
    try:
        return msgspec.json.decode(payload, type=Lease)
    except (ValueError, RecursionError):  # msgspec's own errors are of the former
        return None


def _boot_id() -> str:
    return Path("/proc/sys/kernel/random/boot_id").read_text().strip()
