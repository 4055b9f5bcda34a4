"""What the controller says to workers, in a cluster in one process: it is heard some turns later, in order."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterable
from typing import NamedTuple, TypeAlias

from penstock.control.peers import PeerLost
from penstock.control.protocol import BeginEpoch, Committed
from penstock.worker.carriers import FrameWay
from penstock.worker.company import Colleague
from penstock.worker.worker import Worker

__all__ = ["LateWords", "Meeting"]


class Meeting(NamedTuple):
    """Another process is a worker now, and this is the way to it."""

    colleague: Colleague
    way: FrameWay


Word: TypeAlias = BeginEpoch | Committed | PeerLost | Meeting

HEARS_AFTER_TURNS = 3
"""How many of its own turns later than the one before each worker hears what it is told."""


class _Word:
    """What a worker hears after some more turns."""

    def __init__(self, turns: int, message: Word) -> None:
        self.turns = turns
        self.message = message


class LateWords:
    """Words travel beside the tuples, and not always faster: some workers meet a marker before they hear of it."""

    def __init__(self) -> None:
        self._words: dict[int, deque[_Word]] = defaultdict(deque)

    def tell(self, workers: Iterable[int], message: Word) -> None:
        """Each of these workers hears it, sooner or later."""
        for number in workers:
            self._words[number].append(_Word(HEARS_AFTER_TURNS * number, message))

    def pass_turn(self, number: int, worker: Worker) -> int:
        """A worker has had a turn. Returns 0 if it has nothing to hear."""
        words = self._words[number]
        if not words:
            return 0
        words[0].turns -= 1
        if words[0].turns < 0:
            message = words.popleft().message
            if isinstance(message, Committed):
                worker.committed(message.epoch)
            elif isinstance(message, PeerLost):
                worker.lose(message.worker, message.generation)
            elif isinstance(message, Meeting):
                worker.meet(*message)
            else:
                worker.begin_epoch(message.epoch, message.committed, last=message.last)
        return 1

    def died(self, number: int) -> None:
        """What a worker was told is not for who comes in its place."""
        self._words.pop(number, None)

    def forget(self) -> None:
        """Nobody hears any of it any more."""
        self._words.clear()
