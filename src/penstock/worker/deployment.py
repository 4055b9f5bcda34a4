"""From a topology and an assignment to a worker with running tasks."""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping, Sequence, Set
from functools import partial
from typing import Any

from penstock.flow.ledger import AckBook
from penstock.plan.assignment import Assignment
from penstock.plan.shape import shape_of
from penstock.plan.tasks import Task, tasks_of
from penstock.topology.context import TaskContext
from penstock.topology.topology import Topology
from penstock.topology.transactional import TransactionalSink
from penstock.transport.board import BoardSlot
from penstock.transport.ring import RingReader
from penstock.worker.acks import Acks
from penstock.worker.arrival import Arrival
from penstock.worker.assigned_tasks import AssignedTasks
from penstock.worker.bolt_task import BoltTask
from penstock.worker.carriers import FrameWay
from penstock.worker.checkpoints import Checkpoints, PartStore
from penstock.worker.clock import Clock, SystemClock, steady_ns_of
from penstock.worker.company import Colleague
from penstock.worker.departures import Departures
from penstock.worker.failures import Failures
from penstock.worker.helpers import Helpers
from penstock.worker.moving import Moving, to_self
from penstock.worker.newcomers import Newcomers
from penstock.worker.opened_logic import opened
from penstock.worker.past_counts import PastCounts
from penstock.worker.pressure import PressureWatch
from penstock.worker.redirection import Redirection
from penstock.worker.resume import SpoutProgress
from penstock.worker.roster import Roster
from penstock.worker.settings import WorkerSettings
from penstock.worker.spout_task import SpoutTask
from penstock.worker.task_checkpoints import TaskCheckpoint, TaskRestore
from penstock.worker.task_maker import TaskMaker
from penstock.worker.ticks import Ticks
from penstock.worker.wakeup import Inbox, Waker, Wakeup
from penstock.worker.wiring import Wiring
from penstock.worker.worker import Worker

__all__ = ["Deployment"]


