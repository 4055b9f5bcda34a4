"""What a task is told about itself when it opens."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable

import msgspec

__all__ = ["TaskContext", "wake_nobody"]


def wake_nobody() -> None:
    """Where there is no worker, as in a test."""


class TaskContext(msgspec.Struct, frozen=True, kw_only=True):
    """Who a task is, and what it may use. ``open`` is given one.

    >>> context = TaskContext(topology="wordcount", component="split", index=1, count=2, task_id=3, worker=0)
    >>> context.index, context.count, context.logger.name
    (1, 2, 'penstock.wordcount.split')
    """

    topology: str
    """The name of the topology."""
    component: str
    """The name of the component that this is a task of."""
    index: int = 0
    """Which of the component's tasks this is, from 0."""
    count: int = 1
    """How many tasks the component has, this one and its siblings."""
    task_id: int = 0
    """The number of the task among all tasks of the topology."""
    worker: int = 0
    """The number of the worker that runs it."""
    helping: bool = False
    """Whether this is no task of the component, but does its work elsewhere, because its tasks are too slow. Then
    ``index`` is beyond those of the tasks."""
    attempt: int = 0
    """With ``delivery="exactly_once"`` it grows each time that tasks are set back to a checkpoint, and from run to run.
    A process that was given up may be at it for a while: what has a smaller number than one's own is of the past, and
    what has a greater one is none of one's business."""
    run: str = ""
    """The id of the run; empty where there is none, as in a test."""
    checkpoint: str = ""
    """With ``delivery="exactly_once"`` the id of the checkpoint: the same in all runs that go on from it."""
    now_ns: Callable[[], int] = time.time_ns
    """The time, in nanoseconds since the epoch. Ask this, not ``time``, and tests can turn the clock."""
    wake: Callable[[], None] = wake_nobody
    """Has the worker ask its spouts at once. A spout that is told by a thread of its own that it has something calls
    this there: then its worker can sleep until then. Else a spout that has nothing is asked every half millisecond at
    first, and later after an eighth of the time that it has had nothing, up to 50 ms. For any thread."""

    @property
    def logger(self) -> logging.Logger:
        """Where the task writes what people should read."""
        return logging.getLogger(f"penstock.{self.topology}.{self.component}")
