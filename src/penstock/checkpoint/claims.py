"""The file that says whose a checkpoint is: taken, renewed, looked at and given back."""

from __future__ import annotations

import logging
from collections.abc import Callable
from datetime import datetime

from penstock.checkpoint.files import Files
from penstock.checkpoint.lease import Lease, decode_lease, encode_lease, new_lease
from penstock.checkpoint.names import LEASE, LOCK
from penstock.errors import CheckpointError, CheckpointTakenError

__all__ = ["Claims"]

log = logging.getLogger(__name__)


class Claims:
    """The lease of the checkpoint in a folder."""

    def __init__(self, files: Files, *, stale_after_s: float, now: Callable[[], datetime]) -> None:
        self._files = files
        self._stale_after_s = stale_after_s
        self._now = now

    def take(self, run: str) -> int:
        """Writes the run's lease, unless another run has one that is not free. Returns the number of the claim."""
        with self._files.locked(LOCK):
            lease = self._read()
            self._refuse_if_held(lease, run)
            claim = 1 if lease is None else lease.claim + (lease.run != run)
            # Without a lock another run may come at the same moment: the last one has it.
            try:
                self._write(run, claim)
            except CheckpointError:
                self._refuse_if_held(self._read(), run)
                raise
            self._refuse_if_held(self._read(), run)
            self.require(run)
        return claim

    def _refuse_if_held(self, lease: Lease | None, run: str) -> None:
        if lease is not None and lease.run != run and not lease.is_free(self._now()):
            raise CheckpointTakenError(self._refusal(lease, run))

    def renew(self, run: str) -> None:
        """Says that the run still lives. Raises CheckpointError unless the lease that is there is the run's."""
        with self._files.locked(LOCK):
            self._write(run, self.require(run).claim)

    def _write(self, run: str, claim: int, *, released: bool = False) -> None:
        lease = new_lease(run, claim=claim, now=self._now(), stale_after_s=self._stale_after_s, released=released)
        self._files.put(LEASE, encode_lease(lease))

    def give_back(self, run: str) -> None:
        """Says that the run does not need it any more, if it is the run's."""
        if self._read() is None:
            return  # nor is there a folder to lock in, perhaps: what ended the run is to be said, and not that
        with self._files.locked(LOCK):
            lease = self._read()
            if lease is not None and lease.run == run:
                self._write(run, lease.claim, released=True)

    def require(self, run: str) -> Lease:
        """The lease that is there. Raises CheckpointError unless it is the run's, and says so if it is another's."""
        lease = self._read()
        if lease is None or lease.run != run:
            got = "none" if lease is None else f"that of run {lease.run!r} on {lease.host}"
            message = (
                f"checkpoint: wanted the lease of run {run!r} in {self._files.shown(LEASE)}, got {got}. The URL has to "
                "be the same place for the driver and all workers, and of one run at a time"
            )
            raise (CheckpointError if lease is None else CheckpointTakenError)(message)
        return lease

    def _read(self) -> Lease | None:
        payload = self._files.read(LEASE)
        if payload is None:
            return None
        lease = decode_lease(payload)
        if lease is None:
            log.warning("%s is no lease, or not all of one: passed over", self._files.shown(LEASE))
        return lease

    def _refusal(self, lease: Lease, run: str) -> str:
        age_s = lease.age_s(self._now())
        return (
            f"checkpoint: run {run!r} wanted {self._files.shown('')}, but run {lease.run!r} on {lease.host} (pid "
            f"{lease.process.pid}) has it and said so {age_s:.0f} s ago. If that run is gone, try again in "
            f"{max(0.0, lease.stale_after_s - age_s):.0f} s; if it is not, give this one another URL"
        )
