"""Giving turns to the workers of a cluster in one process, until nothing more happens or all have ended."""

from __future__ import annotations

from abc import ABC, abstractmethod

from penstock.errors import RunError
from penstock.testing.turns import Turns
from penstock.testing.virtual_clock import VirtualClock
from penstock.topology.topology import Topology
from penstock.worker.worker import Worker

__all__ = ["MOST_TURNS", "GivesTurns"]

MOST_TURNS = 200_000
"""At one instant. More than any test needs, unless one of its spouts has no end."""


class GivesTurns(ABC):
    """The part of a cluster that lets its workers work, and time pass."""

    clock: VirtualClock
    workers: dict[int, Worker]
    _topology: Topology
    _turns: Turns
    _epoch_at_ns: int

    def step(self, *, without: int | None = None) -> bool:
        """Gives one worker one turn, but not the one that is left out. Returns whether anything happened."""
        able = sorted(self.workers.keys() - {without})
        return bool(able) and self._turn(self._turns.next_of(able))

    def settle(self) -> None:
        """Gives turns until nothing more happens at this instant."""
        if self._wants_epochs and self.clock.now_ns() >= self._epoch_at_ns:
            self.begin_epoch()
        busy = set(self.workers)
        turns = 0
        while busy:
            turns += 1
            if turns > MOST_TURNS:
                message = (
                    f"topology {self._topology.name!r} is still busy after {MOST_TURNS} turns at one instant; does one "
                    f"of its spouts always have more? Not ended: {self._not_ended()}"
                )
                raise RunError(message)
            number = self._turns.next_of(sorted(busy))
            if self._turn(number):
                busy = set(self.workers)  # what one does may be work for any other
            else:
                busy.discard(number)

    def advance(self, seconds: float) -> None:
        """Lets time pass on the clock, and everything happen that is due in it."""
        self.clock.advance(seconds)

    def run_to_end(self, *, most_s: float = 3600.0) -> None:
        """Runs until all tasks have ended, letting as much time pass as that takes.

        Raises:
            RunError: it cannot end any more, or not within `most_s` seconds of virtual time.
        """
        self.settle()
        end_ns = self.clock.now_ns() + round(most_s * 1e9)
        while not self.ended:
            due_ns = self.clock.next_due_ns()
            if due_ns is None or due_ns > end_ns:
                why = f"not within {most_s} s" if due_ns is not None else "nothing more can happen"
                message = f"topology {self._topology.name!r} does not end: {why}; not ended: {self._not_ended()}"
                raise RunError(message)
            self.clock.advance((due_ns - self.clock.now_ns()) / 1e9)

    @property
    @abstractmethod
    def ended(self) -> bool:
        """Whether every task has ended."""

    @abstractmethod
    def begin_epoch(self) -> int:
        """Begins an epoch."""

    @property
    @abstractmethod
    def _wants_epochs(self) -> bool:
        """Whether markers are of use."""

    @abstractmethod
    def _turn(self, number: int) -> bool:
        """Gives a worker a turn; returns whether anything happened."""

    @abstractmethod
    def _not_ended(self) -> str:
        """The tasks that have not ended, for people."""
