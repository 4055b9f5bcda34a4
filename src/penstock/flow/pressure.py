"""Pressure: all that one worker decides about it, for its tasks and for those that they feed. Pure.

It has a `Relief` for each of its tasks that was ever pressed, and one `Helping` for all that its tasks feed. What is to
be told to others is posted; what concerns tasks of the worker itself goes the same way, without a message.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from typing import NamedTuple, Protocol

from penstock.flow.helping import Answer, Helping, Request
from penstock.flow.relief import Order, Relief, ReliefState, Word
from penstock.flow.spells import Spells

__all__ = ["Pressure", "Surroundings", "Told"]


class Surroundings(Protocol):
    """What a worker knows of the tasks around its own, under the assignment that holds."""

    @property
    def assignment(self) -> int:
        """Its number."""

    def feeding(self, task: int) -> Collection[int]:
        """The workers of the tasks that feed one here, which may be this one."""

    def askable(self, task: int) -> Collection[int]:
        """Those of them that could help it: not this one, and on an edge on which help is possible."""

    def help_edges(self, target: int) -> Collection[int]:
        """The edges from tasks here to a task on which they can help it."""

    def is_fed(self, target: int) -> bool:
        """Whether any task here feeds it."""


class Told(NamedTuple):
    """A word about a task, from the worker that runs it."""

    task: int
    word: Word
    episode: int


class Post(Protocol):
    """What carries words and answers to other workers: in order, or not at all where one of the two is dead."""

    def tell(self, worker: int, told: Told) -> None:
        """To the worker of a task that feeds a pressed one."""

    def answer(self, answer: Answer) -> None:
        """To the worker of the pressed task."""


class Pressure:
    """Of one worker.

    Args:
        worker: its number.
        surroundings: what feeds its tasks, and what they feed.
        helping: what it does for others.
        post: what carries words to other workers.
        now_ns: the time, for counting how long things last.
    """

    def __init__(
        self, *, worker: int, surroundings: Surroundings, helping: Helping, post: Post, now_ns: Callable[[], int]
    ) -> None:
        self._worker = worker
        self._around = surroundings
        self.helping = helping
        self._post = post
        self._now_ns = now_ns
        self.reliefs: dict[int, Relief] = {}
        """By task, of those that are pressed or were."""
        self._component_of: dict[int, str] = {}
        self.spells: Spells[tuple[int, ReliefState]] = Spells()
        """How long which task was in which state."""
        self._early: list[tuple[int, Told, int]] = []
        """Words of who has switched to another assignment before this worker."""
        self.changed = True
        """Whether stops or shares may be others than when it was last set to False."""

    # ---- tasks here

    def read(self, task: int, component: str, *, is_pressed: bool, is_overfull: bool, is_stalled: bool = False) -> None:
        """How it is with a task here; to be told of one that is pressed, or was when it was last told of.

        Args:
            task: the task.
            component: what it is a task of.
            is_pressed: whether its queue is above the marks.
            is_overfull: whether it is far above them.
            is_stalled: whether it could not work lately, because others have it stopped.
        """
        relief = self.reliefs.get(task)
        if relief is None:
            if not is_pressed:
                return
            relief = self.reliefs[task] = Relief()
            self._component_of[task] = component
        flowed = relief.state is ReliefState.FLOWING
        if not is_pressed:
            if not flowed:
                self.helping.own_relieved(component, task)
                self._carry_out(task, relief.low())
            return
        if is_stalled:
            self.helping.own_stalled(component, task)
        elif not self.helping.is_pressed(component, task):
            self._answer_all(self.helping.own_pressed(component, task))
        if flowed:
            askable = () if is_stalled else self._around.askable(task)
            self._carry_out(task, relief.high(self._around.feeding(task), askable))
        elif is_stalled:
            self._carry_out(task, relief.stalled())
        elif is_overfull:
            self._carry_out(task, relief.overfull())

    def gone(self, task: int) -> None:
        """A task is not here any more."""
        if task in self.reliefs:
            self.read(task, self._component_of[task], is_pressed=False, is_overfull=False)

    def is_pressed(self, task: int) -> bool:
        """Whether a task here is pressed, as far as was told."""
        relief = self.reliefs.get(task)
        return relief is not None and relief.state is not ReliefState.FLOWING

    def _carry_out(self, task: int, orders: Iterable[Order]) -> None:
        relief = self.reliefs[task]
        now_ns = self._now_ns()
        for state in (ReliefState.ASKED, ReliefState.STOPPING):
            if state is relief.state:
                self.spells.begin((task, state), now_ns)
            else:
                self.spells.end((task, state), now_ns)
        # Who has asked may be helped before it hears so: two stages in a row are never helped at a time.
        helped = relief.state is ReliefState.ASKED or bool(relief.helping)
        self.helping.own_helped(self._component_of[task], task, helped=helped)
        self.changed = True
        for worker, word in orders:
            told = Told(task, word, relief.episode)
            if worker == self._worker:
                self.heard(worker, told, self._around.assignment)
            else:
                self._post.tell(worker, told)

    # ---- tasks that these feed

    def heard(self, worker: int, told: Told, assignment: int) -> None:
        """The worker of a task has a word about it."""
        if assignment > self._around.assignment:
            self._early.append((worker, told, assignment))
        if assignment != self._around.assignment or not self._around.is_fed(told.task):
            return
        request = Request(worker, told.task, told.episode)
        edges = self._around.help_edges(told.task) if told.word is Word.HELP else ()
        self._answer_all(self.helping.heard(told.word, request, edges, self._now_ns()))
        self.changed = True

    def strained(self, edge: int, *, strained: bool) -> None:
        """Whether the helpers on an edge do not keep up."""
        if strained == self.helping.is_strained(edge):
            return
        self.changed = True
        if strained:
            self._answer_all(self.helping.strained(edge))
        else:
            self.helping.unstrained(edge)

    def _answer_all(self, answers: Iterable[Answer]) -> None:
        for answer in answers:
            self._post.answer(answer)

    def answered(self, worker: int, task: int, episode: int, *, yes: bool) -> None:
        """A worker helps a task here, or does not."""
        relief = self.reliefs.get(task)
        if relief is not None:
            self._carry_out(task, relief.answered(worker, episode, yes=yes))

    # ---- who comes and goes

    def lost(self, worker: int) -> None:
        """A worker is gone."""
        self.helping.lost(worker, self._now_ns())
        self._early = [early for early in self._early if early[0] != worker]
        self.changed = True
        for task, relief in self.reliefs.items():
            self._carry_out(task, relief.lost(worker))

    def met(self, worker: int) -> None:
        """A worker may not have heard what it was told, or has forgotten it: it is told again."""
        for task, relief in self.reliefs.items():
            if relief.state is not ReliefState.FLOWING and worker in self._around.feeding(task):
                self._carry_out(task, relief.met(worker))

    def moved(self) -> None:
        """Another assignment holds: all begins anew, but for what was learned."""
        self.helping.moved(self._now_ns())
        for task, relief in self.reliefs.items():
            relief.moved()
            self._carry_out(task, ())
        self.changed = True
        early, self._early = self._early, []
        for worker, told, assignment in early:
            self.heard(worker, told, assignment)
