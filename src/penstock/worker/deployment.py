"""From a topology and an assignment to a worker with running tasks."""

from __future__ import annotations

import copy
import random
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from penstock.flow.ledger import AckBook
from penstock.plan.assignment import Assignment
from penstock.plan.edges import Edge
from penstock.plan.tasks import Task
from penstock.topology.bolts import KeyedBolt
from penstock.topology.context import TaskContext
from penstock.topology.groupings import Gather
from penstock.topology.spec import ComponentSpec
from penstock.topology.topology import Topology
from penstock.topology.transactional import TransactionalSink
from penstock.topology.ways import answering, comes_of_many, most_after
from penstock.worker.acks import Acks
from penstock.worker.arrival import Arrival
from penstock.worker.bolt_task import BoltTask
from penstock.worker.carriers import FrameWay
from penstock.worker.checkpoints import Checkpoints, PartStore
from penstock.worker.clock import Clock, SystemClock
from penstock.worker.company import Colleague
from penstock.worker.failures import Failures
from penstock.worker.gatherer import GatherEdge
from penstock.worker.resume import SpoutProgress
from penstock.worker.settings import WorkerSettings
from penstock.worker.spout_task import SpoutTask
from penstock.worker.task_checkpoints import TaskCheckpoint, TaskRestore
from penstock.worker.tracked_spout import TrackedSpoutTask
from penstock.worker.tracking import Tracking
from penstock.worker.wiring import Wiring
from penstock.worker.worker import Inbox, Worker

__all__ = ["Deployment"]


