"""Checkpoints of a cluster in one process: what the controller does about them, in short."""

from __future__ import annotations

from collections.abc import Mapping

from penstock.checkpoint.shape import saved_shape
from penstock.control.checkpointing import Checkpointing
from penstock.control.protocol import BeginEpoch, Committed
from penstock.plan.tasks import Task
from penstock.testing.late_words import LateWords
from penstock.testing.part_memory import PartMemory
from penstock.topology.topology import Topology
from penstock.worker.checkpoints import NotSaved
from penstock.worker.worker import Worker

__all__ = ["LocalCheckpoints"]


class LocalCheckpoints:
    """What is saved of a topology.

    Args:
        topology: the topology.
        tasks: its tasks.
        words: how workers are told.
    """

    def __init__(self, topology: Topology, tasks: tuple[Task, ...], words: LateWords) -> None:
        self._words = words
        self.parts = PartMemory()
        self.policy = Checkpointing(run="local", tasks=tasks, shape=saved_shape(topology), every_s=1.0, start=None)
        """What decides about epochs; the same that decides in a real run."""

    @property
    def is_clean(self) -> bool:
        """Whether nothing is under way of any epoch, also of one that was given up."""
        return not self.policy.is_under_way and self.policy.committed == self.policy.newest

    def begin(self, workers: Mapping[int, Worker], *, all_ended: bool, draining: bool) -> int:
        """Begins an epoch, and gives one up that is under way; it is committed as soon as all tasks are saved."""
        self.policy.give_up()
        epoch = self.policy.final_epoch(float("inf")) if all_ended else self.policy.due(float("inf"))
        if epoch is None:
            return self.policy.committed
        # The word of it travels beside the tuples, and not always faster: some workers meet the marker first.
        self._words.tell(workers, BeginEpoch(epoch=epoch, committed=self.policy.committed, last=draining))
        return epoch

    def take_news(self, worker: Worker, workers: Mapping[int, Worker]) -> bool:
        """What a worker has saved; returns whether it was anything."""
        heard = False
        for news in worker.checkpoint_news():
            heard = True
            if isinstance(news, NotSaved):
                self.policy.give_up()
                continue
            manifest = self.policy.saved(news.task, news.epoch, news.saved)
            if manifest is not None:
                self.policy.was_committed(manifest.epoch)
                self._words.tell(workers, Committed(epoch=manifest.epoch))
        return heard
