"""Frames that cannot be sent yet, to one other worker: in one line, or in a queue for each task that has sent them.

Whatever the policy, this holds for what goes over one carrier, and everything else in the worker may rely on it:

1. What a task has sent on its channels, markers included, leaves in the order in which it was sent. What is combined
   on its way, or broadcast, leaves in the order of its edge: there one source speaks for others.
2. Credit, news of trees, passed markers, what is told of a broadcast and all that is about who is too slow leave in the
   order in which they were sent among themselves, and before any tuples: who waits for them holds others up. They may
   overtake tuples, because they never speak of those: a tree is complete when all that was told of it adds up, in
   whatever order that comes, and a marker has passed a worker only when it has come to all its tasks, behind their
   tuples.
3. Everything else (a task that moves, who has switched, who has met whom) keeps its place: it leaves behind all that
   was sent before it, and before all that is sent after it.

         sent first                                                                   sent last
    ┌───────────────────────────────────────────────┐ ┌──────────┐ ┌──────────────────────────────┐
    │ first:  credit, news, passed, pressure …      │ │          │ │ first: ...                   │
    │ split:  task 3 ▒▒▒▒▒▒▒   task 4 ▒▒   task 5 ▒ │ │ SWITCHED │ │ split: task 3 ▒   task 5 ▒▒  │
    │ parse:  task 9 ▒▒▒                            │ │          │ │                              │
    └───────────────────────────────────────────────┘ └──────────┘ └──────────────────────────────┘
      a stretch: in here the policy decides             keeps its place

Frames of tuples that wait behind each other on one channel leave together (see bundles), at the place of the first.

Between operators it stays as it was: each frame has a place in the line, and that belongs to its operator. The policy
says which of the operator's tasks makes use of it. So an operator with one task here is left alone: its frames leave
when they would have.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Collection, Iterator, Mapping
from typing import NamedTuple, Protocol

from penstock.flow.backlog import Policy
from penstock.transport.frames import FrameKind
from penstock.transport.ring import Route
from penstock.worker.bundles import Bundle, Recount, WaitingFrame

__all__ = ["ByTask", "InOneLine", "WaitingFrames"]

_FIRST = frozenset(
    (
        FrameKind.CREDIT,
        FrameKind.NEWS,
        FrameKind.PASSED,
        FrameKind.GOT,
        FrameKind.PRESSURE,
        FrameKind.ANSWER,
        FrameKind.WANTED,
        FrameKind.OFFER,
        FrameKind.LOAN,
        FrameKind.REPAID,
    )
)
_OF_TASKS = frozenset(
    (FrameKind.TUPLES, FrameKind.BATCH, FrameKind.MARKER, FrameKind.COMBINED, FrameKind.CAST, FrameKind.TREE)
)


class WaitingFrames(Protocol):
    """What a carrier keeps."""

    def __len__(self) -> int: ...

    def add(self, frame: WaitingFrame, *, tried: bool = False) -> None:
        """Keeps a frame. If it was `tried`, part of it may have left, and it is the next."""

    def next(self, held: Collection[int] = (), *, anew: bool = False) -> WaitingFrame | None:
        """The frame to be sent next: the same as the last time if that has not gone, unless it is to be chosen `anew`.

        None if there is none but of operators that are `held` back.
        """

    def gone(self) -> None:
        """What was next has been sent."""

    def clear(self) -> int:
        """Forgets everything; returns how many tuples that was."""

    def backlogs(self) -> Iterator[tuple[int, int]]:
        """Operators, each with what one of its tasks has waiting, in tuples."""


class InOneLine:
    """First in, first out, whatever it is."""

    def __init__(self) -> None:
        self._line: deque[WaitingFrame] = deque()

    def __len__(self) -> int:
        return len(self._line)

    def add(self, frame: WaitingFrame, *, tried: bool = False) -> None:  # noqa: ARG002 # the next in any case
        """See WaitingFrames."""
        self._line.append(frame)

    def next(self, held: Collection[int] = (), *, anew: bool = False) -> WaitingFrame | None:  # noqa: ARG002
        """See WaitingFrames."""
        return self._line[0] if self._line else None

    def gone(self) -> None:
        """See WaitingFrames."""
        self._line.popleft()

    def clear(self) -> int:
        """See WaitingFrames."""
        tuples = sum(frame.tuples for frame in self._line)
        self._line.clear()
        return tuples

    def backlogs(self) -> Iterator[tuple[int, int]]:
        """See WaitingFrames. Nobody asks who has most."""
        return iter(())


class _OperatorQueues:
    """The queues of one operator's tasks, within a stretch."""

    def __init__(self) -> None:
        self.queues: dict[int, deque[tuple[int, Bundle]]] = {}
        self.backlog: dict[int, int] = {}
        self.since: dict[int, int] = {}
        self._newest: dict[tuple[int, int, int], Bundle] = {}
        """What was last put into the queue of each channel: its source, its target and its edge."""

    def add(self, queue: int, number: int, frame: WaitingFrame, recount: Recount) -> bool:
        """Puts a frame into a queue; whether it has a place of its own there."""
        channel = (frame.route.source, frame.route.target, frame.route.stream)
        newest = self._newest.get(channel)
        if newest is not None and newest.join(frame, recount):
            self.backlog[queue] += frame.tuples
            return False
        if queue not in self.queues:
            self.queues[queue], self.backlog[queue], self.since[queue] = deque(), 0, number
        bundle = self._newest[channel] = Bundle(frame)
        self.queues[queue].append((number, bundle))
        self.backlog[queue] += frame.tuples
        return True

    def pop(self, queue: int) -> None:
        """Takes the first of a queue away."""
        waiting = self.queues[queue]
        _, bundle = waiting.popleft()
        channel = (bundle.route.source, bundle.route.target, bundle.route.stream)
        if self._newest[channel] is bundle:
            del self._newest[channel]
        if waiting:
            self.backlog[queue] -= bundle.tuples
            self.since[queue] = waiting[0][0]
        else:
            del self.queues[queue], self.backlog[queue], self.since[queue]


