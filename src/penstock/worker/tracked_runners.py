"""How a bolt works through an arrival where trees are tracked: what it emits belongs to the tree of what it was given.

A batch bolt is given tuples of many trees at once, and what it emits comes of all of them. So it keeps a tree of its
own for each batch, and tells the others that their tuples are processed when that one is complete.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from penstock.flow.ledger import AckBook, Ledger, News
from penstock.flow.runs import Runs
from penstock.worker.arrival import Arrival
from penstock.worker.failures import reason_of
from penstock.worker.runners import BatchRunner, InputEdge, RecordRunner
from penstock.worker.tracking import Tracking

if TYPE_CHECKING:
    from penstock.worker.tasks import RunningTask

__all__ = ["LOST", "TrackedBatchRunner", "TrackedRecordRunner"]

LOST = "what came of it was lost on the way, or with a worker"


class TrackedRecordRunner(RecordRunner):
    """Calls `process` for each tuple, and says to which tree what it emits belongs."""

    def __init__(self, task: RunningTask, inputs: dict[int, InputEdge], tracking: Tracking) -> None:
        super().__init__(task, inputs)
        self._tracking = tracking

    def run(self, arrival: Arrival) -> None:
        """See Runner."""
        tuples, tracking = self._tuples_of(arrival), self._tracking
        start = 0
        for root, count in arrival.runs:
            tracking.work_on(root)
            end = start + count if arrival.batch is None else len(tuples)
            self._run_tuples(tuples[start:end], arrival.edge)
            start = end
        tracking.leave()
        self._count_processed(arrival)

    def _count_processed(self, arrival: Arrival) -> None:
        self._tracking.book.processed(arrival.runs, arrival.frame)


class TrackedBatchRunner(BatchRunner):
    """Keeps a tree for each batch (a `penstock.worker.tracking.Keeper`)."""

    def __init__(self, task: RunningTask, inputs: dict[int, InputEdge], tracking: Tracking) -> None:
        super().__init__(task, inputs)
        self.task = task.task
        self.batch_bolts_after = task.batch_bolts_after
        self._tracking = tracking
        self._book: AckBook = tracking.book
        self._ledger = Ledger(task.task)
        self._given: dict[int, list[tuple[Runs, int]]] = {}
        """By the root of our own tree, frame by frame: how many tuples of which trees went into it, and its number."""

    def run_all(self, arrivals: Sequence[Arrival]) -> None:
        """See Runner."""
        root = self._ledger.begin()
        self._given[root] = [(arrival.runs, arrival.frame) for arrival in arrivals]
        self._tracking.work_on(root)
        super().run_all(arrivals)
        self._tracking.leave()

    def _failed(self, error: BaseException, culprit: Any) -> None:
        super()._failed(error, culprit)
        self._give_up(self._tracking.root, self._task.component, reason_of(error))

    def hear_own(self, news: News | None) -> None:
        """See Keeper."""
        self._fail(news)
        self._complete(self._ledger.hear_own(news.sums if news else ()))

    def hear(self, news: News) -> None:
        """See Keeper."""
        self._fail(news)
        self._complete(self._ledger.hear(news.sums))

    def mark(self, epoch: int) -> None:
        """A marker of this epoch follows all batches so far."""
        self._ledger.mark(epoch)

    def marker_passed(self, epoch: int) -> None:
        """See Keeper."""
        for root in self._ledger.passed(epoch):
            self._give_up(root, self._task.component, LOST)

    def _complete(self, roots: list[int]) -> None:
        for root in roots:
            for runs, frame in self._given.pop(root):
                self._book.processed(runs, frame)

    def _fail(self, news: News | None) -> None:
        for tree in news.failed if news else ():
            self._give_up(tree.root, tree.component, tree.reason)

    def _give_up(self, root: int, component: str, reason: str) -> None:
        self._ledger.give_up(root)
        for runs, _ in self._given.pop(root, ()):
            for theirs, _ in runs:
                self._book.failed(theirs, component, reason)
