"""The tasks of one worker. They come and go, when tasks are moved."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from penstock.topology.pushed_spout import PushedSpout
from penstock.worker.bolt_task import BoltTask
from penstock.worker.helper_task import HelperTask
from penstock.worker.spout_task import SpoutTask

__all__ = ["Roster"]


class Roster:
    """Spouts and bolts. Bolts are in topological order, so that a tuple passes all of them in one turn.

    Args:
        tasks: the tasks.
        rank: where each component is in the topological order.
    """

    def __init__(self, tasks: Iterable[SpoutTask | BoltTask], rank: Mapping[str, int]) -> None:
        self._rank = rank
        self.spouts: list[SpoutTask] = []
        self.bolts: list[BoltTask] = []
        self.all: list[SpoutTask | BoltTask] = []
        self.helpers: list[HelperTask] = []
        """Those of all tasks."""
        self.everything: list[SpoutTask | BoltTask] = []
        """Tasks and helpers."""
        self.runnable: list[BoltTask] = []
        """Bolts and helpers, in the order in which they have their turns."""
        self.by_task: dict[int, SpoutTask | BoltTask] = {}
        self.bolt_by_task: dict[int, BoltTask] = {}
        for running in tasks:
            self.add(running)

    def add(self, running: SpoutTask | BoltTask) -> None:
        """A task has come."""
        if isinstance(running, BoltTask):
            self.bolts.append(running)
            self.bolts.sort(key=lambda bolt: (self._rank[bolt.component], bolt.task))
            self.bolt_by_task[running.task] = running
        else:
            self.spouts.append(running)
        self.by_task[running.task] = running
        self._list_all()

    def remove(self, running: SpoutTask | BoltTask) -> None:
        """A task has gone."""
        if isinstance(running, BoltTask):
            self.bolts.remove(running)
            del self.bolt_by_task[running.task]
        else:
            self.spouts.remove(running)
        del self.by_task[running.task]
        self._list_all()

    @property
    def has_live_spouts(self) -> bool:
        """Whether a spout here has not ended."""
        return any(not spout.ended for spout in self.spouts) if self.spouts else False

    @property
    def has_fed_spouts(self) -> bool:
        """Whether Spark pushes into a spout here."""
        return any(isinstance(spout.logic, PushedSpout) for spout in self.spouts)

    def _list_all(self) -> None:
        self.all = [*self.spouts, *self.bolts]
        self.helpers = [helper for running in self.all for helper in running.helpers]
        self.everything = [*self.all, *self.helpers]
        self.runnable = sorted((*self.bolts, *self.helpers), key=lambda bolt: (self._rank[bolt.component], bolt.task))
