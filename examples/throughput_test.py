"""The Throughput Test: large tuples, and bolts that do next to nothing. What is left is what the system itself takes.

One of the topologies of the T-Storm paper (section V), from Storm's own benchmarks. A spout makes random strings of 10
kB, an identity bolt passes them on, and a counter bolt counts them and emits its count each time. The paper has 5, 15
and 15 tasks; here it is a third of that. Shows a spout of your own, and a bolt that passes on what it is given:

    python examples/throughput_test.py --strings 100000 --workers 3
    penstock run examples/throughput_test.py --set size_bytes=100
"""

from __future__ import annotations

import argparse
import random
import string
from collections.abc import Iterator, Sequence

import penstock as ps


class RandomStrings(ps.Spout):
    """Emits random strings of one size, so many in all its tasks together."""

    fields = ("text",)

    def __init__(self, *, size_bytes: int, limit: int) -> None:
        self.size_bytes = size_bytes
        self.limit = limit

    def open(self, context: ps.TaskContext) -> None:
        chance = random.Random(context.index)
        letters = string.ascii_letters + string.digits
        # To make one takes longer than to send it: a few are made beforehand, and sent again and again.
        self.strings = ["".join(chance.choices(letters, k=self.size_bytes)) for _ in range(16)]
        self.left = len(range(context.index, self.limit, context.count))

    def next(self) -> tuple[str]:
        if self.left == 0:
            raise StopIteration
        self.left -= 1
        return (self.strings[self.left % len(self.strings)],)


def identity(tup: ps.Tuple) -> ps.Tuple:
    return tup


class Counter(ps.Bolt):
    """Emits how many tuples have come, each time that one comes."""

    fields = ("counter", "count")

    def open(self, context: ps.TaskContext) -> None:
        self.index, self.count = context.index, 0

    def process(self, tup: ps.Tuple) -> tuple[int, int]:  # noqa: ARG002
        self.count += 1
        return self.index, self.count


class Latest(ps.KeyedBolt):
    """Keeps the last count of each counter."""

    fields = ("counter", "count")

    def process(self, key: int, tup: ps.Tuple) -> None:
        self.state[key] = tup.count

    def finish(self) -> Iterator[tuple[int, int]]:
        yield from self.state.items()


def topology(size_bytes: int = 10_000, strings: int = 50_000, spouts: int = 2, tasks: int = 5) -> ps.Topology:
    """Builds strings -> identity -> counter -> latest -> totals."""
    topo = ps.Topology("throughput-test")
    texts = topo.spout("strings", RandomStrings(size_bytes=size_bytes, limit=strings), tasks=spouts)
    same = topo.bolt("identity", identity, texts.shuffle(), tasks=tasks, fields=("text",))
    counts = topo.bolt("counter", Counter(), same.shuffle(), tasks=tasks)
    latest = topo.bolt("latest", Latest(), counts.by("counter"))
    topo.bolt("totals", ps.Collect(), latest.to_one())
    return topo


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description="Passes large strings on and counts them.")
    parser.add_argument("--size-bytes", type=int, default=10_000, help="size of a string (default: %(default)s)")
    parser.add_argument("--strings", type=int, default=50_000, help="strings in all (default: %(default)s)")
    parser.add_argument("--tasks", type=int, default=5, help="tasks of each bolt (default: %(default)s)")
    parser.add_argument("--workers", type=int, help="worker processes (default: one per core)")
    options = parser.parse_args(arguments)

    topo = topology(size_bytes=options.size_bytes, strings=options.strings, tasks=options.tasks)
    summary = ps.run(topo, workers=options.workers)
    totals = sorted((counter, count) for counter, count in summary.collected("totals"))
    for counter, count in totals:
        print(f"counter {counter}: {count:,}")
    print(f"{sum(count for _, count in totals):,} strings of {options.size_bytes:,} bytes")


if __name__ == "__main__":
    main()
