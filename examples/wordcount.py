"""Word count: lines are split into words, and words are counted by as many tasks as you like.

Shows a bounded source of text files, a stateless bolt, state by key, and a sink whose rows come back to the caller. The
text is the source code of Python's own library, which is there wherever Python is, or whatever --input finds:

    python examples/wordcount.py --workers 3
    python examples/wordcount.py --input 'texts/*.txt' --top 10
    penstock run examples/wordcount.py --workers 3
"""

from __future__ import annotations

import argparse
import re
import sysconfig
from collections.abc import Iterator, Sequence

import penstock as ps

PYTHON_LIBRARY = sysconfig.get_path("stdlib") + "/*.py"

_WORDS = re.compile(r"[a-z]+")


class Split(ps.Bolt):
    """From lines to words, in lower case."""

    fields = ("word",)

    def process(self, tup: ps.Tuple) -> Iterator[tuple[str]]:
        for word in _WORDS.findall(tup.line.lower()):
            yield (word,)


class Count(ps.KeyedBolt):
    """Counts each word, and says how often it came when all input has ended."""

    fields = ("word", "count")

    def process(self, key: str, tup: ps.Tuple) -> None:  # noqa: ARG002
        self.state[key] = self.state.get(key, 0) + 1

    def finish(self) -> Iterator[tuple[str, int]]:
        yield from self.state.items()


def topology(input: str = PYTHON_LIBRARY, tasks: int = 2) -> ps.Topology:
    """Builds lines -> split -> count -> totals."""
    topo = ps.Topology("wordcount")
    lines = topo.spout("lines", ps.TextFiles(input, errors="replace"))
    words = topo.bolt("split", Split(), lines.shuffle(), tasks=tasks)
    counts = topo.bolt("count", Count(), words.by("word"), tasks=tasks)
    topo.bolt("totals", ps.Collect(), counts.to_one())
    return topo


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description="Counts words.")
    parser.add_argument("--input", default=PYTHON_LIBRARY, help="a pattern of text files (default: Python's library)")
    parser.add_argument("--tasks", type=int, default=2, help="tasks of each bolt (default: %(default)s)")
    parser.add_argument("--workers", type=int, help="worker processes (default: one per core)")
    parser.add_argument("--top", type=int, default=20, help="how many words to show (default: %(default)s)")
    options = parser.parse_args(arguments)

    summary = ps.run(topology(options.input, options.tasks), workers=options.workers)
    totals = {row[0]: row[1] for row in summary.collected("totals")}
    for word in sorted(totals, key=lambda word: (-totals[word], word))[: options.top]:
        print(f"{totals[word]:>9,}  {word}")
    print(f"{sum(totals.values()):>9,}  words in all, {len(totals):,} different ones")


if __name__ == "__main__":
    main()
