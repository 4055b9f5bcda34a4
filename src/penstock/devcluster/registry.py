"""The clusters of this user, each in a folder of its own: how others find them, and what is left of those that died.

A folder holds everything of a cluster that is a file: its state, its socket, logs, what executors write. The state is
written before anything is made, so that whatever dies when, the next start knows what there may be to clean.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import stat
from collections.abc import Iterator
from ipaddress import IPv4Network
from pathlib import Path

import msgspec

from penstock.devcluster.layout import Layout
from penstock.devcluster.settings import DevClusterSettings
from penstock.errors import DevClusterError
from penstock.transport.process_identity import ProcessIdentity

__all__ = ["ClusterRegistry", "ClusterState"]

_STATE = "state.json"
_LOCK = ".lock"


def _boot_id() -> str:
    return Path("/proc/sys/kernel/random/boot_id").read_text().strip()


class ClusterState(msgspec.Struct, frozen=True, kw_only=True):
    """What a cluster is made of, and which process holds it."""

    cluster: str
    settings: DevClusterSettings
    layout: Layout
    owner: ProcessIdentity = msgspec.field(default_factory=ProcessIdentity.current)
    boot_id: str = msgspec.field(default_factory=_boot_id)

    def is_of_this_boot(self) -> bool:
        """Whether what it lists can be there still, apart from files."""
        return self.boot_id == _boot_id()

    def is_orphan(self) -> bool:
        """Whether its owner is certainly gone."""
        return not self.is_of_this_boot() or self.owner.is_provably_dead()


class ClusterRegistry:
    """A folder of clusters, which is its user's alone."""

    def __init__(self, path: Path) -> None:
        self.path = path

    @classmethod
    def default(cls) -> ClusterRegistry:
        """In ~/.cache, and not where the system keeps files in memory: executors write there."""
        cache = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
        return cls(Path(cache) / "penstock" / "dev-clusters")

    def folder(self, cluster: str) -> Path:
        """A cluster's own folder."""
        return self.path / cluster

    @contextlib.contextmanager
    def locked(self) -> Iterator[None]:
        """For as long as one looks what is taken, and takes something. Ends with the process, however it ends."""
        self.path.mkdir(mode=0o700, parents=True, exist_ok=True)
        about = self.path.lstat()
        if not stat.S_ISDIR(about.st_mode) or about.st_uid != os.geteuid() or about.st_mode & 0o077:
            message = (
                f"clusters cannot be kept in {self.path}: it must be a folder that belongs to user {os.geteuid()} and "
                f"that nobody else can enter (mode 0700)"
            )
            raise DevClusterError(message)
        with (self.path / _LOCK).open("w") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            yield

    def add(self, state: ClusterState) -> Path:
        """Makes a cluster's folder, with its state in it."""
        folder = self.folder(state.cluster)
        folder.mkdir(mode=0o700)
        draft = folder / f"{_STATE}.draft"
        draft.write_bytes(msgspec.json.format(msgspec.json.encode(state)))
        draft.rename(folder / _STATE)
        return folder

    def discard(self, cluster: str) -> None:
        """Removes a cluster's folder, the state last: what is interrupted can be done again."""
        folder = self.folder(cluster)
        for entry in folder.iterdir() if folder.is_dir() else ():
            if entry.name == _STATE:
                continue
            if entry.is_dir() and not entry.is_symlink():
                shutil.rmtree(entry)
            else:
                entry.unlink(missing_ok=True)
        shutil.rmtree(folder, ignore_errors=True)

    def clusters(self) -> list[ClusterState]:
        """All that there are, those of dead owners too."""
        found = []
        for place in sorted(self.path.glob(f"*/{_STATE}")):
            with contextlib.suppress(FileNotFoundError):  # just discarded
                found.append(self._read(place))
        return found

    def remnants(self) -> list[str]:
        """Folders without a state, for who holds the lock: their makers, or their removers, did not live to finish."""
        return [place.name for place in self.path.glob("*/") if not (place / _STATE).exists()]

    def _read(self, place: Path) -> ClusterState:
        try:
            return msgspec.json.decode(place.read_bytes(), type=ClusterState)
        except msgspec.DecodeError as error:
            message = (
                f"{place} is not the state of a cluster as this version of Penstock writes it ({error}): remove what "
                f"it lists, and its folder"
            )
            raise DevClusterError(message) from error

    def blocks(self) -> list[IPv4Network]:
        """The networks that clusters have taken."""
        return [IPv4Network(state.layout.block) for state in self.clusters()]

    def find(self, name: str | None = None) -> ClusterState:
        """The living cluster with this id, or the beginning of it; without a name, the only one there is."""
        living = [state for state in self.clusters() if not state.is_orphan()]
        matching = [state for state in living if name is None or state.cluster.startswith(name)]
        if len(matching) == 1:
            return matching[0]
        wanted = "a cluster" if name is None else f"a cluster named {name!r}"
        there = ", ".join(state.cluster for state in matching or living) or "none"
        problem = "more than one matches" if matching else "no such cluster"
        message = f"wanted {wanted}: {problem}; clusters of this user on this machine: {there}"
        raise DevClusterError(message)
