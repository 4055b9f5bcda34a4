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


class Chain(Protocol):
    """Three processes, A to B to C; B makes a new tuple of each, C takes it."""

    name: str

    def absence(self) -> str | None:
        """Why it cannot be measured here, if so."""

    def flood_s(self, count: int) -> float:
        """Send so many tuples as fast as they go; the seconds from the first at A to the last at C."""

    def latencies_ns(self, paced: Paced) -> list[int]:
        """Send tuples at a rate; how long each took from A to C, without the warm-up."""
