"""How long a word takes from when its sentence was due until it is counted, under each guarantee, at a modest rate."""

import json
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import penstock as ps
from bench.stats import Distribution
from bench.wordcount.corpus import read_corpus, write_corpus
from penstock.flow.delivery import Delivery

_RATE_PER_S = 1_000
_WORKERS = 3


class PacedSentences(ps.Spout):
    """Sentences at a rate, each with the instant at which it was due: who is late does not get to move the start."""

    fields = ("line", "due_ns")

    def __init__(self, corpus: str, count: int) -> None:
        self.corpus = corpus
        self.count = count

    def open(self, context: ps.TaskContext) -> None:  # noqa: ARG002
        self.lines = read_corpus(Path(self.corpus))
        self.seek(0)

    def next(self) -> tuple[str, int] | None:
        if self.emitted >= self.count:
            raise StopIteration
        due_ns = self.origin_ns + self.emitted * 1_000_000_000 // _RATE_PER_S
        if time.monotonic_ns() < due_ns:
            return None
        self.emitted += 1
        return self.lines[self.emitted % len(self.lines)], due_ns

    def position(self) -> int:
        return self.emitted

    def seek(self, position: int) -> None:
        self.emitted = position
        self.origin_ns = time.monotonic_ns() - position * 1_000_000_000 // _RATE_PER_S


class Split(ps.Bolt):
    """Words of sentences."""

    fields = ("word", "due_ns")

    def process(self, tup: ps.Tuple) -> Iterator[tuple[str, int]]:
        for word in tup.line.split():
            yield word, tup.due_ns


class Count(ps.KeyedBolt):
    """Counts words, and how long they took."""

    fields = ()

    def __init__(self, folder: str) -> None:
        self.folder = folder

    def open(self, context: ps.TaskContext) -> None:
        self.index = context.index
        self.took_ns: list[int] = []

    def process(self, key: Any, tup: ps.Tuple) -> None:
        self.state[key] = self.state.get(key, 0) + 1
        self.took_ns.append(time.monotonic_ns() - tup.due_ns)

    def finish(self) -> None:
        Path(self.folder, f"took-{self.index}").write_text(json.dumps(self.took_ns))


def latency_ms(delivery: Delivery, seconds: float) -> Distribution:
    """Runs once, on the session that is active. The words of the first second do not count."""
    with tempfile.TemporaryDirectory(prefix="penstock-bench-") as folder:
        corpus = Path(folder, "corpus")
        write_corpus(corpus)
        topology = ps.Topology("paced")
        lines = topology.spout("lines", PacedSentences(str(corpus), int(seconds * _RATE_PER_S)))
        words = topology.bolt("split", Split(), lines.shuffle())
        topology.bolt("count", Count(folder), words.by("word"))
        checkpoint = str(Path(folder, "checkpoint")) if delivery == "exactly_once" else None
        ps.run(topology, workers=_WORKERS, delivery=delivery, checkpoint=checkpoint, epoch_every_s=1.0)
        took_ns = [ns for file in Path(folder).glob("took-*") for ns in json.loads(file.read_text())]
    return Distribution.of(ns / 1e6 for ns in took_ns[int(len(took_ns) / seconds) :])
