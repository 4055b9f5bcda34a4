"""A fault every few seconds for a while, and every tuple checked."""

import random
import tempfile
import time
from collections import Counter
from typing import Any

import msgspec
import pyarrow.parquet as pq

import penstock as ps
from penstock.flow.delivery import Delivery
from penstock.testing.chaos import ProcessFaults

_RATE_PER_S = 2_000
_FAULT_EVERY_S = 4.0


class Numbers(ps.Spout):
    """Counts at a rate, to an end."""

    fields = ("n",)

    def __init__(self, count: int) -> None:
        self.count = count
        self.base = self.emitted = 0
        self.origin_s = 0.0

    def open(self, context: ps.TaskContext) -> None:  # noqa: ARG002
        self.seek(0)

    def next(self) -> list[tuple[int]] | None:
        due = min(self.count, self.base + int((time.monotonic() - self.origin_s) * _RATE_PER_S))
        if self.emitted >= self.count:
            raise StopIteration
        if due <= self.emitted:
            return None
        first, self.emitted = self.emitted, due
        return [(number,) for number in range(first, due)]

    def position(self) -> int:
        return self.emitted

    def seek(self, position: int) -> None:
        self.base = self.emitted = position
        self.origin_s = time.monotonic()


class Numbered(ps.KeyedBolt):
    """Numbers the tuples of each key."""

    fields = ("n", "key", "number")

    def process(self, key: Any, tup: ps.Tuple) -> tuple[int, int, int]:
        number = self.state[key] = self.state.get(key, 0) + 1
        return tup.n, key, number


class Soaked(msgspec.Struct, frozen=True, kw_only=True):
    """What became of it."""

    delivery: str
    seconds: float
    faults: int
    checked: int
    lost: int
    doubled: int
    seed: int


def soak(delivery: Delivery, seconds: float, seed: int) -> Soaked:
    """Kills and stops workers at random while numbers flow, then looks at every one of them."""
    chance = random.Random(seed)
    count = int(seconds * _RATE_PER_S)
    with tempfile.TemporaryDirectory(prefix="penstock-bench-") as folder:
        topology = ps.Topology("soak")
        numbers = topology.spout("numbers", Numbers(count))
        keyed = topology.bolt("key", lambda tup: (tup.n, tup.n % 1000), numbers.shuffle(), tasks=2, fields=("n", "key"))
        numbered = topology.bolt("number", Numbered(), keyed.by("key"), tasks=2)
        topology.bolt("files", ps.ParquetSink(f"{folder}/out", rows_per_file=1000), numbered.shuffle())
        checkpoint = f"{folder}/checkpoint" if delivery == "exactly_once" else None
        started_s = time.monotonic()
        with ps.start(
            topology,
            workers=3,
            delivery=delivery,
            checkpoint=checkpoint,
            epoch_every_s=0.5,
            max_restarts=100_000,
            detection_s=1.0,
            restart_after_s=2.0,
        ) as run:
            faults = ProcessFaults(run, seed=seed)
            while not run.wait(timeout_s=chance.uniform(0.5, 1.5) * _FAULT_EVERY_S):
                faults.strike()
        table = pq.read_table(f"{folder}/out")
    found = Counter(table["n"].to_pylist())
    doubled = sum(found.values()) - len(found)
    if delivery == "exactly_once":
        wanted = {(n % 1000, n // 1000 + 1) for n in range(count)}
        doubled += len(wanted ^ set(zip(table["key"].to_pylist(), table["number"].to_pylist(), strict=True)))
    return Soaked(
        delivery=delivery,
        seconds=time.monotonic() - started_s,
        faults=faults.count,
        checked=sum(found.values()),
        lost=count - len(found),
        doubled=doubled,
        seed=seed,
    )
