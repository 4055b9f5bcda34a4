"""Manifests and stores to test with."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

from penstock.checkpoint.location import locate
from penstock.checkpoint.manifest import Manifest, PartRef, SavedTask
from penstock.checkpoint.shape import SavedShape
from penstock.checkpoint.store import CheckpointStore

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)


class Clock:
    """The time, which passes on command."""

    def __init__(self) -> None:
        self._now = NOON

    def __call__(self) -> datetime:
        return self._now

    def pass_s(self, seconds: float) -> None:
        self._now += timedelta(seconds=seconds)


def manifest(epoch: int, *chains: tuple[PartRef, ...], run: str = "run") -> Manifest:
    """One with a task for each chain of parts."""
    tasks = tuple(SavedTask(component="count", index=index, parts=parts) for index, parts in enumerate(chains))
    return Manifest(epoch=epoch, run=run, created_at=NOON, shape=SavedShape(topology="t"), tasks=tasks)


def claimed(folder: Path, run: str = "run") -> CheckpointStore:
    store = CheckpointStore(locate(folder))
    store.claim(run)
    return store


def files_in(folder: Path) -> set[str]:
    """All files, as paths below the folder, without those that say whose it is."""
    found = (path for path in folder.rglob("*") if path.is_file())
    return {str(path.relative_to(folder)) for path in found} - {"lease.json", "lease.lock", "identity"}
