"""What one can do about where the tasks of a run are, from the handle."""

from __future__ import annotations

from penstock.control.server import ControlServer
from penstock.plan.assignment import Move
from penstock.spark.interrupts import plain_interrupts

__all__ = ["Movable"]


class Movable:
    """The part of a `Run` that moves its tasks while it goes on. Nothing is lost, doubled or stopped by that."""

    _server: ControlServer

    def move(self, task: int | str, worker: int) -> None:
        """Moves one task to another worker, and waits until it runs there.

        Args:
            task: its id, or component and index, such as ``"count[2]"``.
            worker: the worker's number.

        Raises:
            RunError: it cannot move, or somebody died before all had prepared for it. Then all is as it was.
        """
        with plain_interrupts():
            self._server.move(task, worker)

    def rebalance(self) -> tuple[Move, ...]:
        """Has the scheduler in use plan anew, with the load known so far, and waits until all tasks are there.

        Returns:
            What has moved.

        Raises:
            RunError: it cannot be, or somebody died before all had prepared for it. Then all is as it was.
        """
        with plain_interrupts():
            return self._server.rebalance().moves

    def scale(self, component: str, *, tasks: int) -> None:
        """Gives a bolt another number of tasks, and waits until they run. Keyed state is shared out anew.

        Args:
            component: a bolt with state by key, or without state.
            tasks: how many it is to have.

        Raises:
            RunError: it cannot be, or somebody died before all had prepared for it. Then all is as it was.
        """
        with plain_interrupts():
            self._server.scale(component, tasks)
