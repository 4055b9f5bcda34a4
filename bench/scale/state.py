"""Keyed state of many keys: filled, saved while tuples flow, moved to another worker, restored by a new run.

What a user feels of it is how long nothing comes out. So once all keys are there, tuples pass at a steady rate through
the task that has them, and the longest pause is looked for in each stretch.
"""

import tempfile
import time
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

import penstock as ps
from bench.scale.notes import resident_mb

_BEATS_PER_S = 200
_EMITTED_AT_ONCE = 1024
_EPOCH_EVERY_S = 1.0
_LOOK_S = 0.05
# State is saved as what has changed, and as a whole after sixteen of those: the stretch has to be longer than that.
_STEADY_S = 40.0
_PATIENCE_S = 900.0
_STORE = 1
"""The task that has the keys: the first bolt's."""


class Keys(ps.Spout):
    """Every key once, and then some of them again at a steady rate, for ever."""

    fields = ("key", "beat")

    def __init__(self, count: int) -> None:
        self.count = count

    def open(self, context: ps.TaskContext) -> None:  # noqa: ARG002
        self.emitted = 0
        self.next_ns = 0

    def next(self) -> list[tuple[int, bool]] | None:
        first = self.emitted
        if first < self.count:
            self.emitted = min(self.count, first + _EMITTED_AT_ONCE)
            return [(number, False) for number in range(first, self.emitted)]
        now_ns = time.monotonic_ns()
        if now_ns < self.next_ns:
            return None
        self.next_ns = max(now_ns, self.next_ns + 10**9 // _BEATS_PER_S)
        self.emitted += 1
        return [(first * 7919 % self.count, True)]

    def position(self) -> int:
        return self.emitted

    def seek(self, position: int) -> None:
        self.emitted = position


class Store(ps.KeyedBolt):
    """Has the keys; passes the beats on, with how many keys there are."""

    fields = ("keys",)

    def process(self, key: Any, tup: ps.Tuple) -> tuple[int] | None:
        self.state[key] = self.state.get(key, 0) + 1
        return (len(self.state),) if tup.beat else None


class Beat(NamedTuple):
    """One that came out."""

    at_ns: int
    keys: int


class Beats(ps.Bolt):
    """Notes when each came out."""

    fields = ()

    def __init__(self, folder: str) -> None:
        self.folder = folder

    def open(self, context: ps.TaskContext) -> None:  # noqa: ARG002
        self.file = Path(self.folder, f"beats-{time.monotonic_ns()}").open("w")  # noqa: SIM115

    def process(self, tup: ps.Tuple) -> None:
        self.file.write(f"{time.monotonic_ns()} {tup.keys}\n")
        self.file.flush()

    def close(self) -> None:
        self.file.close()


class StateFigures(msgspec.Struct, frozen=True, kw_only=True):
    """Of one state."""

    keys: int
    fill_s: float
    """From the call of `start` until all keys were in it."""
    resident_mb: float
    """Of the worker that has it."""
    checkpoint_mb: float
    longest_pause_while_saved_s: float
    move_s: float
    longest_pause_while_moved_s: float
    restore_s: float
    """From the call of `start` with that checkpoint until the first tuple had come out."""
    restore_of_nothing_s: float
    """The same with nearly no keys: what starting a run takes anyway."""


def measure_state(keys: int) -> StateFigures:
    """One run that is filled, saved and moved; and another that goes on from its checkpoint."""
    _, nothing_s = _restored(_BEATS_PER_S)
    figures, restore_s = _restored(keys)
    return msgspec.structs.replace(figures, restore_s=restore_s, restore_of_nothing_s=nothing_s)


def _restored(keys: int) -> tuple[StateFigures, float]:
    with tempfile.TemporaryDirectory(prefix="penstock-bench-") as folder:
        began_ns = time.monotonic_ns()
        with _started(folder, keys) as run:
            figures = _filled_and_moved(run, folder, keys, began_ns)
        # Of a run that has stopped: nobody writes there, or clears away.
        saved_bytes = sum(file.stat().st_size for file in Path(folder, "checkpoint").rglob("*") if file.is_file())
        began_ns = time.monotonic_ns()
        with _started(folder, keys):
            first = _beat_after(began_ns, folder, "nothing came out of the run that was restored")
    if first.keys != keys:
        message = f"wanted {keys:,} keys in the state that was restored, got {first.keys:,}"
        raise ps.RunError(message)
    figures = msgspec.structs.replace(figures, checkpoint_mb=saved_bytes / 2**20)
    return figures, (first.at_ns - began_ns) / 1e9


def _started(folder: str, keys: int) -> ps.Run:
    topology = ps.Topology("scale-state")
    store = topology.bolt("store", Store(), topology.spout("keys", Keys(keys)).by("key"))
    topology.bolt("beats", Beats(folder), store.shuffle())
    return ps.start(
        topology,
        workers=4,  # one more than tasks: so there is a place to move to
        delivery="exactly_once",
        checkpoint=str(Path(folder, "checkpoint")),
        epoch_every_s=_EPOCH_EVERY_S,
    )


def _filled_and_moved(run: ps.Run, folder: str, keys: int, began_ns: int) -> StateFigures:
    filled = _beat_after(began_ns, folder, f"{keys:,} keys are not there")
    time.sleep(_STEADY_S)
    saved = _beat_after(time.monotonic_ns(), folder, "nothing came out while it was saved")
    workers = run.status().workers
    (owner,) = (one for one in workers if _STORE in one.tasks)
    free = next(one.worker for one in workers if not one.tasks)
    assert owner.pid is not None
    resident = resident_mb(owner.pid)
    move_began_ns = time.monotonic_ns()
    run.move(_STORE, free)
    moved_ns = time.monotonic_ns()
    moved = _beat_after(moved_ns, folder, "nothing came out after the move")
    return StateFigures(
        keys=keys,
        fill_s=(filled.at_ns - began_ns) / 1e9,
        resident_mb=resident,
        checkpoint_mb=0.0,
        longest_pause_while_saved_s=_longest_pause_s(folder, filled.at_ns, saved.at_ns),
        move_s=(moved_ns - move_began_ns) / 1e9,
        longest_pause_while_moved_s=_longest_pause_s(folder, move_began_ns, moved.at_ns),
        restore_s=0.0,
        restore_of_nothing_s=0.0,
    )


def _beat_after(since_ns: int, folder: str, complaint: str) -> Beat:
    """The first that comes out after a point in time."""
    deadline_s = time.monotonic() + _PATIENCE_S
    while True:
        later = [beat for beat in _beats(folder) if beat.at_ns > since_ns]
        if later:
            return min(later)
        if time.monotonic() > deadline_s:
            message = f"{complaint} after {_PATIENCE_S:g} s"
            raise ps.RunError(message)
        time.sleep(_LOOK_S)


def _beats(folder: str) -> list[Beat]:
    lines = (line for file in Path(folder).glob("beats-*") for line in file.read_text().splitlines(keepends=True))
    # The last may be half written.
    return sorted(Beat(*map(int, line.split())) for line in lines if line.endswith("\n"))


def _longest_pause_s(folder: str, began_ns: int, ended_ns: int) -> float:
    between = [beat.at_ns for beat in _beats(folder) if began_ns < beat.at_ns < ended_ns]
    return max(later - earlier for earlier, later in pairwise([began_ns, *between, ended_ns])) / 1e9
