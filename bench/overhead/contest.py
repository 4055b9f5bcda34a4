"""The chains that take part, and the rounds in which they are measured one after another."""

from collections.abc import Sequence

import msgspec

from bench.overhead.chain import Chain, ChainError, Paced
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


class ThroughputRow(msgspec.Struct, frozen=True, kw_only=True):
    """The unthrottled tuples of one chain."""

    chain: str
    tuples_per_s: Spread
    us_per_hop: Spread
    """What a tuple costs per hop in time that passes: there are two hops, which work at the same time."""


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
        measured: dict[str, list[float]] = {}
        for name, _ in interleaved(self._progress, "throughput", names, ["unthrottled"], rounds):
            if name in self.left_out:
                continue
            try:
                while (elapsed_s := self._chains[name].flood_s(counts[name])) < at_least_s:
                    counts[name] *= 4
            except ChainError as error:
                self.left_out[name] = f"failed unthrottled: {error}"
            else:
                measured.setdefault(name, []).append(counts[name] / elapsed_s)
        return [
            ThroughputRow(
                chain=name,
                tuples_per_s=Spread.over(rates),
                us_per_hop=Spread.over(1e6 / rate / 2 for rate in rates),
            )
            for name, rates in measured.items()
        ]

    def latency(self, names: Sequence[str], runs: Sequence[Paced], rounds: int) -> list[LatencyRow]:
        """Runs at a rate."""
        measured: dict[tuple[str, Paced], list[Distribution]] = {}
        for name, paced in interleaved(self._progress, "latency", names, runs, rounds):
            if name in self.left_out:
                continue
            try:
                latencies_ns = self._chains[name].latencies_ns(paced)
            except ChainError as error:
                self.left_out[name] = f"failed at {paced}: {error}"
            else:
                measured.setdefault((name, paced), []).append(Distribution.of(ns / 1e3 for ns in latencies_ns))
        return [
            LatencyRow(
                chain=name,
                rate_per_s=paced.rate_per_s,
                mean_us=Spread.over(run.mean for run in results),
                p50_us=Spread.over(run.p50 for run in results),
                p99_us=Spread.over(run.p99 for run in results),
            )
            for (name, paced), results in measured.items()
        ]
