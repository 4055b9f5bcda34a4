"""Where checkpoints are kept: below one URL, a lease, manifests, and the parts that they refer to.

    identity                                        which checkpoint it is, wherever it may be moved to
    lease.json                                      whose it is
    lease.lock                                      locked by who reads and writes that, on a disk
    manifests/000000000007.json                     epoch 7 is committed
    parts/000000000007-000003-9f86d081884c7d65.part what task 3 had to save in it

The driver claims the store, commits and cleans. Workers write and read parts, each through a store of its own. A store
remembers nothing but its place, so threads may share one.
"""

from __future__ import annotations

import logging
import os
import re
import secrets
from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, datetime

import xxhash

from penstock.checkpoint.claims import Claims
from penstock.checkpoint.files import WRITING, Files
from penstock.checkpoint.location import Location, locate
from penstock.checkpoint.manifest import (
    DamagedManifestError,
    Manifest,
    PartRef,
    TornManifestError,
    decode_manifest,
    encode_manifest,
)
from penstock.checkpoint.names import (
    IDENTITY,
    MANIFESTS,
    PARTS,
    ROOT,
    epoch_of_manifest,
    epoch_of_part,
    is_litter,
    manifest_path,
    part_path,
    probe_name,
)
from penstock.errors import CheckpointError

__all__ = ["CheckpointStore"]

log = logging.getLogger(__name__)


def _utc_now() -> datetime:
    return datetime.now(UTC)


