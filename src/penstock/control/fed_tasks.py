"""A worker's tasks of spouts that Spark feeds: opened, told where micro-batches end, and listened to."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from penstock.control.feeding import BatchIn, CloseBatch, FeedBroken, FeedPlace
from penstock.control.ticket import Ticket
from penstock.topology.pushed_spout import PushedSpout
from penstock.worker.feed_input import FeedInput
from penstock.worker.spout_task import SpoutTask

__all__ = ["FedTasks"]


class FedTasks:
    """Between the worker's duty cycle and the controller.

    Args:
        ticket: the worker's own.
        send: tells the controller something.
    """

    def __init__(self, ticket: Ticket, send: Callable[[BatchIn | FeedBroken], None]) -> None:
        self._ticket = ticket
        self._send = send
        self._inputs: dict[int, FeedInput] = {}

    def open(self, spouts: Iterable[SpoutTask]) -> None:
        """Makes a place to push to for each task that is fed."""
        for running in spouts:
            if isinstance(running.logic, PushedSpout):
                self._inputs[running.task] = FeedInput(
                    running,
                    host=self._ticket.host,
                    keys=self._ticket.keys,
                    high_water_frames=self._ticket.settings.link_high_water_frames,
                )

    @property
    def is_in_use(self) -> bool:
        """Whether any task here is fed."""
        return bool(self._inputs)

    def places(self) -> tuple[FeedPlace, ...]:
        """Where these places are."""
        return tuple(
            FeedPlace(task=task, ring_address=one.ring_address, link_endpoint=one.link_endpoint)
            for task, one in self._inputs.items()
        )

    def close_batch(self, message: CloseBatch) -> None:
        """A micro-batch is complete."""
        for task, rows in message.rows.items():
            if task in self._inputs:
                self._inputs[task].close_batch(message.closing, rows)

    def end(self, component: str) -> None:
        """Nothing more will be pushed."""
        for one in self._inputs.values():
            if one.component == component:
                one.end()

    def tell(self, assignment: int) -> None:
        """Tells the controller what has come whole, and what will not come."""
        for task, one in self._inputs.items():
            closing = one.complete_batch()
            if closing is not None:
                self._send(BatchIn(assignment=assignment, component=one.component, task=task, closing=closing))
            trouble = one.trouble()
            if trouble is not None:
                self._send(FeedBroken(assignment=assignment, component=one.component, task=task, reason=trouble))

    def close(self) -> None:
        """Whoever pushes gets an error."""
        for one in self._inputs.values():
            one.close()
        self._inputs.clear()
