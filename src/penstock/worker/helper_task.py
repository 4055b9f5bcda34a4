"""A helper: an instance of a bolt in the worker of a task that feeds it, for when the bolt's own tasks are too slow.

It belongs to that task, its *host*: it is fed by it alone, lives where it lives, moves when it moves, and what it emits
travels in the name of the host, on help edges (see penstock.plan.edges). Whatever the host emits, markers included,
passes the helper's queue in order. So for whoever comes behind it a helper is one more channel, with all guarantees of
channels, and nobody else has to know of it.

    host ──(its share)──▶ queue ▶ helper ──▶ the bolts behind the one that is helped
      └───(the rest)───▶ the bolt that is helped ──▶ the same
"""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any, NamedTuple

from penstock.flow.credit import Channel, target_of_edge
from penstock.topology.context import TaskContext
from penstock.worker.arrival import Arrival
from penstock.worker.bolt_task import BoltTask
from penstock.worker.failures import USER_ERRORS
from penstock.worker.runner_choice import runner_for
from penstock.worker.runners import InputEdge

if TYPE_CHECKING:
    from penstock.worker.tasks import RunningTask

__all__ = ["HelpDone", "HelperTask"]


class HelpDone(NamedTuple):
    """What was done of a bolt's work."""

    processed: int = 0
    emitted: int = 0
    failed: int = 0
    busy_ns: int = 0


class HelperTask(BoltTask):
    """Does a bolt's work for its host.

    Args:
        host: the task that feeds it.
        edge: the edge from the host to the bolt.
        helped: a task of the bolt that it helps.
        context: what the bolt's logic is opened with.
        common: as for any bolt, but for `logic`: a copy of that is made and opened when there is first something to do,
            for it may be large, and most helpers are never needed.
    """

    def __init__(self, *, host: RunningTask, edge: int, helped: int, context: TaskContext, **common: Any) -> None:
        super().__init__(
            channels=[(edge, host.task)],
            since=0,
            gathers={},
            tree_by_tree=False,
            processed_arrival=_needs_no_credit,
            tick_every_s=None,
            save=None,  # it has no state, and only one channel: nothing waits for a marker
            **common,
        )
        self.edge = edge
        self._inputs: dict[int, InputEdge] = common["inputs"]
        self.host = host
        self._helped = helped
        self._context = context
        self._opened = False
        self.is_unfit = False
        """Whether the bolt could not be opened here."""

    @property
    def channel(self) -> Channel:
        """The way from its host to it."""
        return self.host.task, target_of_edge(self.edge)

    @property
    def suspected(self) -> int:
        """See RunningTask. Its own number is the host's, whose tuples are others."""
        return self._helped

    @property
    def share(self) -> float:
        """Which share of what its host emits comes to it."""
        return self.host.outputs.share(self.edge)

    def blocked_by(self, exhausted: set[Channel]) -> bool:
        """See RunningTask. One that is given nothing is kept from nothing: it only works through what it has.

        What it emits is counted on the channels of its host, which others may have used up: the host itself, and its
        other helpers. Whoever is at their end may hold what came on them until it has the marker that waits here. So
        who cannot go on is given nothing more (see PressureWatch), and then does what it has, which is bounded.
        """
        return self.share > 0 and super().blocked_by(exhausted)

    def done(self, before: HelpDone | None) -> HelpDone:
        """What it has done, on top of what was done before it."""
        done = (self.processed, self.outputs.emitted, self.failed, self.busy_ns)
        return HelpDone(*map(sum, zip(done, before or HelpDone(), strict=True)))

    def get_ready(self) -> bool:
        """Opens the bolt's logic, unless that is done; False if it cannot be opened, which is told as a failure."""
        if not self._opened and not self.is_unfit:
            try:
                self.logic = copy.deepcopy(self.logic)
                self.use_runner(runner_for(self, self._inputs))
                self.logic.open(self._context)
                self._opened = True
            except USER_ERRORS as error:
                self.is_unfit = True
                self.fail(error, None)
        return self._opened

    def close(self) -> None:
        """See RunningTask."""
        if self._opened:
            super().close()


def _needs_no_credit(task: int, arrival: Arrival) -> None:
    """Its host is in the same worker, and waits when its queue is full."""
