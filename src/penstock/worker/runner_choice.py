"""Which runner a bolt needs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from penstock.topology.arrow_sink import ArrowSink
from penstock.topology.bolts import BatchBolt
from penstock.topology.collecting import CollectingBolt
from penstock.topology.transactional import TransactionalSink
from penstock.worker.arrow_sink_runner import ArrowSinkRunner
from penstock.worker.runners import BatchRunner, InputEdge, RecordRunner, Runner
from penstock.worker.sink_runner import TrackedSinkRunner
from penstock.worker.tracked_runners import TrackedBatchRunner, TrackedRecordRunner
from penstock.worker.tree_by_tree_runner import TreeByTreeRunner

if TYPE_CHECKING:
    from penstock.worker.tasks import RunningTask

__all__ = ["runner_for"]


def runner_for(task: RunningTask, inputs: dict[int, InputEdge], *, tree_by_tree: bool = False) -> Runner:
    """By what the bolt is given, and whether trees are tracked.

    With `tree_by_tree`, what a batch bolt emits belongs to the trees of what it was given, and not to one of its own.
    """
    if task.tracking is None:
        if isinstance(task.logic, ArrowSink):
            return ArrowSinkRunner(task, task.logic)
        return BatchRunner(task, inputs) if isinstance(task.logic, BatchBolt) else RecordRunner(task, inputs)
    if isinstance(task.logic, BatchBolt):
        if tree_by_tree:
            return TreeByTreeRunner(task, inputs, task.tracking)
        return TrackedBatchRunner(task, inputs, task.tracking)
    if isinstance(task.logic, TransactionalSink | CollectingBolt):
        return TrackedSinkRunner(task, inputs, task.tracking)
    return TrackedRecordRunner(task, inputs, task.tracking)
