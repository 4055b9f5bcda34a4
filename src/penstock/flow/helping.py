"""Helping: the side of a worker whose tasks feed others that may be pressed. Pure: events in, answers and shares out.

On each edge out of its tasks, a worker may do a share of the target's work itself, in helpers beside its own tasks, and
send what comes of it to the stage after that: Leron's versatile bolts. The share on an edge is

    0     while a task here that the edge leads out of is helped itself, or the helpers cannot keep up
    1     while a target has asked for help, and was told yes
    r     else

r is what was learned, by equation (1) of section 4.3, with Δ settable (`step`):

    r += (1 - r) Δ    when a target asks for help        (there is not enough help)
    r -= r Δ          when a task here is pressed itself (there is too much)

So that after some episodes there are none: what a target cannot do is done here before it has to ask.

Who is asked says yes unless a task here that feeds the target is pressed or helped itself. One that is pressed because
it is stalled, as it is while the target has it stopped, has all the time in the world. One that has said yes and is
pressed later withdraws: it says no. So no two stages in a row are helped at a time, which Leron wants, too: else one
that is helped because it cannot keep up would spend its time on the work of others.

Where we differ: Leron has one r for all tasks of a bolt. Here each worker learns its own, for each edge: what a worker
can do beside its own tasks depends on what else is on its core. And helpers that fall behind count as pressure, because
a spout has no queue of its own that would tell that its worker has too much to do.

What was asked, and stops, hold until the target is relieved, its worker dies or another assignment holds.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Set
from typing import NamedTuple

from penstock.flow.relief import Word
from penstock.flow.spells import Spells

__all__ = ["MOST_RATIO", "Answer", "Helping", "Request"]

MOST_RATIO = 0.999
"""Something is always left to the target: else nobody would know what it can do."""


class Request(NamedTuple):
    """Who has a word for us."""

    worker: int
    target: int
    """The task that is pressed, or is no more."""
    episode: int


class Answer(NamedTuple):
    """What the worker of a pressed task is told."""

    worker: int
    target: int
    episode: int
    yes: bool


class _Held(NamedTuple):
    """A request that was granted, and the edges that the help is on."""

    request: Request
    edges: frozenset[int]


class Helping:
    """Of one worker.

    Args:
        source_of: the component that each edge leads out of.
        step: Δ, above 0 and below 1.
    """

    def __init__(self, source_of: Mapping[int, str], *, step: float) -> None:
        self._source_of = source_of
        self._step = step
        self.ratio: dict[int, float] = {}
        """r, by edge, where it was ever asked for."""
        self._granted: dict[int, _Held] = {}
        self._stops: dict[int, Request] = {}
        self.stop_spells: Spells[int] = Spells()
        """Which target has had tasks stopped here, and how long."""
        self._pressed: defaultdict[str, set[int]] = defaultdict(set)
        self._helped: defaultdict[str, set[int]] = defaultdict(set)
        self._strained: set[int] = set()

    # ---- what others say

    def heard(self, word: Word, request: Request, edges: Collection[int], now_ns: int) -> list[Answer]:
        """The worker of a task that is fed from here has a word.

        Args:
            word: what it says.
            request: who says it, and for which task.
            edges: those from here to the task on which help is possible.
            now_ns: the time.
        """
        target = request.target
        self._granted.pop(target, None)
        if word is Word.STOP:
            self._stops[target] = request
            self.stop_spells.begin(target, now_ns)
            return []
        self._end_stop(target, now_ns)
        if word is Word.RELIEVED:
            return []
        for edge in edges:
            ratio = self.ratio.get(edge, 0.0)
            self.ratio[edge] = min(MOST_RATIO, ratio + (1 - ratio) * self._step)
        free = frozenset(edge for edge in edges if self.is_free(edge))
        if free:
            self._granted[target] = _Held(request, free)
        return [Answer(request.worker, target, request.episode, yes=bool(free))]

    def lost(self, worker: int, now_ns: int) -> None:
        """A worker is gone, and nothing holds that it has said."""
        self._granted = {task: held for task, held in self._granted.items() if held.request.worker != worker}
        for target in [task for task, request in self._stops.items() if request.worker == worker]:
            self._end_stop(target, now_ns)

    def moved(self, now_ns: int) -> None:
        """Another assignment holds: nothing of before does, but for what was learned."""
        self._granted.clear()
        for target in [*self._stops]:
            self._end_stop(target, now_ns)
        self._pressed.clear()
        self._helped.clear()
        self._strained.clear()

    def _end_stop(self, target: int, now_ns: int) -> None:
        self._stops.pop(target, None)
        self.stop_spells.end(target, now_ns)

    # ---- what happens here

    def own_pressed(self, component: str, task: int) -> list[Answer]:
        """A task here is pressed: its component's tasks here help nobody who asks."""
        self._pressed[component].add(task)
        return self._too_much([edge for edge, source in self._source_of.items() if source == component])

    def is_pressed(self, component: str, task: int) -> bool:
        """Whether a task here is known to be pressed."""
        return task in self._pressed[component]

    def own_stalled(self, component: str, task: int) -> None:
        """A task here is pressed because those that it feeds have it stopped."""
        self._pressed[component].discard(task)

    def own_relieved(self, component: str, task: int) -> None:
        """It is pressed no more, and not helped either."""
        self._pressed[component].discard(task)
        self._helped[component].discard(task)

    def own_helped(self, component: str, task: int, *, helped: bool) -> None:
        """Somebody helps a task here that is pressed, or nobody does."""
        (self._helped[component].add if helped else self._helped[component].discard)(task)

    def strained(self, edge: int) -> list[Answer]:
        """The helpers on an edge do not keep up."""
        if edge in self._strained:
            return []
        self._strained.add(edge)
        return self._too_much([edge])

    def is_strained(self, edge: int) -> bool:
        """Whether they were last said not to."""
        return edge in self._strained

    def unstrained(self, edge: int) -> None:
        """They do again."""
        self._strained.discard(edge)

    def _too_much(self, edges: Iterable[int]) -> list[Answer]:
        """There is no time for help on these edges: less from now on, and none for those who have asked."""
        answers = []
        for edge in edges:
            if edge in self.ratio:
                self.ratio[edge] -= self.ratio[edge] * self._step
            for target, held in [*self._granted.items()]:
                if edge in held.edges:
                    left = held.edges - {edge}
                    if left:
                        self._granted[target] = _Held(held.request, left)
                        continue
                    del self._granted[target]
                    answers.append(Answer(held.request.worker, target, held.request.episode, yes=False))
        return answers

    # ---- what comes of it

    def is_free(self, edge: int) -> bool:
        """Whether who asks for help on an edge is told yes."""
        component = self._source_of[edge]
        return not (self._pressed[component] or self._helped[component] or edge in self._strained)

    def share(self, edge: int) -> float:
        """How much of what goes out on an edge is to be done here."""
        if self._helped[self._source_of[edge]] or edge in self._strained:
            return 0.0
        if self.is_granted(edge):
            return 1.0
        return self.ratio.get(edge, 0.0)

    def is_granted(self, edge: int) -> bool:
        """Whether a target has asked for help on an edge, and gets it."""
        return any(edge in held.edges for held in self._granted.values())

    @property
    def stopping(self) -> Set[int]:
        """The tasks that nobody here may send to."""
        return self._stops.keys()

    @property
    def granted(self) -> Set[int]:
        """The tasks that have asked for help, and get it."""
        return self._granted.keys()
