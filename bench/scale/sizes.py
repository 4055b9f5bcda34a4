"""Unthrottled runs of one topology with more and more tasks, or workers: a spout, and bolts that it feeds by key."""

import tempfile
from typing import Any

import msgspec

import penstock as ps
from bench.progress import Progress
from bench.rounds import interleaved
from bench.scale.notes import ProcessNote, Taken, taken
from bench.scale.plan import Plan
from bench.stats import Spread

_KEYS = 10_000
_EMITTED_AT_ONCE = 256
_BODY = "x" * 80


class Source(ps.Spout):
    """So many tuples as fast as they go."""

    fields = ("key", "body")

    def __init__(self, folder: str, count: int) -> None:
        self.folder = folder
        self.count = count

    def open(self, context: ps.TaskContext) -> None:
        self.note = ProcessNote(self.folder, f"source-{context.index}")
        self.emitted = 0

    def next(self) -> list[tuple[int, str]]:
        first = self.emitted
        if first == self.count:
            self.note.leave()
            raise StopIteration
        self.emitted = min(self.count, first + _EMITTED_AT_ONCE)
        return [(number % _KEYS, _BODY) for number in range(first, self.emitted)]


class Keep(ps.KeyedBolt):
    """The smallest keyed bolt: counts."""

    fields = ()

    def __init__(self, folder: str) -> None:
        self.folder = folder

    def open(self, context: ps.TaskContext) -> None:
        self.note = ProcessNote(self.folder, f"keep-{context.index}")

    def process(self, key: Any, tup: ps.Tuple) -> None:  # noqa: ARG002
        self.state[key] = self.state.get(key, 0) + 1

    def finish(self) -> None:
        self.note.leave(sum(self.state.values()))


class Size(msgspec.Struct, frozen=True, kw_only=True):
    """Of a topology."""

    tasks: int
    workers: int

    def __str__(self) -> str:
        return f"{self.tasks} tasks on {self.workers} workers"


class SizeRow(msgspec.Struct, frozen=True, kw_only=True):
    """What a tuple took."""

    size: Size
    local_share: float
    """Of the tuples, how many stayed in the worker of the spout: with few tasks all go elsewhere, with many half."""
    cpu_us_per_tuple: Spread
    resident_mb_per_worker: Spread


def measure_sizes(plan: Plan, sizes: list[Size], stage: str, progress: Progress) -> list[SizeRow]:
    """All of them in each round."""
    seen: dict[Size, list[Taken]] = {size: [] for size in sizes}
    for size, tuples in interleaved(progress, stage, sizes, [plan.tuples], plan.rounds):
        seen[size].append(_run(size, tuples))
    return [
        SizeRow(
            size=size,
            local_share=rounds[-1].local_share,
            cpu_us_per_tuple=Spread.over(one.cpu_s * 1e6 / plan.tuples for one in rounds),
            resident_mb_per_worker=Spread.over(one.resident_mb_per_worker for one in rounds),
        )
        for size, rounds in seen.items()
    ]


def _run(size: Size, tuples: int) -> Taken:
    with tempfile.TemporaryDirectory(prefix="penstock-bench-") as folder:
        topology = ps.Topology("scale")
        source = topology.spout("source", Source(folder, tuples))
        topology.bolt("keep", Keep(folder), source.by("key"), tasks=size.tasks - 1)
        summary = ps.run(topology, workers=size.workers, delivery="at_most_once")
        (kept,) = (one.processed for one in summary.metrics.components if one.name == "keep")
        if kept != tuples:
            message = f"{size}: of {tuples:,} tuples {kept:,} arrived"
            raise ps.RunError(message)
        return taken(folder)
