"""The queue of a task: arrivals in order, but for those of channels that have to wait for a marker on the others."""

from __future__ import annotations

from collections import Counter, deque

from penstock.worker.arrival import Arrival

__all__ = ["ArrivalQueue"]

Channel = tuple[int, int]
"""The edge and the source task."""


class ArrivalQueue:
    """Keeps each channel's order, always."""

    def __init__(self) -> None:
        self._ready: deque[Arrival] = deque()
        self._held: dict[Channel, list[Arrival]] = {}
        self._held_from: Counter[int] = Counter()  # tuples, by source task
        self.held_tuples = 0
        self.tuples = 0
        """All that wait, those that are held included."""

    def put(self, arrival: Arrival) -> None:
        """Puts an arrival at the end."""
        self._ready.append(arrival)
        self.tuples += len(arrival)

    def take(self) -> Arrival | None:
        """The next one that may be worked on. One of a channel that is held is put aside."""
        ready = self._ready
        while ready:
            arrival = ready.popleft()
            if self._held and (arrival.edge, arrival.source) in self._held:
                self._held[arrival.edge, arrival.source].append(arrival)
                self._held_from[arrival.source] += len(arrival)
                self.held_tuples += len(arrival)
                continue
            self.tuples -= len(arrival)
            return arrival
        return None

    def put_back(self, arrival: Arrival) -> None:
        """Puts back what is left of an arrival that was taken."""
        self._ready.appendleft(arrival)
        self.tuples += len(arrival)

    def take_more(self, first: Arrival, most_tuples: int) -> list[Arrival]:
        """What follows an arrival and can be worked on together with it: of the same edge, and of the same kind."""
        more: list[Arrival] = []
        left = most_tuples - len(first)
        ready = self._ready
        while ready and not self._held:
            following = ready[0]
            alike = following.edge == first.edge and (following.batch is None) == (first.batch is None)
            if not alike or following.marker is not None or len(following) > left:
                break
            left -= len(following)
            self.tuples -= len(following)
            more.append(ready.popleft())
        return more

    def hold(self, channel: Channel) -> None:
        """From now on, what comes on this channel waits."""
        self._held[channel] = []

    def release(self) -> None:
        """Nothing is held any more: what was goes before everything else."""
        waited = [arrival for channel in self._held.values() for arrival in channel]
        self._ready.extendleft(reversed(waited))
        self._held.clear()
        self._held_from.clear()
        self.held_tuples = 0

    @property
    def is_holding(self) -> bool:
        """Whether a channel waits for a marker on the others."""
        return bool(self._held)

    def __bool__(self) -> bool:
        """Whether there may be something to work on."""
        return bool(self._ready)

    @property
    def ready_tuples(self) -> int:
        """Those that wait and are not held. Who the task waits for must not be kept from sending its marker by them."""
        return self.tuples - self.held_tuples

    def overheld_sources(self, limit_tuples: int) -> set[int]:
        """The sources of which too much is held: what is counts against its own source only."""
        return {source for source, tuples in self._held_from.items() if tuples >= limit_tuples}
