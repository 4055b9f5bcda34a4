"""Tasks of a real run that move all the time: for tests of what else may happen meanwhile."""

from __future__ import annotations

import contextlib
import random
import threading
from collections.abc import Iterator
from typing import Any, Protocol

from penstock.errors import RunError

__all__ = ["Moved", "moving_tasks"]

PAUSE_S = 0.2


class MovesTasks(Protocol):
    """A run, as far as moves are concerned: a `penstock.Run`."""

    def status(self) -> Any:
        """Who takes part."""

    def move(self, task: int | str, worker: int) -> None:
        """Moves a task."""


class Moved:
    """How many moves there were."""

    def __init__(self) -> None:
        self.count = 0


@contextlib.contextmanager
def moving_tasks(run: MovesTasks, seed: int) -> Iterator[Moved]:
    """Moves random tasks to random workers until the end of the block. What cannot move stays."""
    chance, moved, over = random.Random(seed), Moved(), threading.Event()

    def move() -> None:
        while not over.wait(PAUSE_S):
            with contextlib.suppress(RunError):  # it is pinned, or somebody is away, or the run is over
                there = [worker for worker in run.status().workers if worker.pid is not None]
                tasks = sorted(task for worker in there for task in worker.tasks)
                if tasks:
                    run.move(chance.choice(tasks), chance.choice(there).worker)
                    moved.count += 1

    thread = threading.Thread(target=move, name="penstock-moving-tasks", daemon=True)
    thread.start()
    try:
        yield moved
    finally:
        over.set()
        thread.join()
