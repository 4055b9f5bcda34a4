"""What every chain of three processes can do."""

from typing import Protocol

import msgspec


class ChainError(Exception):
    """A chain did not get its tuples through."""


class Paced(msgspec.Struct, frozen=True, kw_only=True):
    """So many tuples at a rate; the first of them only warm up."""

    rate_per_s: int
    count: int
    warm_up: int

    def __str__(self) -> str:
        return f"{self.rate_per_s:,} tuples/s"


class Flooded(msgspec.Struct, frozen=True, kw_only=True):
    """What came of an unthrottled run."""

    tuples: int
    elapsed_s: float
    """From the first tuple at A to the last at C."""
    cpu_us_per_tuple: float
    """User and system time of all three processes together."""


class Latencies(msgspec.Struct, frozen=True, kw_only=True):
    """What came of a run at a rate."""

    latencies_ns: list[int]
    """How long each tuple took from A to C, without the warm-up."""
    cpu_us_per_tuple: float
    """User and system time of all three processes together, over all tuples."""


class Chain(Protocol):
    """Three processes, A to B to C; B makes a new tuple of each, C takes it."""

    name: str
    processes: int = 3

    def absence(self) -> str | None:
        """Why it cannot be measured here, if so."""

    def flood(self, count: int) -> Flooded:
        """Send so many tuples as fast as they go."""

    def pace(self, paced: Paced) -> Latencies:
        """Send tuples at a rate."""
