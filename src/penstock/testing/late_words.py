"""What the controller says to workers, in a cluster in one process: it is heard some turns later, in order."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterable, Mapping
from typing import NamedTuple, TypeAlias

from penstock.control.peers import PeerLost
from penstock.control.protocol import BeginEpoch, BeginTrial, Committed
from penstock.plan.assignment import Assignment
from penstock.plan.tasks import Task
from penstock.worker.carriers import FrameWay
from penstock.worker.company import Colleague
from penstock.worker.deployment import Deployment
from penstock.worker.resume import SpoutProgress
from penstock.worker.worker import Worker

__all__ = ["Abandonment", "LateWords", "Meeting", "Preparation", "Switching", "TakingOver", "Word"]


class Meeting(NamedTuple):
    """Another process is a worker now, and this is the way to it."""

    colleague: Colleague
    way: FrameWay


class Preparation(NamedTuple):
    """Another assignment is to hold soon."""

    deployment: Deployment
    assignment: Assignment
    tasks: tuple[Task, ...]
    ways: Mapping[int, FrameWay]
    colleagues: tuple[Colleague, ...]


class Switching(NamedTuple):
    """It holds."""

    assignment: int


class Abandonment(NamedTuple):
    """It will not."""

    assignment: int


class TakingOver(NamedTuple):
    """An old place of a task is dead, so it goes on without what that had."""

    task: int
    worker: int
    progress: SpoutProgress | None


Word: TypeAlias = (
    BeginEpoch | BeginTrial | Committed | PeerLost | Meeting | Preparation | Switching | Abandonment | TakingOver
)

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

    def tell_soon(self, workers: Mapping[int, Worker], message: Word) -> None:
        """Each of these workers hears it at once, unless there is something that it has to hear before."""
        for number, worker in workers.items():
            if self._words[number]:
                self.tell([number], message)
            else:
                _hear(worker, message)

    def pass_turn(self, number: int, worker: Worker) -> int:
        """A worker has had a turn. Returns 0 if it has nothing to hear."""
        words = self._words[number]
        if not words:
            return 0
        words[0].turns -= 1
        if words[0].turns < 0:
            _hear(worker, words.popleft().message)
        return 1

    def died(self, number: int) -> None:
        """What a worker was told is not for who comes in its place."""
        self._words.pop(number, None)

    def forget(self) -> None:
        """Nobody hears any of it any more."""
        self._words.clear()


def _hear(worker: Worker, message: Word) -> None:
    match message:
        case Committed(epoch=epoch):
            worker.committed(epoch)
        case BeginTrial(task=task):
            worker.begin_trial(task)
        case PeerLost(worker=peer, generation=generation):
            worker.lose(peer, generation)
        case Meeting(colleague, way):
            worker.meet(colleague, way)
        case Preparation(deployment, assignment, tasks, ways, colleagues):
            deployment.prepare(assignment=assignment, tasks=tasks, ways=ways, colleagues=colleagues)
        case Switching(assignment):
            worker.moving.switch(assignment)
        case Abandonment(assignment):
            worker.moving.abandon(assignment)
        case TakingOver(task, peer, progress):
            worker.take_over(task, peer, progress)
        case BeginEpoch(epoch=epoch, committed=committed, last=last):
            worker.begin_epoch(epoch, committed, last=last)
