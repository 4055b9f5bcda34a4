"""The chain at a rate for a long time, in slices: what grows or slows down shows as a drift."""

import json
import tempfile
import time
from pathlib import Path

import msgspec

import penstock as ps
from bench.cpu import CpuMeter
from bench.scale.notes import resident_mb
from bench.stats import percentile

_FIELDS = ("due_ns", "body")
_BODY = "x" * 80


class Steady(ps.Spout):
    """Tuples at a rate, for so long. Each carries when it was due."""

    fields = _FIELDS

    def __init__(self, rate_per_s: int, seconds: float) -> None:
        self.every_ns = 10**9 // rate_per_s
        self.count = int(seconds * rate_per_s)

    def open(self, context: ps.TaskContext) -> None:  # noqa: ARG002
        self.emitted = self.origin_ns = 0

    def next(self) -> list[tuple[int, str]] | None:
        if self.emitted == self.count:
            raise StopIteration
        now_ns = time.monotonic_ns()
        self.origin_ns = self.origin_ns or now_ns
        due = min(self.count, (now_ns - self.origin_ns) // self.every_ns + 1)
        if due == self.emitted:
            return None
        first, self.emitted = self.emitted, due
        return [(self.origin_ns + number * self.every_ns, _BODY) for number in range(first, due)]


class Pass(ps.Bolt):
    """Makes a new tuple of each."""

    fields = _FIELDS

    def process(self, tup: ps.Tuple) -> tuple[int, str]:
        return tup.due_ns, tup.body


class Slices(ps.Bolt):
    """Leaves behind the percentiles of each slice of time."""

    fields = ()

    def __init__(self, folder: str, slice_s: float) -> None:
        self.folder = folder
        self.slice_ns = int(slice_s * 1e9)

    def open(self, context: ps.TaskContext) -> None:  # noqa: ARG002
        self.late_ns: list[int] = []
        self.ends_ns = 0

    def process(self, tup: ps.Tuple) -> None:
        now_ns = time.monotonic_ns()
        self.ends_ns = self.ends_ns or now_ns + self.slice_ns
        if now_ns >= self.ends_ns:
            self.leave()
            self.ends_ns += self.slice_ns
        self.late_ns.append(now_ns - tup.due_ns)

    def leave(self) -> None:
        """This slice is over."""
        ordered, self.late_ns = sorted(self.late_ns), []
        if ordered:
            us = {"tuples": len(ordered), **{f"p{q}": percentile(ordered, q / 100) / 1e3 for q in (50, 99)}}
            file = Path(self.folder, f"slice-{time.monotonic_ns():020d}")
            file.with_suffix(".part").write_text(json.dumps(us))
            file.with_suffix(".part").replace(file)  # whoever looks finds it whole

    def finish(self) -> None:
        self.leave()


class SoakSlice(msgspec.Struct, frozen=True, kw_only=True):
    """One slice."""

    tuples: int
    p50_us: float
    p99_us: float
    cpu_us_per_tuple: float
    resident_mb: float
    """Of all workers."""


def soak(rate_per_s: int, seconds: float, slice_s: float) -> list[SoakSlice]:
    """One run. What the processes take is read from outside, once a slice; the last, which is cut off, is left out."""
    with tempfile.TemporaryDirectory(prefix="penstock-bench-") as folder:
        topology = ps.Topology("scale-soak")
        passed = topology.bolt("pass", Pass(), topology.spout("steady", Steady(rate_per_s, seconds)).shuffle())
        topology.bolt("slices", Slices(folder, slice_s), passed.shuffle())
        slices: list[SoakSlice] = []
        with ps.start(topology, workers=3, delivery="at_least_once") as run:

            def pids() -> list[int]:
                return [one.pid for one in run.status().workers if one.pid is not None]

            meter = CpuMeter(pids)
            meter.start()
            looked_s, taken_s = time.monotonic(), 0.0
            while run.wait(timeout_s=slice_s / 20) is None:
                left = _left(folder)[len(slices) :]
                if not left:
                    continue
                meter.look()
                now_s = time.monotonic()
                # By what has passed since the last look, which is not quite a slice ago.
                cpu_us = (meter.taken_s - taken_s) * 1e6 / ((now_s - looked_s) * rate_per_s)
                looked_s, taken_s = now_s, meter.taken_s
                resident = sum(map(resident_mb, pids()))
                slices += [
                    SoakSlice(
                        tuples=int(one["tuples"]),
                        p50_us=one["p50"],
                        p99_us=one["p99"],
                        cpu_us_per_tuple=cpu_us,
                        resident_mb=resident,
                    )
                    for one in left
                    if one["tuples"] > rate_per_s * slice_s / 2
                ]
        return slices


def _left(folder: str) -> list[dict[str, float]]:
    files = sorted(file for file in Path(folder).glob("slice-*") if not file.suffix)
    return [json.loads(file.read_text()) for file in files]
