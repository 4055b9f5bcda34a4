"""A worker is killed while tuples flow at a rate: how long nothing comes out."""

import os
import signal
import tempfile
import time
from itertools import pairwise
from pathlib import Path
from typing import Any

import msgspec

import penstock as ps
from penstock.flow.delivery import Delivery

_RATE_PER_S = 1_000
_BEFORE_S = 3.0
_AFTER_S = 8.0
_KEYS = 100


class Ticker(ps.Spout):
    """Numbers at a rate, and which of some keys each belongs to."""

    fields = ("n", "key")

    def open(self, context: ps.TaskContext) -> None:  # noqa: ARG002
        self.emitted = 0
        self.origin_ns = time.monotonic_ns()

    def next(self) -> tuple[int, int] | None:
        if (time.monotonic_ns() - self.origin_ns) * _RATE_PER_S // 1_000_000_000 <= self.emitted:
            return None
        self.emitted += 1
        return self.emitted, self.emitted % _KEYS

    def position(self) -> int:
        return self.emitted

    def seek(self, position: int) -> None:
        self.emitted = position
        self.origin_ns = time.monotonic_ns() - position * 1_000_000_000 // _RATE_PER_S


class Work(ps.KeyedBolt):
    """Has state, and is on the worker that is killed."""

    fields = ("n",)

    def process(self, key: Any, tup: ps.Tuple) -> tuple[int]:
        self.state[key] = tup.n
        return (tup.n,)


class Log(ps.Bolt):
    """Notes when something came."""

    fields = ()

    def __init__(self, folder: str) -> None:
        self.folder = folder

    def open(self, context: ps.TaskContext) -> None:  # noqa: ARG002
        self.file = Path(self.folder, f"log-{os.getpid()}-{time.monotonic_ns()}").open("w")  # noqa: SIM115

    def process(self, tup: ps.Tuple) -> None:  # noqa: ARG002
        self.file.write(f"{time.monotonic_ns()}\n")
        self.file.flush()

    def close(self) -> None:
        self.file.close()


class Outage(msgspec.Struct, frozen=True, kw_only=True):
    """What one kill cost."""

    until_output_s: float
    """From the kill to the first output that came after it, of work that was done anew."""
    until_restart_s: float
    """From the kill until the worker that Spark restarted has registered."""


def outage(delivery: Delivery) -> Outage:
    """Kills the worker that does the work."""
    with tempfile.TemporaryDirectory(prefix="penstock-bench-") as folder:
        topology = ps.Topology("outage")
        ticks = topology.spout("ticks", Ticker())
        topology.bolt("log", Log(folder), topology.bolt("work", Work(), ticks.by("key")).shuffle())
        checkpoint = str(Path(folder, "checkpoint")) if delivery == "exactly_once" else None
        with ps.start(topology, workers=3, delivery=delivery, checkpoint=checkpoint, epoch_every_s=1.0) as run:
            time.sleep(_BEFORE_S)
            victim = next(worker for worker in run.status().workers if 1 in worker.tasks)
            assert victim.pid is not None
            killed_ns = time.monotonic_ns()
            os.kill(victim.pid, signal.SIGKILL)
            while run.status().restarts == 0:
                time.sleep(0.01)
            restarted_s = (time.monotonic_ns() - killed_ns) / 1e9
            time.sleep(_AFTER_S)
        times = sorted(int(line) for file in Path(folder).glob("log-*") for line in file.read_text().split())
    # What was on its way from the dead worker to the log may come for some milliseconds after the kill. The outage is
    # the longest pause from then on.
    after = [killed_ns, *(at_ns for at_ns in times if at_ns > killed_ns)]
    pauses = [(later - earlier, later) for earlier, later in pairwise(after)]
    _, resumed_ns = max(pauses)
    return Outage(until_output_s=(resumed_ns - killed_ns) / 1e9, until_restart_s=restarted_s)