class Deployment:
    """Builds the worker: its tasks, on the wiring between them."""

    def __init__(
        self,
        *,
        worker: int,
        topology: Topology,
        assignment: Assignment,
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
        self._assignment = assignment
        self._settings = settings or WorkerSettings()
        self._clock = clock or SystemClock()
        self._inbox = inbox
        self._resume = resume or {}
        self._restore = {one.task: one for one in restore}
        self._epoch = epoch
        self._attempt = claim << 32 | assignment.number
        self._run = run
        self._checkpoint_id = checkpoint
        self._checkpoints: Checkpoints | None = None
        if self._settings.delivery == "exactly_once":
            assert store is not None, "exactly once needs a place for checkpoints"
            self._checkpoints = Checkpoints(store, beside=saves_beside)
        self.failures = Failures()
        self._random = random.Random(seed)
        self._book = AckBook(self._random_number) if self._settings.delivery == "at_least_once" else None
        self._wiring = Wiring(
            worker=worker,
            topology=topology,
            assignment=assignment,
            ways=ways,
            colleagues=colleagues,
            settings=self._settings,
            clock=self._clock,
            book=self._book,
            failures=self.failures,
            random_number=self._random_number,
        )
        self._tasks = self._wiring.tasks
        self._keepers_after = most_after(topology, comes_of_many)
        self._answering = answering(topology)
        self._built: Worker | None = None

    def build(self) -> Worker:
        """The worker, with every task opened. An exception of a task's `open` is raised."""
        mine = [task for task in self._tasks if self._assignment.worker_of[task.id] == self._worker]
        # Downstream first, because a local lane needs the task that it leads to.
        for task in reversed([task for task in mine if task.kind == "bolt"]):
            self._wiring.bolts[task.id] = self._bolt(task)
        spouts = [self._spout(task) for task in mine if task.kind == "spout"]
        bolts = [self._wiring.bolts[task.id] for task in mine if task.kind == "bolt"]
        wiring = self._wiring
        opener = wiring.opener(tracked=self._book is not None)
        self._built = Worker(
            worker=self._worker,
            spouts=spouts,
            bolts=bolts,
            worker_of=self._assignment.worker_of,
            inbox=self._inbox,
            carriers=wiring.carriers,
            credit=wiring.credit,
            opener=opener,
            uplinks=wiring.uplinks,
            settings=self._settings,
            clock=self._clock,
            assignment=self._assignment.number,
            casts=wiring.casts(opener),
            acks=self._acks([*spouts, *bolts]),
            checkpoints=self._checkpoints,
        )
        self._open([*bolts, *spouts])
        for spout in spouts:
            if spout.task in self._resume:
                spout.resume(self._resume[spout.task])
        return self._built

    def _open(self, tasks: Sequence[SpoutTask | BoltTask]) -> None:
        """Opens all of them, or none: if one fails, those before it are closed again."""
        opened = []
        try:
            for running in tasks:
                checkpoint = self._checkpoint(running)
                if self._book is not None and isinstance(running.logic, TransactionalSink):
                    running.logic.by_epochs = True
                running.logic.open(self._context(running.task))
                opened.append(running)
                if checkpoint is not None:
                    self._take_up(running, checkpoint)
        except BaseException:
            for running in reversed(opened):
                running.close()
            for carrier in self._wiring.carriers.values():
                carrier.close()
            if self._checkpoints is not None:
                self._checkpoints.close()
            raise

    def _checkpoint(self, running: SpoutTask | BoltTask) -> TaskCheckpoint | None:
        if self._checkpoints is None:
            return None
        checkpoint = TaskCheckpoint(running, index=self._tasks[running.task].index)
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
            worker_of=self._assignment.worker_of,
            carriers=self._wiring.carriers,
            assignment=self._assignment.number,
            rounds=max(self._keepers_after.values()),
        )
        for running in tasks:
            if running.keeper is not None:
                acks.keep(running.keeper)
        return acks

    def _spec(self, component: str) -> ComponentSpec:
        return self._topology.components[component]

    def _context(self, task_id: int) -> TaskContext:
        task = self._tasks[task_id]
        return TaskContext(
            topology=self._topology.name,
            component=task.component,
            index=task.index,
            count=len(self._wiring.tasks_of[task.component]),
            task_id=task.id,
            worker=self._worker,
            attempt=self._attempt,
            run=self._run,
            checkpoint=self._checkpoint_id,
            now_ns=self._clock.now_ns,
        )

    def _common(self, task: Task) -> dict[str, Any]:
        tracking = None if self._book is None else Tracking(self._book, marks_roots=bool(self._answering))
        return {
            "tracking": tracking,
            "keepers_after": self._keepers_after[task.component],
            "task": task.id,
            "component": task.component,
            # Tasks of one worker must not share what their user's object holds.
            "logic": copy.deepcopy(self._spec(task.component).logic),
            "outputs": self._wiring.outputs(task, tracking),
            "clock": self._clock,
            "failures": self.failures,
        }

    def _spout(self, task: Task) -> SpoutTask:
        if self._book is None:
            return SpoutTask(**self._common(task))
        settings = self._settings
        return TrackedSpoutTask(
            max_pending=settings.max_pending,
            max_tries=settings.max_tries,
            singly_tuples=settings.singly_tuples,
            **self._common(task),
        )

    def _bolt(self, task: Task) -> BoltTask:
        spec = self._spec(task.component)
        into = [edge for edge in self._wiring.edges if edge.target == task.component]
        gathered = {edge: by for edge in into if isinstance(by := self._wiring.facts.grouping(edge), Gather)}
        common = self._common(task)
        if isinstance(common["logic"], KeyedBolt):
            common["logic"].state = {}
        return BoltTask(
            inputs={edge.id: self._wiring.facts.input(edge) for edge in into},
            gathers={edge.id: self._gather_edge(edge, by) for edge, by in gathered.items()},
            tree_by_tree=task.component in self._answering,
            channels=[(edge.id, source.id) for edge in into for source in self._wiring.tasks_of[edge.source]],
            processed_arrival=self._arrival_processed,
            tick_every_s=spec.settings.tick_every_s,
            save=None if self._checkpoints is None else self._checkpoints.save,
            **common,
        )

    def _arrival_processed(self, task: int, arrival: Arrival) -> None:
        assert self._built is not None
        self._built.arrival_processed(task, arrival)

    def _gather_edge(self, edge: Edge, grouping: Gather) -> GatherEdge:
        index_of = {task.id: task.index for task in self._wiring.tasks_of[edge.source]}
        return GatherEdge(
            edge.source, edge.stream, self._wiring.facts.fields(edge), grouping=grouping, index_of=index_of
        )

    def _random_number(self) -> int:
        """The same ones again where a seed is given, as in tests."""
        return self._random.getrandbits(64)
