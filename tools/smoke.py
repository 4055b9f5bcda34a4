"""The shortest proof that an installed wheel works: a word count in one process, through the native core, no Spark.

python tools/smoke.py
"""

from __future__ import annotations

from collections.abc import Iterator

import penstock as ps
from penstock import testing


def split(tup: ps.Tuple) -> Iterator[tuple[str]]:
    for word in tup.line.split():
        yield (word,)


class Count(ps.KeyedBolt):
    fields = ("word", "count")

    def process(self, key: str, tup: ps.Tuple) -> Iterator[tuple[str, int]]:  # noqa: ARG002
        n = self.state[key] = self.state.get(key, 0) + 1
        yield key, n


def main() -> None:
    topo = ps.Topology("smoke")
    lines = topo.spout("lines", ps.Lines(["to be or not to be"]))
    words = topo.bolt("split", split, lines.shuffle(), tasks=2, fields=("word",))
    counts = topo.bolt("count", Count(), words.by("word"), tasks=2)
    topo.bolt("totals", ps.Collect(), counts.to_one())
    totals = testing.run_topology(topo, workers=3).collected("totals")
    expected = {("to", 1), ("to", 2), ("be", 1), ("be", 2), ("or", 1), ("not", 1)}
    if {tuple(row) for row in totals} != expected:
        msg = f"penstock {ps.__version__} counts wrong: wanted {sorted(expected)}, got {totals}"
        raise SystemExit(msg)
    print(f"penstock {ps.__version__} works")


if __name__ == "__main__":
    main()
