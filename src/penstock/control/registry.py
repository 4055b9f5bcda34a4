"""The runs of this user, as files: how the command line finds a run that another process drives.

A file holds the keys of its run, so the folder is the user's alone (0700), and so is each file (0600). A driver that
was killed leaves its file behind; whoever looks next sees that the process is gone, and removes it. Where the streams
of a run are, which Spark may still read when the run is over, is in a file of its own, which stays; and so does the
history of its load, of the last runs.
"""

from __future__ import annotations

import contextlib
import os
import socket
import stat
import tempfile
from pathlib import Path
from urllib.parse import quote

import msgspec

from penstock.errors import RunError
from penstock.transport.links import LinkKeys
from penstock.transport.process_identity import ProcessIdentity

__all__ = ["RunDirectory", "RunFile", "RunStreams"]

_SUFFIX = ".run"
_STREAMS_SUFFIX = ".streams"
_LOAD_SUFFIX = ".load"

# Of so many runs it is kept where their streams are.
_MOST_STREAMS = 100
# Of so many runs the history of their load is kept.
_MOST_LOADS = 20


def _can_be_made(folder: Path) -> bool:
    """Whether files can be put into a folder that is there, or can be made."""
    there = next(place for place in (folder, *folder.absolute().parents) if place.exists())
    return there.is_dir() and os.access(there, os.W_OK | os.X_OK)


def _boot_id() -> str:
    return Path("/proc/sys/kernel/random/boot_id").read_text().strip()


class RunStreams(msgspec.Struct, frozen=True, kw_only=True):
    """Where the streams of a run are."""

    run: str
    topology: str
    started_at: str
    """UTC, ISO 8601."""
    streams: dict[str, str] = msgspec.field(default_factory=dict)
    """The streams that Spark can read, by the name of the sink, and where their spools are."""


class RunFile(RunStreams, frozen=True, kw_only=True):
    """How to reach a run, and which process drives it."""

    endpoint: str
    server_public: bytes
    keys: LinkKeys
    load_store: str | None = None
    """Where its load and its schedules are kept, as a URL."""
    driver: ProcessIdentity = msgspec.field(default_factory=ProcessIdentity.current)
    host: str = msgspec.field(default_factory=socket.gethostname)
    boot_id: str = msgspec.field(default_factory=_boot_id)

    def is_stale(self) -> bool:
        """Whether the driver is certainly gone. A home may be shared by machines: of another one we cannot know."""
        if self.boot_id == _boot_id():
            return self.driver.is_provably_dead()
        return self.host == socket.gethostname()  # this machine, before it was last started


