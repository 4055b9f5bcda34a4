"""In which order the workers of a local cluster get their turns: one after the other, or as a seed has it."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import Protocol

__all__ = ["InTurn", "Shuffled", "Turns"]


class Turns(Protocol):
    """Says who is next."""

    def next_of(self, workers: Sequence[int]) -> int:
        """One of these workers, who are in ascending order and at least one."""


class InTurn:
    """The next higher number, then from the start again.

    >>> turns = InTurn()
    >>> [turns.next_of([0, 1, 2]) for _ in range(4)]
    [0, 1, 2, 0]
    """

    def __init__(self) -> None:
        self._last = -1

    def next_of(self, workers: Sequence[int]) -> int:
        """See Turns."""
        self._last = next((worker for worker in workers if worker > self._last), workers[0])
        return self._last


class Shuffled:
    """Anyone, again and again; the same seed gives the same order.

    >>> first, second = Shuffled(7), Shuffled(7)
    >>> [first.next_of([0, 1, 2]) for _ in range(9)] == [second.next_of([0, 1, 2]) for _ in range(9)]
    True
    """

    def __init__(self, seed: int) -> None:
        self._random = Random(seed)

    def next_of(self, workers: Sequence[int]) -> int:
        """See Turns."""
        return self._random.choice(workers)
