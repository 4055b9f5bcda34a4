"""By which assignment each channel into a task is laid: so that what takes an old way and a new one keeps its order.

When the source or the target of a channel moves, the channel is laid anew. The last that goes the old way is a switch
marker. What comes the new way carries a higher number, may come sooner, and waits for the marker.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator

from penstock.worker.arrival import Arrival

__all__ = ["LaidChannels"]

Channel = tuple[int, int]
"""The edge and the source task."""


class LaidChannels:
    """All channels of one task.

    Args:
        channels: the channels.
        assignment: the number of the assignment by which the task is here.
    """

    def __init__(self, channels: Iterable[Channel], assignment: int) -> None:
        self._laid = dict.fromkeys(channels, assignment)
        self.sources = self._all_sources()
        """The tasks that they lead from."""
        self._ahead: dict[Channel, dict[int, list[Arrival]]] = {}
        self.tuples = 0
        """How many wait."""

    def __contains__(self, channel: Channel) -> bool:
        return channel in self._laid

    def __iter__(self) -> Iterator[Channel]:
        return iter(self._laid)

    def may_come(self, arrival: Arrival) -> bool:
        """Whether this may be worked on when its turn comes. Else it is kept here."""
        channel = (arrival.edge, arrival.source)
        if arrival.assignment <= self._laid[channel]:
            return True
        self._ahead.setdefault(channel, {}).setdefault(arrival.assignment, []).append(arrival)
        self.tuples += len(arrival)
        return False

    def is_laid(self, channel: Channel, assignment: int) -> bool:
        """Whether it is a channel, and what an assignment has routed may be worked on."""
        return assignment <= self._laid.get(channel, -1)

    def switch(self, channel: Channel, assignment: int) -> list[Arrival]:
        """A channel is laid anew; returns what has come that way already."""
        if assignment <= self._laid[channel]:
            return []
        self._laid[channel] = assignment
        ahead = self._ahead.get(channel, {})
        released = [arrival for number in sorted(ahead) if number <= assignment for arrival in ahead.pop(number)]
        self.tuples -= sum(map(len, released))
        return released

    def switch_all(self, source: int, assignment: int) -> list[Arrival]:
        """From this source no marker up to this assignment may come any more: whatever has come is welcome."""
        channels = [channel for channel in self._laid if channel[1] == source]
        return [arrival for channel in channels for arrival in self.switch(channel, assignment)]

    def are_laid(self, assignment: int, *, ended: Collection[Channel], among: Iterable[Channel]) -> bool:
        """Whether nothing more comes by an older assignment on these channels. On one that is no more, nothing does."""
        return all(self._laid.get(channel, assignment) >= assignment or channel in ended for channel in among)

    def add(self, channel: Channel, assignment: int) -> None:
        """Another task feeds this one."""
        self._laid.setdefault(channel, assignment)
        self.sources = self._all_sources()

    def remove(self, channel: Channel) -> None:
        """A task that fed this one is gone, or will not come."""
        self._laid.pop(channel, None)
        self._ahead.pop(channel, None)
        self.sources = self._all_sources()

    def _all_sources(self) -> frozenset[int]:
        return frozenset(source for _, source in self._laid)
