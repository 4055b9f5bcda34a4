"""Topologies that the tests run, here and on a cluster."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from penstock.connectors.collect import Collect
from penstock.connectors.lines import Lines
from penstock.connectors.rate import Rate
from penstock.spark.node import node_identity
from penstock.topology.bolts import Bolt, KeyedBolt
from penstock.topology.context import TaskContext
from penstock.topology.topology import Topology
from penstock.topology.tuples import Tuple
from tests.endless import End, NumbersUntilTold

SENTENCES = ["the quick brown fox jumps", "over the lazy dog", "the end"]


def words_of(times: int) -> dict[str, int]:
    """The right answer of `word_count`."""
    return counted_words(SENTENCES * times)


def sentence(number: int) -> str:
    return SENTENCES[number % len(SENTENCES)]


def counted_words(lines: list[str]) -> dict[str, int]:
    return dict(Counter(word for line in lines for word in line.split()))


class SentencesUntilTold(NumbersUntilTold):
    """The sentences, over and over, until it is told to end."""

    fields = ("line",)

    def next(self) -> Any:
        return [(sentence(number),) for (number,) in super().next()]


class Split(Bolt):
    fields = ("word",)

    def process(self, tup: Tuple) -> Iterator[tuple[str]]:
        for word in tup.line.split():
            yield (word,)


class Count(KeyedBolt):
    fields = ("word", "count")

    def process(self, key: Any, tup: Tuple) -> None:  # noqa: ARG002
        self.state[key] = self.state.get(key, 0) + 1

    def finish(self) -> Iterator[tuple[str, int]]:
        yield from self.state.items()


def word_count(times: int | End, *, tasks: int = 2) -> Topology:
    """All sentences so many times, or one after another until the test tells the end."""
    topo = Topology("wordcount")
    sentences = SentencesUntilTold(times) if isinstance(times, End) else Lines(SENTENCES * times)
    lines = topo.spout("lines", sentences)
    words = topo.bolt("split", Split(), lines.shuffle(), tasks=tasks)
    counts = topo.bolt("count", Count(), words.by("word"), tasks=tasks)
    topo.bolt("totals", Collect(), counts.shuffle())
    return topo


class Fussy(Bolt):
    """Raises for every tenth tuple."""

    fields = ("seq",)

    def process(self, tup: Tuple) -> tuple[int]:
        if tup.seq % 10 == 3:
            message = f"three is no number for me: {tup.seq}"
            raise ValueError(message)
        return (tup.seq,)


def fussy(count: int) -> Topology:
    topo = Topology("fussy")
    numbers = topo.spout("numbers", Rate(None, limit=count))
    passed = topo.bolt("fussy", Fussy(), numbers.shuffle(), tasks=2)
    topo.bolt("passed", Collect(), passed.shuffle())
    return topo


class Reluctant(Bolt):
    """Cannot be opened."""

    def open(self, context: TaskContext) -> None:
        message = f"no database for {context.component}"
        raise ConnectionRefusedError(message)

    def process(self, tup: Tuple) -> None:
        pass


def reluctant() -> Topology:
    topo = Topology("reluctant")
    numbers = topo.spout("numbers", Rate(10))
    topo.bolt("reluctant", Reluctant(), numbers.shuffle())
    return topo


class Pass(Bolt):
    """Passes on what it gets; leaves a note when it is closed in good order."""

    fields = ("seq",)

    def __init__(self, notes: Path | None = None) -> None:
        self.notes = notes

    def process(self, tup: Tuple) -> tuple[int]:
        return (tup.seq,)

    def close(self) -> None:
        if self.notes is not None:
            (self.notes / f"closed-{os.getpid()}").touch()


def endless(*, per_second: float = 500.0, notes: Path | None = None) -> Topology:
    topo = Topology("endless")
    numbers = topo.spout("numbers", Rate(per_second))
    passed = topo.bolt("pass", Pass(notes), numbers.shuffle(), tasks=2)
    topo.bolt("last", Collect(), passed.shuffle())
    return topo


class Witness(Bolt):
    """Tells, at the end, by what means its process talks with others."""

    fields = ("worker", "node", "rings", "peers")

    def open(self, context: TaskContext) -> None:
        self.context = context

    def process(self, tup: Tuple) -> None:
        pass

    def finish(self) -> Iterator[tuple[int, str, int, list[str]]]:
        yield self.context.worker, node_identity(), rings_mapped(), tcp_peers()


def witnesses(tasks: int) -> Topology:
    topo = Topology("witnesses")
    numbers = topo.spout("numbers", Rate(None, limit=1000))
    seen = topo.bolt("witness", Witness(), numbers.shuffle(), tasks=tasks)
    topo.bolt("testimony", Collect(), seen.to_one())
    return topo


class Contained(Bolt):
    """Tells, at the end, in which container of YARN its process is, and on which NodeManager."""

    fields = ("worker", "container", "node_manager")

    def open(self, context: TaskContext) -> None:
        self.context = context

    def process(self, tup: Tuple) -> None:
        pass

    def finish(self) -> Iterator[tuple[int, str, str]]:
        yield self.context.worker, os.environ["CONTAINER_ID"], os.environ["NM_PORT"]


def contained(tasks: int) -> Topology:
    topo = Topology("contained")
    seen = topo.bolt("contained", Contained(), topo.spout("numbers", Rate(None, limit=1000)).shuffle(), tasks=tasks)
    topo.bolt("containers", Collect(), seen.to_one())
    return topo


def rings_mapped() -> int:
    """How many rings this process has mapped: its own, and those of workers that it writes to."""
    maps = Path("/proc/self/maps").read_text().splitlines()
    return len({line.split()[4] for line in maps if "/memfd:" in line})


def tcp_peers() -> list[str]:
    """The addresses of machines that this process has open connections to."""
    own = set()
    for entry in Path("/proc/self/fd").iterdir():
        try:
            own.add(str(entry.readlink()))
        except FileNotFoundError:
            continue
    peers = set()
    for line in Path("/proc/self/net/tcp").read_text().splitlines()[1:]:
        fields = line.split()
        established = fields[3] == "01"
        if established and f"socket:[{fields[9]}]" in own:
            raw = bytes.fromhex(fields[2].partition(":")[0])
            peers.add(".".join(str(part) for part in reversed(raw)))
    return sorted(peers)
