"""Tasks that feed another and are replaced by others, because their component is given another number of tasks.

Whoever they feed takes nothing of the new before the last of the old: so every key keeps its order.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import NamedTuple

from penstock.worker.alignment import Alignment
from penstock.worker.arrival import Arrival
from penstock.worker.laid_channels import LaidChannels

__all__ = ["Successions"]


class _Succession(NamedTuple):
    """The sources of an edge that are replaced by others."""

    edge: int
    old: frozenset[int]
    new: frozenset[int]
    assignment: int


class Successions:
    """Those among the tasks that feed one.

    Args:
        channels: its channels.
        alignment: the markers that have come on them.
    """

    def __init__(self, channels: LaidChannels, alignment: Alignment) -> None:
        self._channels = channels
        self._alignment = alignment
        self._expected: list[_Succession] = []

    def expect(self, edge: int, old: Collection[int], new: Collection[int], assignment: int) -> None:
        """Tasks will be replaced by others. What comes from those waits for the last of the old."""
        if old or new:
            self._expected.append(_Succession(edge, frozenset(old), frozenset(new), assignment))
            for source in new:
                self._channels.add((edge, source), assignment - 1)

    def abandon(self, assignment: int) -> None:
        """They will not, by this assignment. Of one before it, the last of the old may still be on their way."""
        for succession in [*self._expected]:
            if succession.assignment == assignment:
                self._expected.remove(succession)
                for source in succession.new:
                    self._channels.remove((succession.edge, source))

    def welcome(self) -> Iterator[Arrival]:
        """Of those whose predecessors have sent their last: what has come already."""
        for succession in [*self._expected]:
            edge, old, new, assignment = succession
            if self._channels.are_laid(assignment, ended=(), among=[(edge, source) for source in old]):
                self._expected.remove(succession)
                self._alignment.replace([(edge, source) for source in old], [(edge, source) for source in new])
                for source in old:
                    self._channels.remove((edge, source))
                for source in new:
                    yield from self._channels.switch((edge, source), assignment)
