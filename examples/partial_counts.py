"""Word count where one word is every fifth: two tasks share each word, and another bolt puts their counts together.

With `by("word")` the task of the most frequent word would have more to do than all others together. `partial_key` gives
each word two tasks, and each tuple goes to the one that has been sent less. So each of the two has a part of the count:
it says now and then by how much its part has grown, and the bolt behind it, which is grouped by the word, adds that up.
What passes between the two is one tuple per word and tick, not one per word that came:

    python examples/partial_counts.py --words 1000000 --tasks 4 --workers 3
    penstock run examples/partial_counts.py --set skew=1.5
"""

from __future__ import annotations

import argparse
import random
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import accumulate

import penstock as ps

DIFFERENT = 10_000
AT_ONCE = 50


class SkewedWords(ps.Spout):
    """Words whose frequencies follow Zipf's law: the n-th is n to the power of `skew` times rarer than the first."""

    fields = ("word",)

    def __init__(self, *, words: int, skew: float) -> None:
        self.words = words
        self.skew = skew

    def open(self, context: ps.TaskContext) -> None:
        self.chance = random.Random(context.index)
        self.weights = [*accumulate(1 / rank**self.skew for rank in range(1, DIFFERENT + 1))]
        self.left = len(range(context.index, self.words, context.count))

    def next(self) -> list[tuple[str]]:
        if self.left == 0:
            raise StopIteration
        count = min(AT_ONCE, self.left)
        self.left -= count
        return [(f"word{n}",) for n in self.chance.choices(range(DIFFERENT), cum_weights=self.weights, k=count)]


class PartialCount(ps.StatefulBolt):
    """Counts the words that reach this task, and says now and then by how much each count has grown."""

    fields = ("word", "more")
    tick_every_s = 0.2
    streams = {"work": ("task", "tuples")}

    def open(self, context: ps.TaskContext) -> None:
        self.index, self.tuples = context.index, 0
        self.grown: Counter[str] = Counter()

    def process(self, tup: ps.Tuple) -> None:
        self.grown[tup.word] += 1
        self.tuples += 1

    def tick(self) -> list[tuple[str, int]]:
        grown, self.grown = self.grown, Counter()
        return [*grown.items()]

    def finish(self) -> Iterator[tuple[str, int] | ps.Emit]:
        yield from self.tick()
        yield ps.Emit((self.index, self.tuples), stream="work")

    def snapshot(self) -> tuple[dict[str, int], int]:
        return dict(self.grown), self.tuples

    def restore(self, state: tuple[dict[str, int], int]) -> None:
        grown, self.tuples = state
        self.grown = Counter(grown)


class Merge(ps.KeyedBolt):
    """Adds up what the tasks before it say of a word."""

    fields = ("word", "count")

    def process(self, key: str, tup: ps.Tuple) -> None:
        self.state[key] = self.state.get(key, 0) + tup.more

    def finish(self) -> Iterator[tuple[str, int]]:
        yield from self.state.items()


def topology(words: int = 200_000, skew: float = 1.2, tasks: int = 4) -> ps.Topology:
    """Builds words -> partial -> merge -> totals, and what each task of `partial` had to do."""
    topo = ps.Topology("partial-counts")
    stream = topo.spout("words", SkewedWords(words=words, skew=skew), tasks=2)
    partial = topo.bolt("partial", PartialCount(), stream.partial_key("word"), tasks=tasks)
    totals = topo.bolt("merge", Merge(), partial.by("word"), tasks=2)
    topo.bolt("totals", ps.Collect(), totals.to_one())
    topo.bolt("work", ps.Collect(), partial.stream("work").to_one())
    return topo


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description="Counts words of which some are very frequent.")
    parser.add_argument("--words", type=int, default=200_000, help="how many (default: %(default)s)")
    parser.add_argument(
        "--skew", type=float, default=1.2, help="how uneven their frequencies are (default: %(default)s)"
    )
    parser.add_argument("--tasks", type=int, default=4, help="tasks that count (default: %(default)s)")
    parser.add_argument("--workers", type=int, help="worker processes (default: one per core)")
    options = parser.parse_args(arguments)

    summary = ps.run(topology(options.words, options.skew, options.tasks), workers=options.workers)
    totals = {row[0]: row[1] for row in summary.collected("totals")}
    for word in sorted(totals, key=lambda word: (-totals[word], word))[:10]:
        print(f"{totals[word]:>9,}  {word}")
    for task, tuples in sorted(tuple(row) for row in summary.collected("work")):
        print(f"task {task} counted {tuples:,}")


if __name__ == "__main__":
    main()