class Deployment:
    """Builds the worker: its tasks, on the wiring between them."""

    def __init__(
        self,
        *,
        worker: int,
        topology: Topology,
        assignment: Assignment,
        tasks: Iterable[Task] | None = None,
        former: Mapping[int, int] | None = None,
        inbox: Inbox,
        ways: dict[int, FrameWay | None],
        colleagues: Iterable[Colleague],
        settings: WorkerSettings | None = None,
        clock: Clock | None = None,
        resume: Mapping[int, SpoutProgress] | None = None,
        store: PartStore | None = None,
        restore: Sequence[TaskRestore] = (),
        epoch: int = 0,
        claim: int = 0,
        run: str = "",
        checkpoint: str = "",
        saves_beside: bool = True,
        seed: int | None = None,
    ) -> None:
        self._worker = worker
        self._topology = topology
        self._settings = settings or WorkerSettings()
        self._clock = clock or SystemClock()
        self._inbox = inbox
        self._resume = resume or {}
        self._restore = {one.task: one for one in restore}
        self._epoch = epoch
        self._checkpoints: Checkpoints | None = None
        if self._settings.delivery == "exactly_once":
            assert store is not None, "exactly once needs a place for checkpoints"
            self._checkpoints = Checkpoints(store, beside=saves_beside, wake=Waker(inbox, Wakeup.NEWS))
        self.failures = Failures()
        self._random = random.Random(seed)
        self._book = AckBook(self._random_number) if self._settings.delivery == "at_least_once" else None
        self._wiring = Wiring(
            worker=worker,
            topology=topology,
            assigned=AssignedTasks(assignment, tasks_of(shape_of(topology)) if tasks is None else tasks),
            former=former or {},
            ways=ways,
            colleagues=colleagues,
            settings=self._settings,
            clock=self._clock,
            book=self._book,
            failures=self.failures,
            random_number=self._random_number,
            slot=BoardSlot(inbox.memory_fd) if isinstance(inbox, RingReader) else None,
        )
        self._built: Worker | None = None
        self._maker = TaskMaker(
            topology=topology,
            wiring=self._wiring,
            context=TaskContext(
                topology=topology.name,
                component="",
                worker=worker,
                attempt=claim << 32,
                run=run,
                checkpoint=checkpoint,
                now_ns=self._clock.now_ns,
                wake=Waker(inbox, Wakeup.SPOUT),
            ),
            settings=self._settings,
            clock=self._clock,
            book=self._book,
            failures=self.failures,
            save=None if self._checkpoints is None else self._checkpoints.save,
            processed_arrival=self._arrival_processed,
        )

    def build(self) -> Worker:
        """The worker, with every task opened. An exception of a task's `open` is raised."""
        wiring = self._wiring
        assigned = wiring.assigned
        tasks = self._maker.make(assigned.on(self._worker), assigned, moves=False)
        opener = wiring.opener(tracked=self._book is not None)
        roster = Roster(tasks, self._maker.rank)
        ticks, past = Ticks(steady_ns_of(self._clock)), PastCounts()
        casts, acks = wiring.casts(opener), self._acks(tasks)
        about: dict[str, Any] = {"worker": self._worker, "wiring": wiring, "roster": roster, "acks": acks}
        saved: dict[str, Any] = {"ticks": ticks, "checkpoints": self._checkpoints}
        # Where a component is given more tasks, or fewer, state goes from task to task within a worker, too.
        newcomers = Newcomers(tell_self=lambda task, heir: departures.taken(task, heir), **about, **saved)
        departures = Departures(
            past=past,
            steady_ns=steady_ns_of(self._clock),
            hand_to_self=partial(to_self, newcomers),
            **about,
            **saved,
        )
        self._moving = Moving(casts=casts, past=past, departures=departures, newcomers=newcomers, **about)
        helpers = Helpers(roster)
        redirection = Redirection(
            topology=self._topology,
            wiring=wiring,
            roster=roster,
            context_of=lambda task: self._maker.context(task, wiring.assigned),
            failures=self.failures,
            steady_ns=steady_ns_of(self._clock),
            random_number=self._random_number,
        )
        self._built = Worker(
            helpers=helpers,
            worker=self._worker,
            roster=roster,
            ticks=ticks,
            past=past,
            moving=self._moving,
            places=wiring.places,
            inbox=self._inbox,
            carriers=wiring.carriers,
            way_out=wiring.way_out,
            credit=wiring.credit,
            opener=opener,
            uplinks=wiring.uplinks,
            settings=self._settings,
            clock=self._clock,
            casts=casts,
            spare_time=wiring.spare_time,
            redirection=redirection,
            pressure=PressureWatch(
                worker=self._worker,
                wiring=wiring,
                roster=roster,
                helpers=helpers,
                lending=redirection.lending if self._settings.redirection else None,
                settings=self._settings,
                steady_ns=steady_ns_of(self._clock),
            ),
            acks=acks,
            checkpoints=self._checkpoints,
        )
        try:
            self._open(tasks, assigned, moves=False)
        except BaseException:
            for carrier in self._wiring.carriers.values():
                carrier.close()
            wiring.way_out.close()
            if self._checkpoints is not None:
                self._checkpoints.close()
            raise
        for spout in roster.spouts:
            if spout.task in self._resume:
                spout.resume(self._resume[spout.task])
        return self._built

    @property
    def reachable(self) -> Set[int]:
        """The workers that there is a way to."""
        return self._wiring.carriers.keys()

    def prepare(
        self,
        *,
        assignment: Assignment,
        tasks: Iterable[Task],
        ways: Mapping[int, FrameWay],
        colleagues: Iterable[Colleague],
    ) -> None:
        """Another assignment is to hold soon: builds and opens the tasks that come here by it.

        Args:
            assignment: which worker runs each task.
            tasks: all tasks.
            ways: to the workers that are not reachable yet.
            colleagues: all who are there.

        Raises:
            Exception: what a task's `open` raised. Then nothing is prepared.
        """
        wiring = self._wiring
        wiring.reach(ways)
        for colleague in colleagues:
            wiring.company.met(colleague)
        assigned = AssignedTasks(assignment, tasks)
        here = {task.id for task in wiring.assigned.on(self._worker)}
        new = [task for task in assigned.on(self._worker) if task.id not in here]
        self._moving.drop(task.id for task in new)
        arriving = self._maker.make(new, assigned, moves=True)
        try:
            self._open(arriving, assigned, moves=True)
        except BaseException:
            wiring.take_senders()
            for running in arriving:
                wiring.bolts.pop(running.task, None)
                if self._checkpoints is not None:
                    self._checkpoints.remove(running.task)
            raise
        self._moving.prepare(assigned, arriving)
        assert self._built is not None
        intake = self._built.intake
        intake.take(intake.take_early_frames())  # who gives tasks away may have heard of it before us

    def _open(self, tasks: Sequence[SpoutTask | BoltTask], assigned: AssignedTasks, *, moves: bool) -> None:
        """Opens all of them, or none: if one fails, those before it are closed again. What moves brings its state."""
        done = []
        try:
            for running in tasks:
                checkpoint = self._checkpoint(running, assigned)
                if self._book is not None and isinstance(running.logic, TransactionalSink):
                    running.logic.by_epochs = True
                open_it = partial(running.logic.open, self._maker.context(running.task, assigned))
                running.opened = opened(running.logic, open_it, steady_ns_of(self._clock))
                if self._topology.components[running.component].settings.helping:
                    running.opened = None  # its user knows
                done.append(running)
                if checkpoint is not None and not moves:
                    self._take_up(running, checkpoint)
        except BaseException:
            for running in reversed(done):
                running.close()
            raise

    def _checkpoint(self, running: SpoutTask | BoltTask, assigned: AssignedTasks) -> TaskCheckpoint | None:
        if self._checkpoints is None:
            return None
        checkpoint = TaskCheckpoint(running, index=assigned.by_id[running.task].index)
        self._checkpoints.add(running, checkpoint)
        if isinstance(running, BoltTask) and checkpoint.touch is not None:
            running.watch_keys(checkpoint.touch)
        return checkpoint

    def _take_up(self, running: SpoutTask | BoltTask, checkpoint: TaskCheckpoint) -> None:
        """Goes on from the checkpoint; from the very beginning, if there is none."""
        assert self._checkpoints is not None
        self._checkpoints.restored(self._epoch)
        restore = self._restore.get(running.task, TaskRestore(task=running.task))
        checkpoint.restore(restore, self._checkpoints.store.read_part, self._epoch)
        if restore.ended:
            running.restore_end()

    def _acks(self, tasks: Sequence[SpoutTask | BoltTask]) -> Acks | None:
        if self._book is None:
            return None
        acks = Acks(
            worker=self._worker,
            book=self._book,
            worker_of=self._wiring.places.now,
            carriers=self._wiring.carriers,
            assignment=self._wiring.assigned.number,
            rounds=max(self._maker.keepers_after.values()),
        )
        for running in tasks:
            if running.keeper is not None:
                acks.keep(running.keeper)
        return acks

    def _arrival_processed(self, task: int, arrival: Arrival) -> None:
        assert self._built is not None
        self._built.arrival_processed(task, arrival)

    def _random_number(self) -> int:
        """The same ones again where a seed is given, as in tests."""
        return self._random.getrandbits(64)
