"""The chain of `bench overhead`, whose tasks note what the kernel knows of their threads."""

import gc
import os
import tempfile
import threading
import time
from pathlib import Path
from typing import Any, Self

import msgspec

import penstock as ps
from bench.overhead.chain import ChainError
from bench.overhead.tuples import BODY, Pacer
from bench.tail.reasons import Note, Stolen

FIELDS = ("stamp_ns", "body")
_STAMPS = "stamps.json"


class Run(msgspec.Struct, frozen=True, kw_only=True):
    """What a run has left behind."""

    stamps_ns: list[int]
    tasks: list[list[Note]]
    steal: list[Stolen]


def run(rate_per_s: int, count: int) -> Run:
    """So many tuples at a rate, on the session that is active."""
    with tempfile.TemporaryDirectory(prefix="penstock-bench-") as folder:
        topology = ps.Topology("tail")
        a = topology.spout("a", Steady(folder, rate_per_s, count))
        b = topology.bolt("b", Forward(folder), a.shuffle())
        topology.bolt("c", Last(folder), b.shuffle())
        with _StealWatch() as watch:
            ps.run(topology, workers=3, delivery="at_most_once")
        stamps_ns = msgspec.json.decode(Path(folder, _STAMPS).read_bytes(), type=list[int])
        tasks = [msgspec.json.decode(Path(folder, name).read_bytes(), type=list[Note]) for name in ("a", "b", "c")]
    if {len(stamps_ns), *map(len, tasks)} != {count}:
        message = f"of {count} tuples {len(stamps_ns)} arrived"
        raise ChainError(message)
    return Run(stamps_ns=stamps_ns, tasks=tasks, steal=watch.seen)


class _StealWatch:
    """Reads every 5 ms how much time of this virtual machine's cores was taken away."""

    def __init__(self) -> None:
        self.seen: list[Stolen] = []
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._look, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()

    def _look(self) -> None:
        tick_ns = 1_000_000_000 // os.sysconf("SC_CLK_TCK")
        with Path("/proc/stat").open("rb", buffering=0) as file:
            while not self._over.wait(0.005):
                steal = int(os.pread(file.fileno(), 200, 0).split(maxsplit=9)[8])
                self.seen.append(Stolen(time.monotonic_ns(), steal * tick_ns))


class Diary:
    """The notes of one task, of the thread that it runs in."""

    def __init__(self, folder: str, name: str) -> None:
        self._file = Path(folder, name)
        self._notes: list[tuple[int, int, int, int]] = []
        self._collected_ns = self._collecting_since_ns = 0
        self._account = os.open("/proc/thread-self/schedstat", os.O_RDONLY)
        gc.callbacks.append(self._collecting)

    def note(self) -> None:
        ran_ns, waited_ns, _ = os.pread(self._account, 100, 0).split()
        self._notes.append((time.monotonic_ns(), int(ran_ns), int(waited_ns), self._collected_ns))

    def close(self) -> None:
        gc.callbacks.remove(self._collecting)
        os.close(self._account)
        self._file.write_bytes(msgspec.json.encode(self._notes))

    def _collecting(self, phase: str, _info: Any) -> None:
        now_ns = time.monotonic_ns()
        if phase == "start":
            self._collecting_since_ns = now_ns
        else:
            self._collected_ns += now_ns - self._collecting_since_ns


class Steady(ps.Spout):
    """So many tuples at a rate, each on its way before the next is waited for."""

    fields = FIELDS

    def __init__(self, folder: str, rate_per_s: int, count: int) -> None:
        self.folder = folder
        self.rate_per_s = rate_per_s
        self.count = count

    def open(self, context: ps.TaskContext) -> None:  # noqa: ARG002
        self.diary = Diary(self.folder, "a")
        self.pacer: Pacer | None = None
        self.just_emitted = False

    def next(self) -> tuple[int, str] | None:
        pacer = self.pacer = self.pacer or Pacer(self.rate_per_s, self.count)
        if not pacer.left:
            raise StopIteration
        if wait_s := pacer.wait_s():
            if self.just_emitted:  # to sleep now would keep back what was emitted before
                self.just_emitted = False
                return None
            time.sleep(wait_s)
            pacer.woke()
        self.just_emitted = True
        self.diary.note()
        return pacer.stamp_ns(), BODY

    def close(self) -> None:
        self.diary.close()


class Forward(ps.Bolt):
    """Makes a new tuple of each."""

    fields: tuple[str, ...] = FIELDS
    name = "b"

    def __init__(self, folder: str) -> None:
        self.folder = folder

    def open(self, context: ps.TaskContext) -> None:  # noqa: ARG002
        self.diary = Diary(self.folder, self.name)

    def process(self, tup: ps.Tuple) -> tuple[int, str] | None:
        self.diary.note()
        return tup.stamp_ns, tup.body

    def close(self) -> None:
        self.diary.close()


class Last(Forward):
    """Takes tuples, and keeps their stamps."""

    fields = ()
    name = "c"

    def open(self, context: ps.TaskContext) -> None:
        super().open(context)
        self.stamps_ns: list[int] = []

    def process(self, tup: ps.Tuple) -> None:
        self.diary.note()
        self.stamps_ns.append(tup.stamp_ns)

    def close(self) -> None:
        super().close()
        Path(self.folder, _STAMPS).write_bytes(msgspec.json.encode(self.stamps_ns))
