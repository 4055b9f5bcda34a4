"""Moves random tasks to random workers, one after another."""

import random
import time

import msgspec

import penstock as ps
from bench.moves.outputs import Interval
from penstock.plan.shape import shape_of
from penstock.plan.tasks import tasks_of


class Moved(msgspec.Struct, frozen=True, kw_only=True):
    """One move."""

    task: str
    component: str
    worker: int
    begun_ns: int
    done_ns: int

    @property
    def interval(self) -> Interval:
        """From when it was asked for until all was done."""
        return self.begun_ns, self.done_ns


class Mover:
    """Every task may be moved, the spouts and the sink like the others. The same seed makes the same choices."""

    def __init__(self, run: ps.Run, seed: int) -> None:
        self._run = run
        self._chance = random.Random(seed)
        self._tasks = tasks_of(shape_of(run.topology))
        self.moves: list[Moved] = []

    def move(self) -> None:
        """One task, to a worker that does not have it."""
        task = self._chance.choice(self._tasks)
        others = [one.worker for one in self._run.status().workers if task.id not in one.tasks]
        worker = self._chance.choice(others)
        begun_ns = time.monotonic_ns()
        self._run.move(task.id, worker)
        self.moves.append(
            Moved(
                task=task.label,
                component=task.component,
                worker=worker,
                begun_ns=begun_ns,
                done_ns=time.monotonic_ns(),
            )
        )
