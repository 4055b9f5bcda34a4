"""The workers of a run as one of them knows them: who shares a node with whom, and who can be counted on."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

__all__ = ["Colleague", "Company"]


class Colleague(NamedTuple):
    """A worker: where it is, and which process it is."""

    worker: int
    node: str
    generation: int = 1
    """Counts the processes that have been this worker, from 1."""


class Company:
    """Everybody, oneself included. Who is not known yet will be met."""

    def __init__(self, me: int, known: Iterable[Colleague]) -> None:
        self.me = me
        self.node_of: dict[int, str] = {}
        self.generation_of: dict[int, int] = {}
        self._ever_met: set[int] = set()
        self.silent: set[int] = set()
        """Those who may be stopped or cut off: nobody else should depend on them."""
        for colleague in known:
            self.met(colleague)

    def knows(self, worker: int) -> bool:
        """Whether this worker is there."""
        return worker in self.node_of

    def met(self, colleague: Colleague) -> bool:
        """Somebody came. Returns whether it is a process that we have not known."""
        worker = colleague.worker
        self._ever_met.add(worker)
        is_new = self.generation_of.get(worker) != colleague.generation
        self.node_of[worker] = colleague.node
        self.generation_of[worker] = colleague.generation
        if is_new:  # else it is as silent as before, whoever wants to meet it again
            self.silent.discard(worker)
        return is_new

    def has_met(self, worker: int) -> bool:
        """Whether this worker has been there, at any time."""
        return worker in self._ever_met

    def lost(self, worker: int) -> None:
        """Somebody is gone."""
        self.node_of.pop(worker, None)
        self.generation_of.pop(worker, None)
        self.silent.discard(worker)

    def heard_of(self, worker: int, *, silent: bool) -> None:
        """Somebody cannot be reached, or can be again."""
        if silent and worker in self.node_of:
            self.silent.add(worker)
        else:
            self.silent.discard(worker)