class _Stretch:
    """What waits between two frames that keep their place."""

    def __init__(self) -> None:
        self.first: deque[WaitingFrame] = deque()
        self.turns: deque[int] = deque()
        """The operator of each frame of a task, in the order in which they came."""
        self.operators: dict[int, _OperatorQueues] = {}
        self.last: WaitingFrame | None = None
        """What keeps its place, behind all of this."""

    def frames(self) -> Iterator[WaitingFrame]:
        yield from self.first
        for operator in self.operators.values():
            for queue in operator.queues.values():
                yield from (bundle.frame for _, bundle in queue)
        if self.last is not None:
            yield self.last


class _Choice(NamedTuple):
    frame: WaitingFrame
    turn: int = -1
    """Which of the turns of the stretch it makes use of; -1 if it is no frame of a task."""
    operator: int = 0
    queue: int = 0


class ByTask:
    """A queue for each task.

    Args:
        place_of: the operator and the queue of a task's frame.
        policy: makes a policy for one operator.
        recount: where tuples are counted that have joined another frame.
        steady_ns: a clock that never goes back.
    """

    def __init__(
        self,
        *,
        place_of: Callable[[Route], tuple[int, int]],
        policy: Callable[[], Policy],
        recount: Recount,
        steady_ns: Callable[[], int],
    ) -> None:
        self._place_of = place_of
        self._recount = recount
        self._policy = policy
        self._steady_ns = steady_ns
        self._policies: dict[int, Policy] = {}
        self._stretches: deque[_Stretch] = deque((_Stretch(),))
        self._choice: _Choice | None = None
        self._count = 0
        self._numbers = 0

    def __len__(self) -> int:
        return self._count

    def add(self, frame: WaitingFrame, *, tried: bool = False) -> None:
        """See WaitingFrames."""
        stretch = self._stretches[-1]
        kind = frame.route.flags
        if kind in _OF_TASKS:
            operator, queue = self._place_of(frame.route)
            self._numbers += 1
            queues = stretch.operators.setdefault(operator, _OperatorQueues())
            if not queues.add(queue, self._numbers, frame, self._recount):
                return
            stretch.turns.append(operator)
        elif kind in _FIRST:
            stretch.first.append(frame)
        else:
            stretch.last = frame
            self._stretches.append(_Stretch())
        self._count += 1
        if tried:
            self.next()  # it is alone, so it is the one

    def next(self, held: Collection[int] = (), *, anew: bool = False) -> WaitingFrame | None:
        """See WaitingFrames."""
        if self._choice is None or anew:
            self._choice = self._choose(self._stretches[0], held, anew=anew)
        return None if self._choice is None else self._choice.frame

    def _choose(self, stretch: _Stretch, held: Collection[int], *, anew: bool) -> _Choice | None:
        if stretch.first:
            return _Choice(stretch.first[0])
        if not stretch.turns:
            return None if stretch.last is None else _Choice(stretch.last)
        turn = 0
        if held:
            turn = next((at for at, operator in enumerate(stretch.turns) if operator not in held), -1)
            if turn < 0:
                return None
        operator = stretch.turns[turn]
        queues = stretch.operators[operator]
        policy = self._policies.get(operator)
        if policy is None:
            policy = self._policies[operator] = self._policy()
        queue = policy.choose(queues.backlog, queues.since, self._steady_ns())
        _, bundle = queues.queues[queue][0]
        if not anew:
            bundle.seal()
        return _Choice(bundle.frame, turn, operator, queue)

    def gone(self) -> None:
        """See WaitingFrames."""
        choice, stretch = self._choice, self._stretches[0]
        assert choice is not None
        self._choice = None
        self._count -= 1
        if choice.turn >= 0:
            del stretch.turns[choice.turn]
            stretch.operators[choice.operator].pop(choice.queue)
        elif choice.frame is stretch.last:
            self._stretches.popleft()
        else:
            stretch.first.popleft()

    def clear(self) -> int:
        """See WaitingFrames."""
        tuples = sum(frame.tuples for stretch in self._stretches for frame in stretch.frames())
        self._stretches = deque((_Stretch(),))
        self._choice = None
        self._count = 0
        return tuples

    def backlogs(self) -> Iterator[tuple[int, int]]:
        """See WaitingFrames. Of the stretch whose turn it is: who moves tasks has other worries."""
        operators: Mapping[int, _OperatorQueues] = self._stretches[0].operators
        for operator, queues in operators.items():
            if queues.backlog:
                yield operator, max(queues.backlog.values())
