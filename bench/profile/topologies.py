"""What is looked at. Each task leaves the id of its process in a folder, under the name of its component."""

import itertools
import os
import random
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import penstock as ps

USER_FILE = "bench/profile/topologies.py"
"""What stacks say of a frame of user code."""

_BODY = "x" * 80
_WORDS = 5_000
_WORDS_PER_LINE = 10
_LINES_AT_ONCE = 256


def leave_process(folder: str, component: str) -> None:
    """Says in which process a component runs."""
    Path(folder, component).write_text(str(os.getpid()))


class Lines(ps.Spout):
    """Lines of words, as fast as they go, for ever."""

    fields = ("line",)

    def __init__(self, folder: str) -> None:
        self.folder = folder

    def open(self, context: ps.TaskContext) -> None:  # noqa: ARG002
        leave_process(self.folder, "lines")
        chance = random.Random(7)
        words = [f"word{number}" for number in range(_WORDS)]
        weights = [1 / (number + 1) for number in range(_WORDS)]
        lines = [(" ".join(chance.choices(words, weights, k=_WORDS_PER_LINE)),) for _ in range(10_000)]
        self.lines = itertools.cycle(lines)

    def next(self) -> list[tuple[str]]:
        return list(itertools.islice(self.lines, _LINES_AT_ONCE))


class Split(ps.Bolt):
    """A tuple for each word."""

    fields = ("word",)

    def __init__(self, folder: str) -> None:
        self.folder = folder

    def open(self, context: ps.TaskContext) -> None:  # noqa: ARG002
        leave_process(self.folder, "split")

    def process(self, tup: ps.Tuple) -> Iterator[tuple[str]]:
        for word in tup.line.split():
            yield (word,)


class Count(ps.KeyedBolt):
    """How often each word came."""

    fields = ()

    def __init__(self, folder: str) -> None:
        self.folder = folder

    def open(self, context: ps.TaskContext) -> None:  # noqa: ARG002
        leave_process(self.folder, "count")

    def process(self, key: Any, tup: ps.Tuple) -> None:  # noqa: ARG002
        self.state[key] = self.state.get(key, 0) + 1


def word_count(folder: str) -> ps.Topology:
    """Unthrottled."""
    topology = ps.Topology("profile-words")
    words = topology.bolt("split", Split(folder), topology.spout("lines", Lines(folder)).shuffle(), helping=False)
    topology.bolt("count", Count(folder), words.by("word"))
    return topology


class Steady(ps.Spout):
    """A tuple whenever one is due, on its way before the next is waited for."""

    fields = ("n", "body")

    def __init__(self, folder: str, rate_per_s: int) -> None:
        self.folder = folder
        self.every_s = 1 / rate_per_s

    def open(self, context: ps.TaskContext) -> None:  # noqa: ARG002
        leave_process(self.folder, "spout")
        self.due_s = time.monotonic()
        self.number = 0
        self.just_emitted = False

    def next(self) -> tuple[int, str] | None:
        wait_s = self.due_s - time.monotonic()
        if wait_s > 0:
            if self.just_emitted:  # to sleep now would keep back what was emitted before
                self.just_emitted = False
                return None
            time.sleep(wait_s)
        self.just_emitted = True
        self.due_s += self.every_s
        self.number += 1
        return self.number, _BODY


class Pass(ps.Bolt):
    """Makes a new tuple of each."""

    fields = ("n", "body")

    def __init__(self, folder: str) -> None:
        self.folder = folder

    def open(self, context: ps.TaskContext) -> None:  # noqa: ARG002
        leave_process(self.folder, "bolt")

    def process(self, tup: ps.Tuple) -> tuple[int, str]:
        return tup.n, tup.body


class Take(ps.Bolt):
    """The end."""

    fields = ()

    def __init__(self, folder: str) -> None:
        self.folder = folder

    def open(self, context: ps.TaskContext) -> None:  # noqa: ARG002
        leave_process(self.folder, "sink")

    def process(self, tup: ps.Tuple) -> None:
        pass


def chain(folder: str, rate_per_s: int) -> ps.Topology:
    """A spout and two bolts, at a rate."""
    topology = ps.Topology("profile-chain")
    passed = topology.bolt("bolt", Pass(folder), topology.spout("spout", Steady(folder, rate_per_s)).shuffle())
    topology.bolt("sink", Take(folder), passed.shuffle())
    return topology