class CheckpointStore:
    """The checkpoints below one URL.

    Args:
        location: where; `open` takes a URL.
        stale_after_s: how long after its last renewal a run counts as gone.
        now: the time. That of different drivers is compared, so their clocks have to agree within seconds.
    """

    def __init__(
        self, location: Location, *, stale_after_s: float = 30.0, now: Callable[[], datetime] = _utc_now
    ) -> None:
        self.url = location.url
        """Leads here from any process, whatever its working directory is. May hold a password."""
        self._shown = location.shown
        self._files = Files(location)
        self._stale_after_s = stale_after_s
        self._claims = Claims(self._files, stale_after_s=stale_after_s, now=now)

    @classmethod
    def open(cls, url: str | os.PathLike[str], *, stale_after_s: float = 30.0) -> CheckpointStore:
        """The store at a URL of any filesystem that pyarrow knows, or at a path. Nothing is written or read yet.

        Raises:
            CheckpointError: no filesystem is known for the URL.
        """
        return cls(locate(url), stale_after_s=stale_after_s)

    def probe(self) -> None:
        """Finds out by trying whether files can be written, listed, read and deleted.

        Raises:
            CheckpointError: they cannot.
        """
        name, content = probe_name(), b"written to find out whether it can be"
        self._files.create_folder(ROOT)
        self._files.put(name, content)
        try:
            found, size = self._files.read(name), self._files.sizes(ROOT).get(name)
        finally:
            self._files.delete(name)
        if found != content or size != len(content):
            got = "nothing" if found is None else f"{len(found)} bytes, listed as {size}"
            message = (
                f"checkpoint {self._shown}: wanted to read what was just written ({len(content)} bytes), got {got}"
            )
            raise CheckpointError(message)

    # Whose it is.

    def claim(self, run: str) -> int:
        """Takes the store for a run, and makes its folders. May be called again by the same run.

        Returns:
            The number of the claim: greater than that of any other run that had the store before.

        Raises:
            CheckpointError: another run has it, and is not known to be gone.
        """
        self._files.create_folder(MANIFESTS)
        self._files.create_folder(PARTS)
        claim = self._claims.take(run)
        if self._identity() is None:
            self._files.put(IDENTITY, secrets.token_hex(8).encode())
        for name, age_s in self._files.ages_s(ROOT).items():
            if is_litter(name) and age_s > self._stale_after_s:  # another run may be writing it just now
                self._files.delete(name)
        return claim

    def renew(self, run: str) -> None:
        """Says that the run still lives. `commit` does it too; call it when there was no commit for long.

        Raises:
            CheckpointError: the store is not the run's any more.
        """
        self._claims.renew(run)

    def release(self, run: str) -> None:
        """Gives the store back, if it is the run's: another run may have it at once."""
        self._claims.give_back(run)

    def join(self, run: str) -> None:
        """Makes sure, in a worker, that this is the place that the run's driver has claimed.

        A path that is not shared between nodes looks right on each of them: the driver would commit epochs whose parts
        lie on disks of others.

        Raises:
            CheckpointError: it is not.
        """
        self._claims.require(run)

    def identity(self) -> str:
        """What tells this checkpoint from others, also when it is reached under another URL. There once it is claimed.

        Raises:
            CheckpointError: there is none, or it cannot be read.
        """
        found = self._identity()
        if found is None:
            message = f"checkpoint: wanted 16 hexadecimal digits in {self._files.shown(IDENTITY)}, got something else"
            raise CheckpointError(message)
        return found

    def _identity(self) -> str | None:
        found = (self._files.read(IDENTITY) or b"").decode(errors="replace")
        return found if re.fullmatch("[0-9a-f]{16}", found) else None

    # Parts.

    def write_part(self, *, epoch: int, task: int, payload: bytes) -> PartRef:
        """Saves a part of a task's state. Each call makes a file of its own, so a retry harms nothing.

        Raises:
            CheckpointError: it could not be written.
        """
        path = part_path(epoch, task)
        self._files.put(path, payload)
        return PartRef(path=path, size_bytes=len(payload), checksum=xxhash.xxh3_64_hexdigest(payload))

    def read_part(self, ref: PartRef) -> bytes:
        """What was saved.

        Raises:
            CheckpointError: it is not there, or not what was written.
        """
        payload = self._files.read(ref.path)
        wanted = f"{ref.size_bytes} bytes with checksum {ref.checksum}"
        if payload is None:
            message = f"checkpoint: wanted {wanted} in {self._files.shown(ref.path)}, got no such file"
            raise CheckpointError(message)
        checksum = xxhash.xxh3_64_hexdigest(payload)
        if (len(payload), checksum) != (ref.size_bytes, ref.checksum):
            got = f"{len(payload)} bytes with checksum {checksum}"
            message = f"checkpoint: wanted {wanted} in {self._files.shown(ref.path)}, got {got}"
            raise CheckpointError(message)
        return payload

    # Epochs.

    def commit(self, manifest: Manifest) -> None:
        """Makes an epoch the one to go on from: all at once, and for all who look from then on.

        If this raises, the epoch may have been committed all the same; `latest` tells.

        Raises:
            CheckpointError: the store is not the run's any more, or the manifest could not be written.
        """
        self._claims.require(manifest.run)
        self._files.put(manifest_path(manifest.epoch), encode_manifest(manifest))
        self._claims.renew(manifest.run)

    def latest(self, *, tell: Callable[[str], object] = log.warning) -> Manifest | None:
        """The newest committed epoch; None if none was ever committed.

        Sinks are told to commit an epoch when its manifest is in its place, so they may have shown what it holds: to go
        on from the epoch before would show that twice. So a manifest that is damaged is refused, and one whose parts
        are not all there. Only where a write can be torn is half a manifest passed over: nobody was told of its epoch.

        Args:
            tell: is told what was passed over.

        Raises:
            CheckpointError: the newest epoch cannot be gone on from, or it cannot be found out.
        """
        names = self._files.names(MANIFESTS)
        for name in names:
            if epoch_of_manifest(name) is None:
                log.warning("%s is none of ours: passed over", self._files.shown(f"{MANIFESTS}/{name}"))
        newest = self._newest(_epochs(names), tell)
        if newest is not None and (lacking := self._lacking(newest, self._part_sizes())):
            message = (
                f"checkpoint {self._shown}: wanted all parts of epoch {newest.epoch}, which is committed, but "
                f"{len(lacking)} are not there, or not whole: {_listed(lacking)}. Put them back; or, to begin anew, "
                f"give another URL or empty this one"
            )
            raise CheckpointError(message)
        return newest

    def clean(self, *, keep: int = 2, abandoned_before: int | None = None) -> int:
        """Deletes what is not needed to go on from one of the newest epochs. Returns how many files that were.

        Parts of epochs after the newest committed one stay, because they may be being written just now.

        Args:
            keep: how many of the newest epochs stay.
            abandoned_before: no epoch before this one will be committed any more, so their parts need not stay either.

        Raises:
            CheckpointError: something could not be deleted.
        """
        if keep < 1:
            message = f"keep: wanted at least 1 epoch, got {keep}"
            raise ValueError(message)
        manifests = self._files.sizes(MANIFESTS)
        kept = [
            manifest for manifest, _ in zip(self._usable(self._whole(_epochs(manifests))), range(keep), strict=False)
        ]
        # Everything before this epoch is either kept or waste; nobody is at work on it.
        settled = kept[0].epoch + 1 if kept else 0
        settled = max(settled, abandoned_before or 0)
        needed = {part.path for manifest in kept for part in manifest.parts()}
        needed |= {manifest_path(manifest.epoch) for manifest in kept}
        # Manifests first: there must be none that refers to what is not there.
        waste = [*_before(settled, MANIFESTS, manifests, epoch_of_manifest)]
        waste += _before(settled, PARTS, self._files.sizes(PARTS), epoch_of_part)
        unneeded = [path for path in waste if path not in needed]
        for path in unneeded:
            self._files.delete(path)
        return len(unneeded)

    def _newest(self, epochs: list[int], tell: Callable[[str], object]) -> Manifest | None:
        damaged: list[tuple[int, DamagedManifestError]] = []
        found = None
        for epoch in epochs:
            try:
                found = self._read_manifest(epoch)
            except DamagedManifestError as error:
                damaged.append((epoch, error))
            if found is not None:
                break
        is_torn = self._files.may_tear and all(isinstance(error, TornManifestError) for _, error in damaged)
        if damaged and (found is None or not is_torn):
            raise CheckpointError(self._refusal(*damaged[0], found))
        for epoch, torn in damaged:
            assert found is not None
            tell(
                f"checkpoint: {self._files.shown(manifest_path(epoch))} was written in part only ({torn}), so epoch "
                f"{epoch} was never committed: the run goes on from epoch {found.epoch}"
            )
        return found

    def _refusal(self, epoch: int, error: DamagedManifestError, before: Manifest | None) -> str:
        back = (
            "No whole one is before it"
            if before is None
            else f"Or delete it to go back to epoch {before.epoch}: what sinks have committed since comes twice then"
        )
        return (
            f"checkpoint: {self._files.shown(manifest_path(epoch))} is damaged: {error}. Sinks may have committed "
            f"epoch {epoch}. Put the file back from a copy. {back}. To begin anew, give another URL or empty this one"
        )

    def _read_manifest(self, epoch: int) -> Manifest | None:
        """That of an epoch; None if there is none any more."""
        path = manifest_path(epoch)
        payload = self._files.read(path)
        if payload is None:
            return None
        try:
            manifest = decode_manifest(payload)
        except CheckpointError as error:
            message = f"{self._files.shown(path)}: {error}"
            raise CheckpointError(message) from error
        if manifest.epoch != epoch:
            message = f"wanted the manifest of epoch {epoch}, got that of epoch {manifest.epoch}"
            raise DamagedManifestError(message)
        return manifest

    def _whole(self, epochs: list[int]) -> Iterator[Manifest]:
        """The manifests that can be read."""
        for epoch in epochs:
            try:
                manifest = self._read_manifest(epoch)
            except DamagedManifestError as error:
                log.warning("%s is damaged: %s", self._files.shown(manifest_path(epoch)), error)
                continue
            if manifest is not None:  # not cleaned since it was listed
                yield manifest

    def _usable(self, manifests: Iterable[Manifest]) -> Iterator[Manifest]:
        """Those whose parts are all there."""
        sizes = self._part_sizes()
        for manifest in manifests:
            lacking = self._lacking(manifest, sizes)
            if lacking:
                log.warning(
                    "checkpoint %s: %d parts of epoch %d are not there, or not whole: %s",
                    self._shown,
                    len(lacking),
                    manifest.epoch,
                    _listed(lacking),
                )
                continue
            yield manifest

    def _part_sizes(self) -> dict[str, int]:
        return {f"{PARTS}/{name}": size for name, size in self._files.sizes(PARTS).items()}

    def _lacking(self, manifest: Manifest, sizes: dict[str, int]) -> list[PartRef]:
        return [part for part in manifest.parts() if sizes.get(part.path) != part.size_bytes]


def _listed(parts: list[PartRef]) -> str:
    return ", ".join(part.path for part in parts[:3]) + (", …" if len(parts) > 3 else "")


def _epochs(names: Iterable[str]) -> list[int]:
    """Those that have a manifest in its place, by these names; the newest first."""
    found = (epoch_of_manifest(name) for name in names if not name.endswith(WRITING))
    return sorted((epoch for epoch in found if epoch is not None), reverse=True)


def _before(epoch: int, folder: str, names: Iterable[str], epoch_of: Callable[[str], int | None]) -> Iterator[str]:
    for name in names:
        found = epoch_of(name)
        if found is not None and found < epoch:
            yield f"{folder}/{name}"