class RunDirectory:
    """A folder of run files."""

    def __init__(self, path: Path) -> None:
        self.path = path

    @classmethod
    def default(cls) -> RunDirectory:
        """$XDG_RUNTIME_DIR/penstock where there is one, which the system empties for us; else in ~/.cache.

        A container's user may have no home that can be written to: then it is among the temporary files, in one folder
        and not below one, which somebody else could have made first.
        """
        runtime = os.environ.get("XDG_RUNTIME_DIR")
        if runtime and os.access(runtime, os.W_OK | os.X_OK):
            return cls(Path(runtime) / "penstock")
        with contextlib.suppress(RuntimeError):  # there is no home at all
            cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
            if _can_be_made(cache):
                return cls(cache / "penstock" / "runs")
        return cls(Path(tempfile.gettempdir()) / f"penstock-runs-{os.geteuid()}")

    def publish(self, file: RunFile) -> None:
        """Makes a run findable, until it is withdrawn or its driver dies."""
        self._make()
        if file.streams:
            about = RunStreams(**{name: getattr(file, name) for name in RunStreams.__struct_fields__})
            self._put(f"{file.run}{_STREAMS_SUFFIX}", about)
            for old in self._all_streams()[:-_MOST_STREAMS]:
                (self.path / f"{old.run}{_STREAMS_SUFFIX}").unlink(missing_ok=True)
        alive = {known.run for known in self.runs()}
        for place in self._loads()[:-_MOST_LOADS]:
            if place.stem not in alive:
                place.unlink(missing_ok=True)
        self._put(f"{file.run}{_SUFFIX}", file)

    def _put(self, name: str, content: RunStreams) -> None:
        draft = self.path / f".{name}.draft"
        descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
        try:
            with open(descriptor, "wb") as target:  # noqa: PTH123 -- a descriptor, so that the mode holds from the start
                target.write(msgspec.json.encode(content))
            draft.rename(self.path / name)
        except BaseException:
            draft.unlink(missing_ok=True)
            raise

    def load_store_of(self, run: str) -> str:
        """Where the load of a run is kept if nobody says otherwise: a file beside its own, which stays."""
        return f"sqlite://{quote(str(self.path.absolute() / f'{run}{_LOAD_SUFFIX}'))}"

    def load_stores(self) -> list[str]:
        """The files with the load of runs, those that are over included, oldest first."""
        return [f"sqlite://{quote(str(path.absolute()))}" for path in self._loads()]

    def _loads(self) -> list[Path]:
        found = {}
        for place in self.path.glob(f"*{_LOAD_SUFFIX}") if self._is_ours() else ():
            with contextlib.suppress(OSError):
                found[place] = place.stat().st_mtime
        return sorted(found, key=lambda place: found[place])

    def withdraw(self, run: str) -> None:
        """Removes a run's file, if it is there."""
        self._place(run).unlink(missing_ok=True)

    def runs(self) -> list[RunFile]:
        """The runs that may be alive, oldest first. Files of drivers that are gone are removed."""
        found = []
        for place in self.path.glob(f"*{_SUFFIX}") if self._is_ours() else ():
            try:
                file = msgspec.json.decode(place.read_bytes(), type=RunFile)
            except (OSError, msgspec.DecodeError):  # just withdrawn, or of another version of Penstock
                continue
            if file.is_stale():
                with contextlib.suppress(OSError):
                    place.unlink()
            else:
                found.append(file)
        return sorted(found, key=lambda file: (file.started_at, file.run))

    def find_streams(self, name: str) -> RunStreams:
        """The streams of a run that may be over: of one that is alive, as `find` finds it, or else of the newest one.

        Raises:
            RunError: there is no such run, or more than one is alive.
        """
        try:
            return self.find(name)
        except RunError:
            over = [] if any(_is_named(file, name) for file in self.runs()) else self._all_streams()
            for about in reversed(over):
                if _is_named(about, name):
                    return about
            raise

    def _all_streams(self) -> list[RunStreams]:
        """Of all runs, the oldest first."""
        found = []
        for place in self.path.glob(f"*{_STREAMS_SUFFIX}") if self._is_ours() else ():
            with contextlib.suppress(OSError, msgspec.DecodeError):
                found.append(msgspec.json.decode(place.read_bytes(), type=RunStreams))
        return sorted(found, key=lambda about: (about.started_at, about.run))

    def find(self, name: str | None = None) -> RunFile:
        """The run with this id, or the beginning of it, or of this topology; without a name, the only one there is."""
        runs = self.runs()
        matching = [file for file in runs if name is None or _is_named(file, name)]
        exact = [file for file in matching if file.run == name]
        if len(exact or matching) == 1:
            return (exact or matching)[0]
        wanted = "a run" if name is None else f"a run named {name!r}"
        there = ", ".join(f"{file.run} ({file.topology})" for file in matching or runs) or "none"
        problem = "more than one matches" if matching else "no such run"
        message = f"wanted {wanted}: {problem}; runs of this user on this machine: {there}"
        raise RunError(message)

    def _place(self, run: str) -> Path:
        return self.path / f"{run}{_SUFFIX}"

    def _make(self) -> None:
        self.path.mkdir(mode=0o700, parents=True, exist_ok=True)
        if not self._is_ours():
            message = (
                f"run files cannot be kept in {self.path}: it must be a folder that belongs to user {os.geteuid()} "
                f"and that nobody else can enter (mode 0700)"
            )
            raise RunError(message)

    def _is_ours(self) -> bool:
        """Whether nobody else can have put files there, or read ours."""
        try:
            about = self.path.lstat()
        except FileNotFoundError:
            return False
        return stat.S_ISDIR(about.st_mode) and about.st_uid == os.geteuid() and not about.st_mode & 0o077


def _is_named(about: RunStreams, name: str) -> bool:
    return about.topology == name or about.run.startswith(name)
