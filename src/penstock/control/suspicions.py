"""Exactly once: which tuple kills the worker that works on it, each time. Pure.

After a worker has died, tasks are *careful* for a while: a worker says what it is about to work on, and waits until we
know. If it dies at it, the tuples that it said are *suspects*, and are tried one by one the next time. One at which,
alone, workers have died often enough is given up: left out, reported, and put on the dead letters of its bolt.

A worker that is killed by chance is at some tuple, too. But what kills a worker does so each time, and the first time
that a task comes to it. So only tuples are named that the task has not survived yet since everything was set back, and
one that any worker has survived is innocent, whatever had happened before.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from penstock.control.protocol import Trying
from penstock.plan.tasks import Task
from penstock.worker.care import Care

__all__ = ["CAREFUL_EPOCHS", "Suspicions"]

CAREFUL_EPOCHS = 10
"""How many commits tasks stay careful for. Being so is slower: one might not get as far as before within an epoch."""
_ENOUGH = 3
"""How many workers have to die at one tuple, alone, and none survive it, until it is given up."""


class Suspicions:
    """What is known about tuples that may have killed workers."""

    def __init__(self, tasks: Iterable[Task]) -> None:
        self._component_of: dict[int, str] = {}
        self.has_tasks(tasks)
        self._epochs_left = 0
        self._deaths = 0
        self._trying: dict[int, Trying] = {}
        self._suspects: dict[str, set[int]] = {}
        self._deaths_at: Counter[tuple[str, int]] = Counter()
        self._given_up: dict[str, dict[int, int]] = {}

    def has_tasks(self, tasks: Iterable[Task]) -> None:
        """There are these tasks, and perhaps some that were there before are no more."""
        self._component_of |= {task.id: task.component for task in tasks}

    def trying(self, worker: int, message: Trying) -> None:
        """A worker is about to work on something."""
        if message.task in self._component_of and (len(message.tuples) == 1 or not message.alone):
            self._trying[worker] = message

    def tried(self, worker: int) -> None:
        """It has survived it."""
        survived = self.forget(worker)
        if survived is not None:
            component = self._component_of[survived.task]
            self._suspects.get(component, set()).difference_update(survived.tuples)
            for digest in survived.tuples:
                self._deaths_at.pop((component, digest), None)

    def forget(self, worker: int) -> Trying | None:
        """A worker is gone, and it is not known how; returns what it was at."""
        return self._trying.pop(worker, None)

    def died(self, worker: int) -> str | None:
        """A worker's process is dead, or as good as dead. Returns the component whose tuple is given up for it."""
        self._deaths += 1
        self._epochs_left = CAREFUL_EPOCHS
        at = self.forget(worker)
        if at is None:
            return None
        component = self._component_of[at.task]
        self._suspects.setdefault(component, set()).update(at.tuples)
        if not at.alone:
            return None
        (digest,) = at.tuples
        self._deaths_at[component, digest] += 1
        if self._deaths_at[component, digest] < _ENOUGH:
            return None
        self._given_up.setdefault(component, {})[digest] = self._deaths
        return component

    def committed(self) -> None:
        """An epoch is committed."""
        if not self._epochs_left:
            return
        self._epochs_left -= 1
        if not self._epochs_left:
            self._deaths = 0
            self._suspects.clear()
            self._deaths_at.clear()

    @property
    def care(self) -> Care | None:
        """How careful tasks are to be; None: not at all."""
        if not self._epochs_left:
            return None
        given_up = {component: dict(tuples) for component, tuples in self._given_up.items()}
        suspects = {component: tuple(sorted(tuples)) for component, tuples in self._suspects.items()}
        return Care(epochs=self._epochs_left, suspects=suspects, given_up=given_up)
