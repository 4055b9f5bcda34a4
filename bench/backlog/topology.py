"""Hone's word count: sentences of 1 to 32 words are split on one node and counted on another, over a narrow link."""

import json
import random
import time
from collections import deque
from collections.abc import Iterator
from pathlib import Path
from typing import ClassVar

import msgspec

import penstock as ps
from penstock.plan.assignment import Assignment
from penstock.plan.schedulers.base import PlanRequest

SPOUTS, SPLITS, COUNTS = 2, 10, 10
MOST_WORDS = 32
GROUPINGS = ("shuffle", "partial key")
_VOCABULARY = 10_000


class Sentences(ps.Spout):
    """So many per second, at random moments. What is measured begins when one is due, not when somebody asks for it."""

    fields = ("sentence", "born_ns")

    def __init__(self, per_s: float, seconds: float) -> None:
        self.per_s = per_s / SPOUTS
        self.seconds = seconds

    def open(self, context: ps.TaskContext) -> None:
        self.dice = random.Random(context.index)
        self.start_ns = time.monotonic_ns()
        self.due_s = 0.0

    def next(self) -> list[tuple[str, int]] | None:
        now_s = (time.monotonic_ns() - self.start_ns) / 1e9
        due: list[tuple[str, int]] = []
        while self.due_s <= now_s:
            if self.due_s > self.seconds:
                if due:
                    break
                raise StopIteration
            due.append((self._sentence(), self.start_ns + round(self.due_s * 1e9)))
            self.due_s += self.dice.expovariate(self.per_s)
        return due or None

    def _sentence(self) -> str:
        # Most words are few words, as in any text.
        words = (int(_VOCABULARY ** self.dice.random()) for _ in range(self.dice.randint(1, MOST_WORDS)))
        return " ".join(f"word{word}" for word in words)


class Split(ps.Bolt):
    """Words of sentences, and which task has split them."""

    fields = ("word", "born_ns", "task")

    def open(self, context: ps.TaskContext) -> None:
        self.index = context.index

    def process(self, tup: ps.Tuple) -> Iterator[tuple[str, int, int]]:
        for word in tup.sentence.split():
            yield word, tup.born_ns, self.index


class Count(ps.Bolt):
    """Counts words, and notes how old each is. With partial keys, up to two tasks have a word."""

    fields = ()

    def __init__(self, folder: str) -> None:
        self.folder = folder

    def open(self, context: ps.TaskContext) -> None:
        self.index = context.index
        self.counts: dict[str, int] = {}
        self.noted: deque[tuple[int, int, int]] = deque()

    def process(self, tup: ps.Tuple) -> None:
        self.counts[tup.word] = self.counts.get(tup.word, 0) + 1
        self.noted.append((tup.task, tup.born_ns, time.monotonic_ns()))

    def finish(self) -> None:
        Path(self.folder, f"{self.index}.json").write_text(json.dumps([*self.noted]))


def split_count(grouping: str, per_s: float, seconds: float, folder: str) -> ps.Topology:
    """10 tasks of each, as in the paper, and fewer spouts: they are not what is measured."""
    topology = ps.Topology("split-count")
    sentences = topology.spout("sentences", Sentences(per_s, seconds), tasks=SPOUTS)
    words = topology.bolt("split", Split(), sentences.shuffle(), tasks=SPLITS)
    stream = words.shuffle() if grouping == "shuffle" else words.partial_key("word")
    topology.bolt("count", Count(folder), stream, tasks=COUNTS)
    return topology


class SplitHereCountThere(msgspec.Struct, frozen=True, kw_only=True):
    """The spout and the splits on all workers of one node, the counts on those of another."""

    name: ClassVar[str] = "split-here-count-there"

    def plan(self, request: PlanRequest) -> Assignment:
        """Dealt round-robin on each node."""
        here, there = sorted({slot.node for slot in request.slots})
        worker_of: dict[int, int] = {}
        for node, components in ((here, ("sentences", "split")), (there, ("count",))):
            workers = sorted(slot.worker for slot in request.slots if slot.node == node)
            for component in components:
                tasks = sorted(task.id for task in request.tasks if task.component == component)
                worker_of |= {task: workers[turn % len(workers)] for turn, task in enumerate(tasks)}
        return Assignment(number=request.next_number, worker_of=worker_of)
