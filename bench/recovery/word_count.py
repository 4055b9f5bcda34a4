"""Words per second under each guarantee: the topology of `bench wordcount`, everything else the same."""

import json
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import penstock as ps
from bench.wordcount.corpus import WORDS_PER_SENTENCE, read_corpus, write_corpus
from penstock.flow.delivery import Delivery

GUARANTEES: tuple[Delivery, ...] = ("at_most_once", "at_least_once", "exactly_once")
_AT_ONCE = 64
_WORKERS = 3


class Sentences(ps.Spout):
    """The corpus over and over; the first call notes when."""

    fields = ("line",)

    def __init__(self, corpus: str, count: int, folder: str) -> None:
        self.corpus = corpus
        self.count = count
        self.folder = folder

    def open(self, context: ps.TaskContext) -> None:  # noqa: ARG002
        self.lines = [(line,) for line in read_corpus(Path(self.corpus))]
        self.emitted = 0

    def next(self) -> list[tuple[str]]:
        if self.emitted == 0:
            Path(self.folder, "started").write_text(str(time.monotonic_ns()))
        if self.emitted >= self.count:
            raise StopIteration
        first = self.emitted % len(self.lines)
        batch = self.lines[first : first + _AT_ONCE]
        self.emitted += len(batch)
        return batch

    def position(self) -> int:
        return self.emitted

    def seek(self, position: int) -> None:
        self.emitted = position


class Split(ps.Bolt):
    """Words of sentences."""

    fields = ("word",)

    def process(self, tup: ps.Tuple) -> Iterator[tuple[str]]:
        for word in tup.line.split():
            yield (word,)


class Count(ps.KeyedBolt):
    """Counts words; at the end it notes when that was, and how many there were."""

    fields = ()

    def __init__(self, folder: str) -> None:
        self.folder = folder

    def open(self, context: ps.TaskContext) -> None:
        self.index = context.index

    def process(self, key: Any, tup: ps.Tuple) -> None:  # noqa: ARG002
        self.state[key] = self.state.get(key, 0) + 1

    def finish(self) -> None:
        answer = {"words": sum(self.state.values()), "finished_ns": time.monotonic_ns()}
        Path(self.folder, f"count-{self.index}").write_text(json.dumps(answer))


def words_per_s(delivery: Delivery, sentences: int) -> float:
    """Runs once, on the session that is active. The counts are checked."""
    with tempfile.TemporaryDirectory(prefix="penstock-bench-") as folder:
        corpus = Path(folder, "corpus")
        write_corpus(corpus)
        topology = ps.Topology("wordcount")
        lines = topology.spout("lines", Sentences(str(corpus), sentences, folder))
        words = topology.bolt("split", Split(), lines.shuffle())
        topology.bolt("count", Count(folder), words.by("word"))
        checkpoint = str(Path(folder, "checkpoint")) if delivery == "exactly_once" else None
        ps.run(topology, workers=_WORKERS, delivery=delivery, checkpoint=checkpoint, epoch_every_s=1.0)
        answers = [json.loads(file.read_text()) for file in Path(folder).glob("count-*")]
        counted, wanted = sum(answer["words"] for answer in answers), sentences * WORDS_PER_SENTENCE
        if counted != wanted:
            message = f"{delivery}: wanted {wanted} words, got {counted}"
            raise RuntimeError(message)
        started_ns = int(Path(folder, "started").read_text())
        finished_ns: int = max(answer["finished_ns"] for answer in answers)
        return wanted / (finished_ns - started_ns) * 1e9
