"""From a topology and an assignment to a worker with running tasks."""

from __future__ import annotations

import copy
import random
from collections.abc import Iterable, Mapping, Sequence, Set
from functools import partial
from typing import Any

from msgspec.structs import replace

from penstock.flow.ledger import AckBook
from penstock.plan.assignment import Assignment
from penstock.plan.edges import Edge
from penstock.plan.shape import shape_of
from penstock.plan.tasks import Task, tasks_of
from penstock.topology.bolts import KeyedBolt
from penstock.topology.context import TaskContext
from penstock.topology.groupings import Gather
from penstock.topology.spec import ComponentSpec
from penstock.topology.topology import Topology
from penstock.topology.transactional import TransactionalSink
from penstock.topology.ways import answering, comes_of_many, most_after
from penstock.worker.acks import Acks
from penstock.worker.arrival import Arrival
from penstock.worker.assigned_tasks import AssignedTasks
from penstock.worker.bolt_task import BoltTask
from penstock.worker.carriers import Carrier, FrameWay
from penstock.worker.checkpoints import Checkpoints, PartStore
from penstock.worker.clock import Clock, SystemClock, steady_ns_of
from penstock.worker.company import Colleague
from penstock.worker.departures import Departures
from penstock.worker.failures import Failures
from penstock.worker.gatherer import GatherEdge
from penstock.worker.helper_task import HelperTask
from penstock.worker.helpers import Helpers
from penstock.worker.moving import Moving, to_self
from penstock.worker.newcomers import Newcomers
from penstock.worker.opened_logic import opened
from penstock.worker.past_counts import PastCounts
from penstock.worker.resume import SpoutProgress
from penstock.worker.roster import Roster
from penstock.worker.settings import WorkerSettings
from penstock.worker.spout_task import SpoutTask
from penstock.worker.task_checkpoints import TaskCheckpoint, TaskRestore
from penstock.worker.ticks import Ticks
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
        self._claim = claim
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
            assigned=AssignedTasks(assignment, tasks_of(shape_of(topology)) if tasks is None else tasks),
            former=former or {},
            ways=ways,
            colleagues=colleagues,
            settings=self._settings,
            clock=self._clock,
            book=self._book,
            failures=self.failures,
            random_number=self._random_number,
        )
        components = shape_of(topology).in_topological_order()
        self._rank = {component.name: rank for rank, component in enumerate(components)}
        self._keepers_after = most_after(topology.components, comes_of_many)
        self._answering = answering(topology.components)
        self._built: Worker | None = None

    def build(self) -> Worker:
        """The worker, with every task opened. An exception of a task's `open` is raised."""
        wiring = self._wiring
        assigned = wiring.assigned
        tasks = self._made(assigned.on(self._worker), assigned, moves=False)
        opener = wiring.opener(tracked=self._book is not None)
        roster = Roster(tasks, self._rank)
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
        helpers = Helpers(roster=roster, credit=wiring.credit, high_water_tuples=self._settings.local_queue_tuples)
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
            credit=wiring.credit,
            opener=opener,
            uplinks=wiring.uplinks,
            settings=self._settings,
            clock=self._clock,
            casts=casts,
            spare_time=wiring.spare_time,
            acks=acks,
            checkpoints=self._checkpoints,
        )
        try:
            self._open(tasks, assigned, moves=False)
        except BaseException:
            for carrier in self._wiring.carriers.values():
                carrier.close()
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
        for peer, way in ways.items():
            if peer not in wiring.carriers:
                wiring.carriers[peer] = Carrier(way, wiring.credit)
        for colleague in colleagues:
            wiring.company.met(colleague)
        assigned = AssignedTasks(assignment, tasks)
        here = {task.id for task in wiring.assigned.on(self._worker)}
        new = [task for task in assigned.on(self._worker) if task.id not in here]
        self._moving.drop(task.id for task in new)
        arriving = self._made(new, assigned, moves=True)
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

    def _made(self, tasks: Sequence[Task], assigned: AssignedTasks, *, moves: bool) -> list[SpoutTask | BoltTask]:
        """Bolts come first."""
        tasks = sorted(tasks, key=lambda task: (self._rank[task.component], task.id))
        # Downstream first, because a local lane needs the task that it leads to.
        bolts = [self._bolt(task, assigned, moves=moves) for task in reversed(tasks) if task.kind == "bolt"]
        made: list[SpoutTask | BoltTask] = [*reversed(bolts)]
        made += (self._spout(task, assigned) for task in tasks if task.kind == "spout")
        for running in made:
            self._give_helpers(running, assigned)
        return made

    def _open(self, tasks: Sequence[SpoutTask | BoltTask], assigned: AssignedTasks, *, moves: bool) -> None:
        """Opens all of them, or none: if one fails, those before it are closed again. What moves brings its state."""
        done = []
        try:
            for running in tasks:
                checkpoint = self._checkpoint(running, assigned)
                if self._book is not None and isinstance(running.logic, TransactionalSink):
                    running.logic.by_epochs = True
                context = self._context(running.task, assigned)
                running.opened = opened(running.logic, partial(running.logic.open, context), steady_ns_of(self._clock))
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
            rounds=max(self._keepers_after.values()),
        )
        for running in tasks:
            if running.keeper is not None:
                acks.keep(running.keeper)
        return acks

    def _spec(self, component: str) -> ComponentSpec:
        return self._topology.components[component]

    def _context(self, task_id: int, assigned: AssignedTasks) -> TaskContext:
        task = assigned.by_id[task_id]
        return TaskContext(
            topology=self._topology.name,
            component=task.component,
            index=task.index,
            count=len(assigned.of[task.component]),
            task_id=task.id,
            worker=self._worker,
            attempt=self._claim << 32 | assigned.number,
            run=self._run,
            checkpoint=self._checkpoint_id,
            now_ns=self._clock.now_ns,
        )

    def _common(self, task: Task, assigned: AssignedTasks) -> dict[str, Any]:
        tracking = self._tracking()
        outputs = self._wiring.outputs(task, tracking, assigned)
        return {"task": task.id, "tracking": tracking, "outputs": outputs, **self._of_component(task.component)}

    def _tracking(self) -> Tracking | None:
        return None if self._book is None else Tracking(self._book, marks_roots=bool(self._answering))

    def _of_component(self, component: str) -> dict[str, Any]:
        return {
            "keepers_after": self._keepers_after[component],
            "component": component,
            # Tasks of one worker must not share what their user's object holds.
            "logic": copy.deepcopy(self._spec(component).logic),
            "clock": self._clock,
            "failures": self.failures,
        }

    def _give_helpers(self, host: SpoutTask | BoltTask, assigned: AssignedTasks) -> None:
        """Makes what does the work of bolts that a task feeds. It is opened when it is needed."""
        wiring, task = self._wiring, assigned.by_id[host.task]
        for edge in wiring.helped_from(task.component):
            tracking = self._tracking()
            helper = HelperTask(
                host=host,
                edge=edge.id,
                context=self._helper_context(task, edge.target, assigned),
                inputs={edge.id: wiring.facts.input(edge)},
                assignment=assigned.number,
                task=task.id,
                tracking=tracking,
                outputs=wiring.helper_outputs(edge, task, tracking, assigned),
                **self._of_component(edge.target),
            )
            host.helpers.append(helper)
            host.outputs.add_help(edge.id, wiring.help_lane(edge, helper, host.tracking, assigned))

    def _helper_context(self, host: Task, component: str, assigned: AssignedTasks) -> TaskContext:
        count = len(assigned.of[component])
        about = self._context(host.id, assigned)
        return replace(about, component=component, index=count + host.index, count=count, helping=True)

    def _spout(self, task: Task, assigned: AssignedTasks) -> SpoutTask:
        if self._book is None:
            return SpoutTask(**self._common(task, assigned))
        settings = self._settings
        return TrackedSpoutTask(
            max_pending=settings.max_pending,
            max_tries=settings.max_tries,
            singly_tuples=settings.singly_tuples,
            **self._common(task, assigned),
        )

    def _bolt(self, task: Task, assigned: AssignedTasks, *, moves: bool) -> BoltTask:
        spec = self._spec(task.component)
        into = [edge for edge in self._wiring.edges if edge.target == task.component]
        gathered = {edge: by for edge in into if isinstance(by := self._wiring.facts.grouping(edge), Gather)}
        common = self._common(task, assigned)
        if isinstance(common["logic"], KeyedBolt):
            common["logic"].state = {}
        bolt = self._wiring.bolts[task.id] = BoltTask(
            inputs={edge.id: self._wiring.facts.input(edge) for edge in into},
            gathers={edge.id: self._gather_edge(edge, by, assigned) for edge, by in gathered.items()},
            assignment=assigned.number,
            since=assigned.number if moves else 0,
            tree_by_tree=task.component in self._answering,
            channels=[(edge.id, source.id) for edge in into for source in assigned.of[edge.source]],
            processed_arrival=self._arrival_processed,
            tick_every_s=spec.settings.tick_every_s,
            save=None if self._checkpoints is None else self._checkpoints.save,
            **common,
        )
        return bolt

    def _arrival_processed(self, task: int, arrival: Arrival) -> None:
        assert self._built is not None
        self._built.arrival_processed(task, arrival)

    def _gather_edge(self, edge: Edge, grouping: Gather, assigned: AssignedTasks) -> GatherEdge:
        index_of = {task.id: task.index for task in assigned.of[edge.source]}
        return GatherEdge(
            edge.source, edge.stream, self._wiring.facts.fields(edge), grouping=grouping, index_of=index_of
        )

    def _random_number(self) -> int:
        """The same ones again where a seed is given, as in tests."""
        return self._random.getrandbits(64)
