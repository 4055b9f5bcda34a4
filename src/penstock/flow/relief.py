"""Relief: what a task that is pressed has others do. Pure: events in, orders out.

    FLOWING ──high──▶ ASKED ──nobody helps, or overfull──▶ STOPPING
       ▲                │                                     │
       └──────low───────┴─────────────────low─────────────────┘

This is sections 4.1 and 4.2 of Leron. A task whose queue reaches the high mark asks the workers of the tasks that feed
it for help: that they do its work on what they would send it, and send on what comes of it. Only when nobody can are
they stopped. At the low mark everybody is relieved, helpers and stopped alike.

Where we differ, and why:

- Leron asks only if there is a bolt in the *same* container that could help, because nothing is known of the others,
  and to wait for word of them is called unrealistic. We ask each and get an answer: a message and its answer take less
  than a millisecond, and below the high mark there is as much room as above it. The own worker is not asked: its core
  is the one that is busy.
- Leron ends all help before it stops anybody. Here a helper goes on while others are stopped: what it does is done.
- Leron, like Heron, stops the spouts. Here those are stopped that feed the task; their own queues fill, and so it goes
  on, stage by stage, to the spouts that are upstream, which stop last. Others never hear of it.
- Leron gives up an LB when a helper is pressed itself. Here that helper alone withdraws.
- A task may be pressed only because those that it feeds have it stopped: it is *stalled*. Help would be no use to it,
  so it asks for none, and gives up what it has. Leron does not tell the two apart, and would have the whole chain above
  one slow bolt help each other, each of them unable to help the one that needs it.

Why everybody is relieved in the end: a task is pressed by what it could work on, so it runs, unless one that it feeds
has stopped it; and the last of that chain feeds nobody. Its queue falls, and at the low mark all are relieved who were
told anything. Who dies while it has others stopped stops nobody any more: they notice (see penstock.flow.helping).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from enum import IntEnum, StrEnum
from typing import NamedTuple

__all__ = ["Order", "Relief", "ReliefState", "Word", "culprits"]


class Word(IntEnum):
    """What the worker of a pressed task tells those of the tasks that feed it."""

    RELIEVED = 0
    """All is as before."""
    HELP = 1
    """Do my work on what you would send me, if you can. It is answered."""
    STOP = 2
    """Tasks that would send to me do not run."""


class ReliefState(StrEnum):
    """How it is with a task."""

    FLOWING = "flowing"
    """It keeps up."""
    ASKED = "asked"
    """It has asked for help, and has got it or may get it."""
    STOPPING = "stopping"
    """It has others stopped."""


class Order(NamedTuple):
    """What is to be told to a worker."""

    worker: int
    word: Word


class Relief:
    """Of one task. Each time that it is pressed is an episode: an answer to that of another is late."""

    def __init__(self) -> None:
        self.state = ReliefState.FLOWING
        self.episode = 0
        self.helping: set[int] = set()
        """The workers that have said yes."""
        self.stopped: set[int] = set()
        """The workers that were told to stop."""
        self._feeding: set[int] = set()
        self._askable: frozenset[int] = frozenset()
        self._awaited: set[int] = set()
        self._told: set[int] = set()

    def high(self, feeding: Collection[int], askable: Collection[int]) -> list[Order]:
        """The high mark is reached.

        Args:
            feeding: the workers of the tasks that feed this one, its own included where that has some.
            askable: those of them that could help for all that is known.
        """
        if self.state is not ReliefState.FLOWING:
            return []
        self.episode += 1
        self._feeding = {*feeding}
        self._askable = frozenset(askable) & self._feeding
        if not self._askable:
            return self._stop()
        self.state = ReliefState.ASKED
        self._awaited = {*self._askable}
        return self._tell(self._askable, Word.HELP)

    def overfull(self) -> list[Order]:
        """In spite of all help there is far too much: who does not help is stopped."""
        return self._stop() if self.state is ReliefState.ASKED else []

    def stalled(self) -> list[Order]:
        """It is stopped itself by others: help is no use, and who helps should rather help those."""
        if self.state is ReliefState.FLOWING or not (self._awaited or self.helping):
            return []
        self.helping.clear()
        return self._stop()

    def low(self) -> list[Order]:
        """The low mark is reached."""
        orders = self._tell(self._told, Word.RELIEVED)
        self.moved()
        return orders

    def answered(self, worker: int, episode: int, *, yes: bool) -> list[Order]:
        """A worker helps, or does not: because it cannot, or cannot any more."""
        if episode != self.episode or self.state is ReliefState.FLOWING:
            return []
        if yes:
            if worker in self._awaited and worker not in self.stopped:
                self.helping.add(worker)
            self._awaited.discard(worker)
            return []
        return self._without(worker)

    def lost(self, worker: int) -> list[Order]:
        """A worker is gone, and what it was told."""
        if self.state is ReliefState.FLOWING:
            return []
        self._feeding.discard(worker)
        self.stopped.discard(worker)
        self._told.discard(worker)
        return self._without(worker)

    def met(self, worker: int) -> list[Order]:
        """A worker that feeds the task, and has forgotten what it was told or never heard it: it is told again."""
        if self.state is ReliefState.FLOWING:
            return []
        self.helping.discard(worker)
        self.stopped.discard(worker)
        self._feeding.add(worker)
        if self.state is ReliefState.STOPPING:
            return self._stop()
        if worker not in self._askable:
            return []
        self._awaited.add(worker)
        return self._tell([worker], Word.HELP)

    def moved(self) -> None:
        """Another assignment holds, and everybody knows that nothing holds any more that was told before."""
        self.state = ReliefState.FLOWING
        for workers in (self.helping, self.stopped, self._feeding, self._awaited, self._told):
            workers.clear()

    def _without(self, worker: int) -> list[Order]:
        """A worker does not help, or does not do so any more."""
        self._awaited.discard(worker)
        self.helping.discard(worker)
        if self.state is ReliefState.STOPPING or not (self._awaited or self.helping):
            return self._stop()
        return []

    def _stop(self) -> list[Order]:
        """Stops all that feed it and do not help."""
        self.state = ReliefState.STOPPING
        self._awaited.clear()  # whoever says yes from now on was told to stop after it was asked
        to_stop = self._feeding - self.helping - self.stopped
        self.stopped |= to_stop
        return self._tell(to_stop, Word.STOP)

    def _tell(self, workers: Collection[int], word: Word) -> list[Order]:
        orders = [Order(worker, word) for worker in sorted(workers)]
        self._told.update(workers)
        return orders


def culprits(stopped_by: Mapping[int, Collection[int]]) -> dict[int, frozenset[int]]:
    """For each task that others have stopped, those that it waits for in the end: they stop others and run themselves.

    In a topology the last of every chain feeds nobody that could stop it. Reports of workers are of different moments,
    though, so what they say together may be a circle: then all of the circle is to blame.

    Args:
        stopped_by: by task, the tasks that have it stopped.

    >>> culprits({1: [2], 2: [3], 4: [3, 5]}) == {1: {3}, 2: {3}, 4: {3, 5}}
    True
    """
    waiting = {task: frozenset(by) for task, by in stopped_by.items() if by}
    found = {}
    for task in waiting:
        behind: set[int] = set()
        ahead = {*waiting[task]}
        while ahead:
            behind |= ahead
            ahead = {by for one in ahead for by in waiting.get(one, ())} - behind
        found[task] = frozenset(behind - waiting.keys()) or frozenset(behind)
    return found
