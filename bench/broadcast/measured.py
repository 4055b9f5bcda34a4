"""All that one run of the benchmark has measured."""

import msgspec

from bench.stats import Spread

RINGS = "rings"
TCP = "TCP"
"""How workers of one node reach each other. Between nodes it is TCP, always."""


class Cell(msgspec.Struct, frozen=True, kw_only=True):
    """What was measured together."""

    tasks: int
    size_bytes: int
    way: str
    algorithm: str


class LatencyRow(msgspec.Struct, frozen=True, kw_only=True):
    """Round trips of one message at a time."""

    cell: Cell
    p50_ms: Spread
    p90_ms: Spread
    reached_ms: Spread
    """Until the last task has it, without the answers; p50."""


class ThroughputRow(msgspec.Struct, frozen=True, kw_only=True):
    """Many messages under way."""

    cell: Cell
    messages_per_s: Spread


class Measured(msgspec.Struct, frozen=True, kw_only=True):
    """Over all rounds."""

    latency: list[LatencyRow]
    throughput: list[ThroughputRow]

    def latencies_ms(self) -> dict[Cell, float]:
        """Round trips, p50."""
        return {row.cell: row.p50_ms.median for row in self.latency}

    def rates_per_s(self) -> dict[Cell, float]:
        """Messages per second."""
        return {row.cell: row.messages_per_s.median for row in self.throughput}


def other_algorithm(cell: Cell, algorithm: str) -> Cell:
    """The same cell by another algorithm."""
    return msgspec.structs.replace(cell, algorithm=algorithm)


def other_way(cell: Cell, way: str) -> Cell:
    """The same cell by another way."""
    return msgspec.structs.replace(cell, way=way)
