"""Latency of the chain of `bench overhead` at shares of what it can take at most."""

import msgspec

from bench.overhead.chain import Paced
from bench.overhead.topology import Topology
from bench.progress import Progress
from bench.rounds import interleaved
from bench.scale.plan import Plan
from bench.stats import Distribution, Spread

_WARM_UP_S = 1.0


class LoadRow(msgspec.Struct, frozen=True, kw_only=True):
    """One rate."""

    share: float
    rate_per_s: int
    p50_us: Spread
    p99_us: Spread
    p999_us: Spread
    max_us: Spread
    cpu_us_per_tuple: Spread


class Saturation(msgspec.Struct, frozen=True, kw_only=True):
    """What the chain can take, and how it does below that."""

    tuples_per_s: float
    rows: list[LoadRow]


def measure_load(plan: Plan, progress: Progress) -> Saturation:
    """The most first, by unthrottled runs; then each share of it, all of them in each round."""
    chain = Topology()
    floods = [chain.flood(plan.tuples) for _ in range(plan.rounds)]
    most_per_s = Spread.over(one.tuples / one.elapsed_s for one in floods).median
    seen: dict[float, list[tuple[Distribution, float]]] = {share: [] for share in plan.load_shares}
    for share, seconds in interleaved(progress, "load", plan.load_shares, [plan.load_s], plan.rounds):
        rate = max(1, int(share * most_per_s))
        paced = Paced(rate_per_s=rate, count=int(rate * seconds), warm_up=int(rate * _WARM_UP_S))
        latencies = chain.pace(paced)
        in_us = Distribution.of(value / 1e3 for value in latencies.latencies_ns)
        seen[share].append((in_us, latencies.cpu_us_per_tuple))
    return Saturation(
        tuples_per_s=most_per_s,
        rows=[
            LoadRow(
                share=share,
                rate_per_s=max(1, int(share * most_per_s)),
                p50_us=Spread.over(one.p50 for one, _ in rounds),
                p99_us=Spread.over(one.p99 for one, _ in rounds),
                p999_us=Spread.over(one.p999 for one, _ in rounds),
                max_us=Spread.over(one.highest for one, _ in rounds),
                cpu_us_per_tuple=Spread.over(cpu_us for _, cpu_us in rounds),
            )
            for share, rounds in seen.items()
        ],
    )
