"""The chain as a Penstock topology: a spout and two record bolts, a worker each."""

import json
import os
import tempfile
import time
from pathlib import Path
from typing import Any

import penstock as ps
from bench.cpu import CpuMeter
from bench.overhead.chain import Chain, ChainError, Flooded, Latencies, Paced
from bench.overhead.tuples import BODY, Pacer

_EMITTED_AT_ONCE = 64
_ANSWER_FILE = "answer.json"
_PROCESS_SUFFIX = ".process"
_FIELDS = ("stamp_ns", "body")


class Topology(Chain):
    """Runs on the SparkSession that is active."""

    name = "Penstock"
    workers = Chain.processes

    def __init__(self) -> None:
        """Nothing has run yet."""
        self.start_s: list[float] = []
        """From the call of `run`, on a session that is there, to the first tuple through; of each run."""
        self.stop_s: list[float] = []
        """From the last tuple through to the return of `run`."""

    def absence(self) -> str | None:
        """It is always there."""
        return None

    def flood(self, count: int) -> Flooded:
        """A bounded run."""
        asked_ns = time.monotonic_ns()
        answer = _run(Flood, (count,), Drain)
        self.stop_s.append((time.monotonic_ns() - answer["finished_ns"]) / 1e9)
        self.start_s.append((answer["first_ns"] - asked_ns) / 1e9)
        if answer["taken"] != count:
            message = f"of {count} tuples {answer['taken']} arrived"
            raise ChainError(message)
        return Flooded(
            tuples=count,
            elapsed_s=(answer["finished_ns"] - answer["started_ns"]) / 1e9,
            cpu_us_per_tuple=answer["cpu_s"] * 1e6 / count,
        )

    def pace(self, paced: Paced) -> Latencies:
        """A bounded run."""
        count = paced.warm_up + paced.count
        answer = _run(Steady, (paced.rate_per_s, count), Collect)
        latencies: list[int] = answer["latencies_ns"]
        if len(latencies) != count:
            message = f"of {count} tuples {len(latencies)} arrived"
            raise ChainError(message)
        return Latencies(latencies_ns=latencies[paced.warm_up :], cpu_us_per_tuple=answer["cpu_s"] * 1e6 / count)


def _run(spout: type["Flood | Steady"], how: tuple[int, ...], sink: type["Sink"]) -> dict[str, Any]:
    with tempfile.TemporaryDirectory(prefix="penstock-bench-") as folder:
        topology = ps.Topology("overhead")
        a = topology.spout("a", spout(folder, *how))
        b = topology.bolt("b", Forward(folder), a.shuffle())
        topology.bolt("c", sink(folder), b.shuffle())
        try:
            ps.run(topology, workers=Topology.workers, delivery="at_most_once")  # as by hand
        except ps.PenstockError as error:
            raise ChainError(str(error)) from error
        answer: dict[str, Any] = json.loads(Path(folder, _ANSWER_FILE).read_text())
        return answer


def note_process(folder: str) -> None:
    """Leave behind in which process a task runs, so that the sink can read its clock."""
    Path(folder, f"{os.getpid()}{_PROCESS_SUFFIX}").touch()


def _noted_processes(folder: str) -> list[int]:
    return [int(file.stem) for file in Path(folder).glob(f"*{_PROCESS_SUFFIX}")]


class Flood(ps.Spout):
    """So many tuples as fast as they go; the first carries when it was emitted."""

    fields = _FIELDS

    def __init__(self, folder: str, count: int) -> None:
        self.folder = folder
        self.count = count
        self.emitted = 0

    def open(self, context: ps.TaskContext) -> None:  # noqa: ARG002
        note_process(self.folder)

    def next(self) -> list[tuple[int, str]]:
        first = self.emitted
        if first == self.count:
            raise StopIteration
        self.emitted = min(self.count, first + _EMITTED_AT_ONCE)
        tuples = [(number, BODY) for number in range(first, self.emitted)]
        if first == 0:
            tuples[0] = (time.monotonic_ns(), BODY)
        return tuples


class Steady(ps.Spout):
    """So many tuples at a rate, each on its way before the next is waited for."""

    fields = _FIELDS

    def __init__(self, folder: str, rate_per_s: int, count: int) -> None:
        self.folder = folder
        self.rate_per_s = rate_per_s
        self.count = count

    def open(self, context: ps.TaskContext) -> None:  # noqa: ARG002
        note_process(self.folder)
        self.pacer: Pacer | None = None
        self.just_emitted = False

    def next(self) -> tuple[int, str] | None:
        pacer = self.pacer = self.pacer or Pacer(self.rate_per_s, self.count)
        if not pacer.left:
            raise StopIteration
        wait_s = pacer.wait_s()
        if wait_s:
            if self.just_emitted:  # to sleep now would keep back what was emitted before
                self.just_emitted = False
                return None
            time.sleep(wait_s)
            pacer.woke()
        self.just_emitted = True
        return pacer.stamp_ns(), BODY


class Forward(ps.Bolt):
    """The smallest bolt there is: makes a new tuple of each."""

    fields = _FIELDS

    def __init__(self, folder: str) -> None:
        self.folder = folder

    def open(self, context: ps.TaskContext) -> None:  # noqa: ARG002
        note_process(self.folder)

    def process(self, tup: ps.Tuple) -> tuple[int, str]:
        return tup.stamp_ns, tup.body


class Sink(ps.Bolt):
    """Leaves an answer in a folder when all tuples have come, with the CPU time of all tasks since the first."""

    fields = ()

    def __init__(self, folder: str) -> None:
        self.folder = folder

    def open(self, context: ps.TaskContext) -> None:  # noqa: ARG002
        note_process(self.folder)
        self.meter = CpuMeter(lambda: _noted_processes(self.folder))

    def leave(self, **answer: Any) -> None:
        self.meter.look()
        answer["cpu_s"] = self.meter.taken_s
        Path(self.folder, _ANSWER_FILE).write_text(json.dumps(answer))


class Drain(Sink):
    """Takes tuples, looking at each."""

    def open(self, context: ps.TaskContext) -> None:
        super().open(context)
        self.started_ns = self.first_ns = self.taken = 0

    def process(self, tup: ps.Tuple) -> None:
        self.taken += 1
        if self.taken == 1:
            self.started_ns = tup.stamp_ns
            self.first_ns = time.monotonic_ns()
            self.meter.start()

    def finish(self) -> None:
        self.leave(
            started_ns=self.started_ns,
            first_ns=self.first_ns,
            finished_ns=time.monotonic_ns(),
            taken=self.taken,
        )


class Collect(Sink):
    """Notes how long each tuple took."""

    def open(self, context: ps.TaskContext) -> None:
        super().open(context)
        self.latencies: list[int] = []

    def process(self, tup: ps.Tuple) -> None:
        if not self.latencies:
            self.meter.start()
        self.latencies.append(time.monotonic_ns() - tup.stamp_ns)

    def finish(self) -> None:
        self.leave(latencies_ns=self.latencies)
