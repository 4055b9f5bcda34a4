"""Leron's chain: a bolt with two tasks feeds one with a single task, which cannot keep up, and so is helped by it.

The topology of the Leron paper (section 6.2 and figure 4). A spout makes random words that may contain '!', "compute"
counts the '!' and stands for a model that is asked for each tuple, and "exclam1" and "exclam2" each append some '!'.
With two tasks of "compute" and one of each "exclam", "exclam1" is the narrow place: whoever is upstream of it does a
part of its work, and has to wait if that is not enough (docs/flow.md). No word may be lost over that, or leave out a
bolt, which the last one checks.

    python examples/leron_chain.py --words 200000 --workers 3
    penstock run examples/leron_chain.py --set words=10000
"""

from __future__ import annotations

import argparse
import random
from collections.abc import Iterator, Sequence

import penstock as ps

LETTERS = "abcdefghijklmnopqrstuvwxyz!!!"
LENGTH = 20
MARKS = "!!!"


def random_word(number: int) -> str:
    return "".join(random.Random(number).choices(LETTERS, k=LENGTH))


class Compute(ps.Bolt):
    """Counts the '!' of a word, the slow way."""

    fields = ("word", "marks")

    def __init__(self, rounds: int) -> None:
        self.rounds = rounds

    def process(self, tup: ps.Tuple) -> tuple[str, int]:
        marks = 0
        for _ in range(self.rounds):
            marks = sum(letter == "!" for letter in tup.word)
        return tup.word, marks


class Exclaim(ps.Bolt):
    """Appends '!' to a word."""

    fields = ("word", "marks")

    def process(self, tup: ps.Tuple) -> tuple[str, int]:
        return tup.word + MARKS, tup.marks + len(MARKS)


class Check(ps.Bolt):
    """Whether every word has as many '!' as was counted on its way, and has been to both "exclam" bolts."""

    fields = ("words", "wrong")

    def open(self, context: ps.TaskContext) -> None:  # noqa: ARG002
        self.words = self.wrong = 0

    def process(self, tup: ps.Tuple) -> None:
        self.words += 1
        self.wrong += tup.word.count("!") != tup.marks or len(tup.word) != LENGTH + 2 * len(MARKS)

    def finish(self) -> Iterator[tuple[int, int]]:
        yield self.words, self.wrong


def topology(words: int = 50_000, rounds: int = 5) -> ps.Topology:
    """Builds word -> compute -> exclam1 -> exclam2 -> check -> checked."""
    topo = ps.Topology("leron-chain")
    spoken = topo.spout("word", ps.Rate(None, random_word, limit=words, fields=("word",)))
    computed = topo.bolt("compute", Compute(rounds), spoken.shuffle(), tasks=2)
    once = topo.bolt("exclam1", Exclaim(), computed.shuffle())
    twice = topo.bolt("exclam2", Exclaim(), once.shuffle())
    topo.bolt("checked", ps.Collect(), topo.bolt("check", Check(), twice.to_one()).to_one())
    return topo


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description="A chain with a narrow place.")
    parser.add_argument("--words", type=int, default=50_000, help="words in all (default: %(default)s)")
    parser.add_argument("--rounds", type=int, default=5, help="how hard compute works (default: %(default)s)")
    parser.add_argument("--workers", type=int, help="worker processes (default: one per core)")
    options = parser.parse_args(arguments)

    summary = ps.run(topology(options.words, options.rounds), workers=options.workers)
    for words, wrong in summary.collected("checked"):
        print(f"{words:>9,}  words at the end, {wrong:,} of them wrong")


if __name__ == "__main__":
    main()
