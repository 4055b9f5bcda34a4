"""The transports that take part, and the rounds in which they are measured one after another."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from types import TracebackType
from typing import Self, TypeVar

import msgspec

from bench.ipc.control import EndError
from bench.ipc.pair import Paced, Pair
from bench.ipc.plan import size_text
from bench.ipc.transport import Transport
from bench.progress import Progress
from bench.stats import Distribution, Spread

Measured = TypeVar("Measured")
Item = TypeVar("Item")


class LatencyRow(msgspec.Struct, frozen=True, kw_only=True):
    """The latency of one transport for messages of one size at one rate."""

    transport: str
    size_bytes: int
    rate_per_s: int
    mean_us: Spread
    p50_us: Spread
    p99_us: Spread
    saturated: bool


class ThroughputRow(msgspec.Struct, frozen=True, kw_only=True):
    """The unthrottled messages of one size that one transport passes."""

    transport: str
    size_bytes: int
    messages_per_s: Spread


class Contest:
    """Open pairs by name. Whoever is absent or fails is left out from then on, with the reason."""

    def __init__(self, transports: Mapping[str, Transport], progress: Progress) -> None:
        """Start the processes of each transport and warm them up."""
        self.left_out: dict[str, str] = {}
        self._pairs: dict[str, Pair] = {}
        self._progress = progress
        with ExitStack() as undo, progress.stage("starting", len(transports)) as step:
            undo.callback(self.close)
            for name, transport in transports.items():
                step(name)
                if reason := transport.absence():
                    self._leave_out(name, f"absent: {reason}")
                    continue
                try:
                    self._pairs[name] = transport.open()
                    self._pairs[name].warm_up()
                except EndError as error:
                    self._leave_out(name, f"failed to start: {error}")
            undo.pop_all()

    def __enter__(self) -> Self:
        """Use until the end of the block."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """End all processes."""
        self.close()

    def close(self) -> None:
        """End all processes."""
        while self._pairs:
            _, pair = self._pairs.popitem()
            pair.close()

    def latency(self, cells: Sequence[Paced], rounds: int, without: str = "") -> list[LatencyRow]:
        """Paced runs: for each round and cell, all transports (but one, if named) one after another."""
        results = self._interleaved(
            "latency",
            [name for name in self._pairs if name != without],
            cells,
            rounds,
            lambda pair, cell: pair.latencies(cell),
            lambda cell: f"{size_text(cell.size_bytes)} at {cell.rate_per_s:,}/s",
        )
        rows = []
        for (name, cell), runs in results.items():
            in_us = [Distribution.of(ns / 1e3 for ns in run.latencies_ns) for run in runs]
            rows.append(
                LatencyRow(
                    transport=name,
                    size_bytes=cell.size_bytes,
                    rate_per_s=cell.rate_per_s,
                    mean_us=Spread.over(run.mean for run in in_us),
                    p50_us=Spread.over(run.p50 for run in in_us),
                    p99_us=Spread.over(run.p99 for run in in_us),
                    saturated=2 * sum(run.saturated for run in runs) > len(runs),
                )
            )
        return rows

    def throughput(self, sizes_bytes: Sequence[int], at_least_s: float, rounds: int) -> list[ThroughputRow]:
        """Unthrottled runs: for each round and size, all transports one after another."""
        results = self._interleaved(
            "throughput",
            list(self._pairs),
            sizes_bytes,
            rounds,
            lambda pair, size: pair.throughput_per_s(size, at_least_s),
            size_text,
        )
        return [
            ThroughputRow(transport=name, size_bytes=size, messages_per_s=Spread.over(rates))
            for (name, size), rates in results.items()
        ]

    def _leave_out(self, name: str, reason: str) -> None:
        """At once: a process that hangs may well be spinning, at the expense of those measured next."""
        self.left_out[name] = reason
        if pair := self._pairs.pop(name, None):
            pair.close()

    def _interleaved(
        self,
        stage: str,
        names: Sequence[str],
        items: Sequence[Item],
        rounds: int,
        measure: Callable[[Pair, Item], Measured],
        text: Callable[[Item], str],
    ) -> dict[tuple[str, Item], list[Measured]]:
        results: dict[tuple[str, Item], list[Measured]] = {}
        with self._progress.stage(stage, rounds * len(items) * len(names)) as step:
            for turn in range(rounds):
                for item in items:
                    for name in _rotated(names, turn):
                        step(f"{name}, {text(item)}, round {turn + 1} of {rounds}")
                        if name not in self._pairs:
                            continue
                        try:
                            measured = measure(self._pairs[name], item)
                        except EndError as error:
                            self._leave_out(name, f"failed at {text(item)}: {error}")
                        else:
                            results.setdefault((name, item), []).append(measured)
        return {(name, item): results[name, item] for name in names for item in items if (name, item) in results}


def _rotated(items: Sequence[Item], places: int) -> Sequence[Item]:
    """Another one goes first in each round, so that no transport always follows the same one."""
    shift = places % max(1, len(items))
    return (*items[shift:], *items[:shift])
