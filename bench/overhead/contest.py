"""The chains that take part, and the rounds in which they are measured one after another."""

from collections.abc import Sequence

import msgspec

from bench.overhead.chain import Chain, ChainError, Flooded, Paced
from bench.progress import Progress
from bench.rounds import interleaved
from bench.stats import Distribution, Spread

_FIRST_FLOOD = 50_000


class LatencyRow(msgspec.Struct, frozen=True, kw_only=True):
    """How long tuples took through one chain at one rate."""

    chain: str
    rate_per_s: int
    mean_us: Spread
    p50_us: Spread
    p99_us: Spread
    p999_us: Spread
    max_us: Spread
    cpu_us_per_tuple: Spread
    """Of all three processes together."""


class ThroughputRow(msgspec.Struct, frozen=True, kw_only=True):
    """The unthrottled tuples of one chain."""

    chain: str
    tuples_per_s: Spread
    us_per_hop: Spread
    """What a tuple costs per hop in time that passes: there are two hops, which work at the same time."""
    cpu_us_per_tuple: Spread
    """Of all three processes together."""


class Contest:
    """Chains by name. Whoever is absent or fails is left out from then on, with the reason."""

    def __init__(self, chains: Sequence[Chain], progress: Progress) -> None:
        """Leave out those who say that they are absent."""
        absences = {chain.name: chain.absence() for chain in chains}
        self.left_out = {name: f"absent: {reason}" for name, reason in absences.items() if reason}
        self._chains = {chain.name: chain for chain in chains}
        self._progress = progress

    def throughput(self, names: Sequence[str], at_least_s: float, rounds: int) -> list[ThroughputRow]:
        """Unthrottled runs, each of so many tuples that it takes `at_least_s`."""
        counts = dict.fromkeys(names, _FIRST_FLOOD)
        measured: dict[str, list[Flooded]] = {}
        for name, _ in interleaved(self._progress, "throughput", names, ["unthrottled"], rounds):
            if name in self.left_out:
                continue
            try:
                while (run := self._chains[name].flood(counts[name])).elapsed_s < at_least_s:
                    counts[name] *= 4
            except ChainError as error:
                self.left_out[name] = f"failed unthrottled: {error}"
            else:
                measured.setdefault(name, []).append(run)
        return [
            ThroughputRow(
                chain=name,
                tuples_per_s=Spread.over(run.tuples / run.elapsed_s for run in runs),
                us_per_hop=Spread.over(1e6 * run.elapsed_s / run.tuples / 2 for run in runs),
                cpu_us_per_tuple=Spread.over(run.cpu_us_per_tuple for run in runs),
            )
            for name, runs in measured.items()
        ]

    def latency(self, names: Sequence[str], runs: Sequence[Paced], rounds: int) -> list[LatencyRow]:
        """Runs at a rate."""
        measured: dict[tuple[str, Paced], list[tuple[Distribution, float]]] = {}
        for name, paced in interleaved(self._progress, "latency", names, runs, rounds):
            if name in self.left_out:
                continue
            try:
                run = self._chains[name].pace(paced)
            except ChainError as error:
                self.left_out[name] = f"failed at {paced}: {error}"
            else:
                in_us = Distribution.of(ns / 1e3 for ns in run.latencies_ns)
                measured.setdefault((name, paced), []).append((in_us, run.cpu_us_per_tuple))
        return [
            LatencyRow(
                chain=name,
                rate_per_s=paced.rate_per_s,
                mean_us=Spread.over(in_us.mean for in_us, _ in results),
                p50_us=Spread.over(in_us.p50 for in_us, _ in results),
                p99_us=Spread.over(in_us.p99 for in_us, _ in results),
                p999_us=Spread.over(in_us.p999 for in_us, _ in results),
                max_us=Spread.over(in_us.highest for in_us, _ in results),
                cpu_us_per_tuple=Spread.over(cpu_us for _, cpu_us in results),
            )
            for (name, paced), results in measured.items()
        ]
