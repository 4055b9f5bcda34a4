"""Tasks that come to a worker: built before, they take in what is sent to them, and go on when their state is here."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from penstock.errors import RunError
from penstock.transport.frames import FrameKind
from penstock.transport.ring import Route
from penstock.worker.acks import Acks
from penstock.worker.assigned_tasks import AssignedTasks
from penstock.worker.bolt_task import BoltTask
from penstock.worker.checkpoints import Checkpoints
from penstock.worker.early_frames import EarlyFrame
from penstock.worker.failures import USER_ERRORS, reason_of
from penstock.worker.handover import IncomingTask, TaskRest, decode_part, go_on
from penstock.worker.resume import SpoutProgress
from penstock.worker.roster import Roster
from penstock.worker.spout_task import SpoutTask
from penstock.worker.ticks import Ticks
from penstock.worker.wiring import Wiring

__all__ = ["Newcomers"]


class _Newcomer:
    """A task that comes, and what has come of it."""

    def __init__(self, running: SpoutTask | BoltTask, parts: dict[int, IncomingTask]) -> None:
        self.running = running
        self.parts = parts
        """By the task that a part of its state comes from: itself elsewhere, or those that it follows."""
        self.rests: dict[int, TaskRest] = {}


class Newcomers:
    """All tasks that come to one worker by one change.

    Args:
        worker: its number.
        wiring: the ways between tasks.
        roster: its tasks.
        ticks: what they do by the clock.
        acks: where trees are tracked; None where they are not.
        checkpoints: where tasks are saved; None where they are not.
        tell_self: told of a task that was here before, and runs as another.
    """

    def __init__(
        self,
        *,
        worker: int,
        wiring: Wiring,
        roster: Roster,
        ticks: Ticks,
        acks: Acks | None,
        checkpoints: Checkpoints | None,
        tell_self: Callable[[int, int], None],
    ) -> None:
        self._worker = worker
        self._wiring = wiring
        self._roster = roster
        self._ticks = ticks
        self._acks = acks
        self._checkpoints = checkpoints
        self._tell_self = tell_self
        self._coming: dict[int, _Newcomer] = {}
        self._assignment = 0
        self._arrived: list[int] = []

    def prepare(self, tasks: Sequence[SpoutTask | BoltTask], assigned: AssignedTasks) -> None:
        """These tasks come by an assignment. What is sent to them is taken in from now on."""
        before = self._wiring.assigned
        self._assignment = assigned.number
        self._coming = {}
        for running in tasks:
            running.waiting = True
            comes_whole = running.task in before.by_id
            origins = [before.by_id[running.task]] if comes_whole else before.of[running.component]
            parts = {task.id: IncomingTask(running, comes_whole=comes_whole) for task in origins}
            self._coming[running.task] = _Newcomer(running, parts)
            if isinstance(running, BoltTask):
                self._roster.bolt_by_task[running.task] = running

    def abandon(self) -> None:
        """They do not come."""
        for newcomer in self._coming.values():
            running = newcomer.running
            running.close()
            if isinstance(running, BoltTask):
                self._wiring.bolts.pop(running.task, None)
                self._roster.bolt_by_task.pop(running.task, None)
            if self._checkpoints is not None:
                self._checkpoints.remove(running.task)
        self._coming = {}

    def switch(self) -> list[int]:
        """They are tasks of this worker from now on. Returns them."""
        for newcomer in self._coming.values():
            self._roster.add(newcomer.running)
            for one in newcomer.running.whole:
                for channel in one.outputs.channels:
                    self._wiring.credit.laid(channel, self._assignment)
        return [*self._coming]

    def keep_trees(self) -> None:
        """Those run already whose state was faster than the word that we should switch."""
        for newcomer in self._coming.values():
            self._keep_trees(newcomer.running)

    def _keep_trees(self, running: SpoutTask | BoltTask) -> None:
        if self._acks is not None and running.keeper is not None and not running.waiting:
            self._acks.keep(running.keeper)

    def take(self, frame: EarlyFrame) -> None:
        """A part of a task that comes here. Raises one of `UNREADABLE`."""
        task, origin = frame.target, frame.source
        newcomer = self._coming.get(task) if frame.assignment == self._assignment else None
        if newcomer is None or not newcomer.running.waiting or origin not in newcomer.parts:
            if task in self._roster.by_task:
                self._tell_taken(task, origin, frame.assignment)  # it was not heard, or everything came again
            return
        part = decode_part(frame.payload)
        running = newcomer.running
        try:
            rest = newcomer.parts[origin].take(part)
        except USER_ERRORS as error:
            message = f"{running.component!r} (task {running.task}) could not be taken over: {reason_of(error)}"
            raise RunError(message) from error
        if rest is not None:
            newcomer.rests[origin] = rest
            if newcomer.rests.keys() == newcomer.parts.keys():
                self._go_on(newcomer)
            self._tell_taken(task, origin, frame.assignment)

    def _go_on(self, newcomer: _Newcomer) -> None:
        rests = [*newcomer.rests.values()]
        go_on(newcomer.running, rests)
        if self._checkpoints is not None:
            is_heir = newcomer.running.task not in newcomer.parts
            for checkpoint in (rest.checkpoint for rest in rests if rest.checkpoint is not None):
                self._checkpoints.take_over(newcomer.running.task, checkpoint, is_heir=is_heir)
        self._runs(newcomer.running)

    def _runs(self, running: SpoutTask | BoltTask) -> None:
        running.waiting = False
        self._keep_trees(running)
        if isinstance(running, BoltTask):
            self._ticks.add([running])
        self._arrived.append(running.task)

    def take_over(self, task: int, worker: int, progress: SpoutProgress | None) -> bool:
        """An old place is dead, and what has not come from it does not. False if the task runs.

        If nobody else has a part of it, the task begins anew here, a spout where it was last heard of.
        """
        newcomer = self._coming.get(task)
        if newcomer is None or not newcomer.running.waiting:
            return False
        running, parts = newcomer.running, newcomer.parts
        for origin in parts.keys() - newcomer.rests.keys():
            if self._wiring.places.at(origin, self._assignment - 1) == worker:
                del parts[origin]
        if not parts:
            if isinstance(running, SpoutTask) and progress is not None:
                running.resume(progress)
            self._runs(running)
        elif newcomer.rests.keys() == parts.keys():
            self._go_on(newcomer)
        return True

    def _tell_taken(self, task: int, origin: int, assignment: int) -> None:
        place = self._wiring.places.at(origin, assignment - 1)
        if place == self._worker:
            self._tell_self(origin, task)
        elif place in self._wiring.carriers:
            route = Route(target=origin, source=task, assignment=assignment, flags=FrameKind.TAKEN)
            self._wiring.carriers[place].send(route, b"", 0)

    @property
    def has_arrived(self) -> bool:
        """Whether a task has come since the last time that was asked which."""
        return bool(self._arrived)

    def arrived_tasks(self) -> list[int]:
        """The tasks that have come here and run, since the last time."""
        arrived, self._arrived = self._arrived, []
        return arrived

    @property
    def bolts(self) -> list[BoltTask]:
        """The bolts that come."""
        coming = (newcomer.running for newcomer in self._coming.values())
        return [running for running in coming if isinstance(running, BoltTask)]
