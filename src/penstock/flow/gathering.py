"""Gathering: the answers of all tasks to one question, put together. Pure.

Answers belong together if they have the same key and, where trees are tracked, the same root: a question that is asked
again because its tree failed is another one, so what is left of the first try never mixes with the second.

What is missing may never come. There are three ways to know:

    a marker is there, and all that was sent before it, and nothing of what was sent after it: then all that is left is
    given up. So it is where channels are held until all have sent the marker (exactly once).

    trees up to some roots began before a marker, so that all that came of them has arrived: then what is left of those
    trees is given up, and nothing else. So it is where channels are not held (at least once): there, answers to later
    questions may be here before the marker is.

    it has been waited for long enough.

>>> gathering = Gathering(tasks=2)
>>> gathering.add("q1", 0, 1, "answer of task 1", 0)
>>> gathering.add("q2", 0, 1, "another", 0)
>>> gathering.add("q1", 0, 0, "answer of task 0", 0).answers
['answer of task 0', 'answer of task 1']
>>> [(group.key, group.missing_tasks) for group in gathering.give_up_all()]
[('q2', [0])]
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from penstock.flow.ledger import UNTRACKED, keeper_of

__all__ = ["PATIENCE", "AnsweredTwiceError", "Gathering", "Group"]

PATIENCE = 4
"""How many times `grow_older` is called at least, from the first answer on, until nothing more is waited for."""


class AnsweredTwiceError(Exception):
    """A task has answered the same question before."""


class Group:
    """The answers to one question."""

    __slots__ = ("answers", "begun", "frames", "key", "missing", "root")

    def __init__(self, key: Any, root: int, tasks: int, begun: int) -> None:
        self.key = key
        self.root = root
        self.answers: list[Any] = [None] * tasks
        """By task; None is none yet."""
        self.missing = tasks
        self.frames = 0
        """The sum of the numbers of the answers' frames: what the tree is waiting for, see flow/ledger."""
        self.begun = begun

    @property
    def missing_tasks(self) -> list[int]:
        """Who has not answered."""
        return [task for task, answer in enumerate(self.answers) if answer is None]


class Gathering:
    """The questions to which some have answered and some have not, from the oldest to the newest."""

    def __init__(self, tasks: int) -> None:
        self._tasks = tasks
        self._groups: dict[tuple[Any, int], Group] = {}
        self._age = 0

    def __len__(self) -> int:
        return len(self._groups)

    def add(self, key: Any, root: int, task: int, answer: Any, frame: int) -> Group | None:
        """Takes one answer; returns the group if that was the last one, and forgets it.

        Raises:
            AnsweredTwiceError: the task has answered before. That answer stays.
        """
        group = self._groups.get((key, root))
        if group is None:
            group = self._groups[key, root] = Group(key, root, self._tasks, self._age)
        elif group.answers[task] is not None:
            raise AnsweredTwiceError
        group.answers[task] = answer
        group.frames += frame
        group.missing -= 1
        if group.missing:
            return None
        del self._groups[key, root]
        return group

    def give_up_all(self) -> list[Group]:
        """Nothing more will come for any of these."""
        return self._take(lambda _: True)

    def give_up_trees(self, newest: Mapping[int, int]) -> list[Group]:
        """Nothing more will come of trees up to these roots, by the task that keeps them.

        What belongs to no tree, and the trees of a keeper that is not told of, are waited for as ever.
        """
        return self._take(
            lambda group: group.root != UNTRACKED and group.root <= newest.get(keeper_of(group.root), UNTRACKED)
        )

    def grow_older(self) -> list[Group]:
        """Some time has passed: those for which it was too much."""
        self._age += 1
        return self._take(lambda group: self._age - group.begun > PATIENCE)

    def _take(self, is_hopeless: Callable[[Group], bool]) -> list[Group]:
        hopeless = [group for group in self._groups.values() if is_hopeless(group)]
        for group in hopeless:
            del self._groups[group.key, group.root]
        return hopeless
