"""SOL, the speed of light: a chain of bolts that pass small tuples on at a steady rate, to see what each hop costs.

The network-sensitive benchmark of the TurboStream paper (section VI-B): one spout, five bolts with five tasks each, and
about 5,000 tuples per second. Shows a topology that is built in a loop, and how to measure latency from end to end: a
`Rate` says with each tuple when it was due, and the last bolt compares that with its own clock.

    python examples/sol.py --seconds 10 --workers 3
    penstock run examples/sol.py --set bolts=2 --set per_second=1000
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from statistics import quantiles

import penstock as ps

MESSAGE = "x" * 100


def pass_on(tup: ps.Tuple) -> ps.Tuple:
    return tup


class Latency(ps.StatefulBolt):
    """Measures how long each tuple took since it was due, and sums that up when all have come."""

    fields = ("tuples", "p50_us", "p99_us")

    def open(self, context: ps.TaskContext) -> None:
        self.now_ns = context.now_ns
        self.latencies_us: list[float] = []

    def process(self, tup: ps.Tuple) -> None:
        self.latencies_us.append((self.now_ns() - tup.at_ns) / 1000)

    def finish(self) -> tuple[int, float, float] | None:
        if len(self.latencies_us) < 2:
            return None
        cuts = quantiles(self.latencies_us, n=100)
        return len(self.latencies_us), cuts[49], cuts[98]

    def snapshot(self) -> list[float]:
        return list(self.latencies_us)

    def restore(self, state: list[float]) -> None:
        self.latencies_us = list(state)


def topology(per_second: float = 5000.0, seconds: float = 5.0, bolts: int = 5, tasks: int = 5) -> ps.Topology:
    """Builds messages -> bolt1 -> ... -> latency -> measured."""
    topo = ps.Topology("sol")
    limit = round(per_second * seconds)
    stream = topo.spout("messages", ps.Rate(per_second, [MESSAGE], limit=limit, fields=("message",)))
    for number in range(1, bolts + 1):
        stream = topo.bolt(f"bolt{number}", pass_on, stream.shuffle(), tasks=tasks, fields=("message", "seq", "at_ns"))
    latency = topo.bolt("latency", Latency(), stream.to_one())
    topo.bolt("measured", ps.Collect(), latency.to_one())
    return topo


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description="Measures what hops between tasks cost.")
    parser.add_argument("--per-second", type=float, default=5000.0, help="tuples per second (default: %(default)s)")
    parser.add_argument("--seconds", type=float, default=5.0, help="for how long (default: %(default)s)")
    parser.add_argument("--bolts", type=int, default=5, help="bolts in the chain (default: %(default)s)")
    parser.add_argument("--tasks", type=int, default=5, help="tasks of each bolt (default: %(default)s)")
    parser.add_argument("--workers", type=int, help="worker processes (default: one per core)")
    options = parser.parse_args(arguments)

    topo = topology(options.per_second, options.seconds, options.bolts, options.tasks)
    summary = ps.run(topo, workers=options.workers)
    for tuples, p50_us, p99_us in summary.collected("measured"):
        print(f"{tuples:,} tuples through {options.bolts} bolts: p50 {p50_us:,.0f} µs, p99 {p99_us:,.0f} µs")


if __name__ == "__main__":
    main()
