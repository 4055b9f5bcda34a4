"""Exclamation: Storm's first example. Words pass two bolts, and each adds three exclamation marks.

Shows a source with a rate, a plain function as a bolt, and the same function used twice:

    python examples/exclamation.py
    python examples/exclamation.py --per-second 5000 --words 20000 --workers 3
    penstock run examples/exclamation.py --set words=100
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence

import penstock as ps

NAMES = ["nathan", "mike", "jackson", "golda", "bertels"]


def exclaim(tup: ps.Tuple) -> tuple[str]:
    return (tup.word + "!!!",)


def topology(per_second: float = 1000.0, words: int = 3000) -> ps.Topology:
    """Builds words -> exclaim1 -> exclaim2 -> exclaimed."""
    topo = ps.Topology("exclamation")
    spoken = topo.spout("words", ps.Rate(per_second, NAMES, limit=words, fields=("word",)))
    once = topo.bolt("exclaim1", exclaim, spoken.shuffle(), tasks=3, fields=("word",))
    twice = topo.bolt("exclaim2", exclaim, once.shuffle(), tasks=2, fields=("word",))
    topo.bolt("exclaimed", ps.Collect(), twice.to_one())
    return topo


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description="Adds exclamation marks to words.")
    parser.add_argument("--per-second", type=float, default=1000.0, help="words per second (default: %(default)s)")
    parser.add_argument("--words", type=int, default=3000, help="words in all (default: %(default)s)")
    parser.add_argument("--workers", type=int, help="worker processes (default: one per core)")
    options = parser.parse_args(arguments)

    summary = ps.run(topology(options.per_second, options.words), workers=options.workers)
    exclaimed = [word for (word,) in summary.collected("exclaimed")]
    print(", ".join(exclaimed[:10]), "…" if len(exclaimed) > 10 else "")
    print(f"{len(exclaimed):,} words")


if __name__ == "__main__":
    main()
