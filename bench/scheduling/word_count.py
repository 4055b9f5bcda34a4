"""T-Storm's Word Count: lines of a text, split, counted by word, and the counts kept."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import penstock as ps
from bench.scheduling.last_value import LastValue
from bench.scheduling.paced import PacedSpout
from bench.wordcount.corpus import read_corpus, write_corpus

SPOUTS, BOLTS = 2, 5
_SENTENCES = 2_000
_CORPUS = "corpus"


class Lines(PacedSpout):
    """The lines of a file over and over. The paper's book is replaced by words of the same kind of distribution."""

    fields = ("line",)

    def open(self, context: ps.TaskContext) -> None:
        super().open(context)
        self.lines = read_corpus(Path(self.tap_file).with_name(_CORPUS))

    def tuple_at(self, number: int) -> tuple[str]:
        return (self.lines[(SPOUTS * number + self.index) % len(self.lines)],)


class Split(ps.Bolt):
    """Words of lines."""

    fields = ("word",)

    def process(self, tup: ps.Tuple) -> Iterator[tuple[str]]:
        for word in tup.line.split():
            yield (word,)


class Count(ps.KeyedBolt):
    """Counts words."""

    fields = ("word", "count")

    def process(self, key: Any, tup: ps.Tuple) -> tuple[str, int]:  # noqa: ARG002
        count = self.state[key] = self.state.get(key, 0) + 1
        return key, count


def word_count(tap_file: str, limit: int | None = None) -> ps.Topology:
    """2 + 5 + 5 + 5 tasks, as in the paper."""
    write_corpus(Path(tap_file).with_name(_CORPUS), _SENTENCES)
    topology = ps.Topology("word-count")
    lines = topology.spout("lines", Lines(tap_file, limit), tasks=SPOUTS)
    words = topology.bolt("split", Split(), lines.shuffle(), tasks=BOLTS)
    counts = topology.bolt("count", Count(), words.by("word"), tasks=BOLTS)
    topology.bolt("sink", LastValue(), counts.by("word"), tasks=BOLTS)
    return topology
