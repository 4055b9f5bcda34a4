"""How a bolt works through an arrival where trees are tracked: what it emits belongs to the tree of what it was given.

A batch bolt is given tuples of many trees at once, and what it emits comes of all of them. So it keeps a tree of its
own for each batch, and tells the others that their tuples are processed when that one is complete. So does any bolt for
a tuple that stands for several.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from penstock._native import Calls, FastTask, Histogram
from penstock.flow.runs import Runs
from penstock.worker.arrival import Arrival
from penstock.worker.failures import reason_of
from penstock.worker.own_trees import OwnTrees
from penstock.worker.runners import BatchRunner, InputEdge, RecordRunner
from penstock.worker.tracking import Tracking

if TYPE_CHECKING:
    from penstock.worker.bolt_task import BoltTask
    from penstock.worker.tasks import RunningTask

__all__ = ["TrackedBatchRunner", "TrackedRecordRunner"]


class TrackedRecordRunner(RecordRunner):
    """Calls `process` for each tuple, and says to which tree what it emits belongs."""

    def __init__(self, task: RunningTask, inputs: dict[int, InputEdge], tracking: Tracking) -> None:
        super().__init__(task, inputs)
        self._tracking = tracking
        one_of_many = any(edge.combined for edge in inputs.values())
        self.trees = own_trees_of(task, tracking) if one_of_many else None
        """Of what comes of a tuple that stands for several."""

    def run(self, arrival: Arrival) -> Iterable[None]:
        """See RecordRunner."""
        if arrival.combined and len(arrival.runs) > 1:
            yield from self._run_one_of_many(arrival)
            return
        tuples, tracking = self._tuples_of(arrival), self._tracking
        start = 0
        for root, count in arrival.runs:
            tracking.work_on(root)
            end = start + count if arrival.batch is None else len(tuples)
            if steps := self._run_tuples(tuples[start:end], arrival.edge):
                yield from steps
            start = end
        self._end_tree(arrival.runs, arrival.frame)

    def fast_task(self, bolt: BoltTask, latency: Histogram) -> FastTask | None:
        """See RecordRunner."""
        if self.trees is not None:
            return None
        return FastTask(
            bolt=bolt,
            outputs=self._task.outputs,
            process=self._process,
            fail=self._task.fail,
            latency=latency,
            yields=self._yields,
            has_news=True,
            begin_tree=self._begin_tree,
            end_tree=self._end_tree,
        )

    def _begin_tree(self, runs: Runs) -> None:
        self._tracking.work_on(runs[0][0])

    def _end_tree(self, runs: Runs, frame: int) -> None:
        self._tracking.leave()
        self._count_processed(runs, frame)

    def _count_processed(self, runs: Runs, frame: int) -> None:
        self._tracking.book.processed(runs, frame)

    def go_on_with(self, arrival: Arrival, calls: Calls, keys: list[Any] | None) -> Iterator[None]:
        """See RecordRunner."""
        yield from self._rest_of(calls, keys)
        self._end_tree(arrival.runs, arrival.frame)

    def _run_one_of_many(self, arrival: Arrival) -> Iterator[None]:
        assert self.trees is not None
        root = self.trees.begin([(arrival.runs, arrival.frame)])
        self._tracking.work_on(root)
        yield from self.trees.kept_open(root, self._run_tuples(arrival.tuples, arrival.edge))
        self._tracking.leave()


class TrackedBatchRunner(BatchRunner):
    """Keeps a tree for each batch."""

    def __init__(self, task: RunningTask, inputs: dict[int, InputEdge], tracking: Tracking) -> None:
        super().__init__(task, inputs)
        self._tracking = tracking
        self.trees = own_trees_of(task, tracking)

    def run_all(self, arrivals: Sequence[Arrival]) -> Iterator[None]:
        """See Runner."""
        root = self.trees.begin([(arrival.runs, arrival.frame) for arrival in arrivals])
        self._tracking.work_on(root)
        yield from self.trees.kept_open(root, super().run_all(arrivals))
        self._tracking.leave()

    def _failed(self, error: BaseException, culprit: Any) -> None:
        super()._failed(error, culprit)
        self.trees.give_up(self._tracking.root, self._task.component, reason_of(error))


def own_trees_of(task: RunningTask, tracking: Tracking) -> OwnTrees:
    """A place for the trees that a task keeps itself."""
    return OwnTrees(task=task.task, component=task.component, keepers_after=task.keepers_after, tracking=tracking)
