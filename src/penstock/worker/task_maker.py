"""Makes the tasks of a worker, on the wiring between them, and their helpers. It opens none."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from typing import Any

from msgspec.structs import replace

from penstock.flow.credit import WIDE_WINDOW_BYTES
from penstock.flow.ledger import AckBook
from penstock.plan.edges import Edge
from penstock.plan.shape import shape_of
from penstock.plan.tasks import Task
from penstock.topology.bolts import KeyedBolt
from penstock.topology.context import TaskContext
from penstock.topology.groupings import Gather
from penstock.topology.topology import Topology
from penstock.topology.ways import answering, comes_of_many, most_after
from penstock.worker.arrival import Arrival
from penstock.worker.assigned_tasks import AssignedTasks
from penstock.worker.bolt_task import BoltTask
from penstock.worker.clock import Clock
from penstock.worker.failures import Failures
from penstock.worker.gatherer import GatherEdge
from penstock.worker.helper_task import HelperTask
from penstock.worker.outputs import Outputs
from penstock.worker.settings import WorkerSettings
from penstock.worker.spout_task import SpoutTask
from penstock.worker.tracked_spout import TrackedSpoutTask
from penstock.worker.tracking import Tracking
from penstock.worker.wiring import Wiring

__all__ = ["TaskMaker"]


class TaskMaker:
    """Of one worker.

    Args:
        topology: what runs.
        wiring: the ways between tasks.
        context: what all tasks of this worker are told, but for who they are.
        settings: how the workers are sized.
        clock: the time.
        book: where trees are counted; None where they are not tracked.
        failures: where exceptions of user code are told.
        save: what saves a task at the end of an epoch; None where nothing is saved.
        processed_arrival: what is told of each arrival that a bolt is done with.
    """

    def __init__(
        self,
        *,
        topology: Topology,
        wiring: Wiring,
        context: TaskContext,
        settings: WorkerSettings,
        clock: Clock,
        book: AckBook | None,
        failures: Failures,
        save: Callable[[int, int], None] | None,
        processed_arrival: Callable[[int, Arrival], None],
    ) -> None:
        self._components = topology.components
        self._wiring = wiring
        self._about = context
        self._settings = settings
        self._clock = clock
        self._book = book
        self._failures = failures
        self._save = save
        self._processed_arrival = processed_arrival
        self._answering = answering(self._components)
        in_order = shape_of(topology).in_topological_order()
        self.rank = {component.name: rank for rank, component in enumerate(in_order)}
        """Where each component is in the topological order."""
        self.keepers_after = most_after(self._components, comes_of_many)
        """For each component, how many bolts that keep trees what it emits can meet at most."""

    def make(self, tasks: Sequence[Task], assigned: AssignedTasks, *, moves: bool) -> list[SpoutTask | BoltTask]:
        """These tasks, bolts first. With `moves`, they come from elsewhere by this assignment."""
        tasks = sorted(tasks, key=lambda task: (self.rank[task.component], task.id))
        # Downstream first, because a local lane needs the task that it leads to.
        bolts = [self._bolt(task, assigned, moves=moves) for task in reversed(tasks) if task.kind == "bolt"]
        made: list[SpoutTask | BoltTask] = [*reversed(bolts)]
        made += (self._spout(task, assigned) for task in tasks if task.kind == "spout")
        for running in made:
            self._give_helpers(running, assigned)
        return made

    def context(self, task_id: int, assigned: AssignedTasks) -> TaskContext:
        """What a task is told when it opens."""
        task = assigned.by_id[task_id]
        return replace(
            self._about,
            component=task.component,
            index=task.index,
            count=len(assigned.of[task.component]),
            task_id=task.id,
            attempt=self._about.attempt | assigned.number,
        )

    def _helper_context(self, host: Task, component: str, assigned: AssignedTasks) -> TaskContext:
        count = len(assigned.of[component])
        about = self.context(host.id, assigned)
        return replace(about, component=component, index=count + host.index, count=count, helping=True)

    def _spout(self, task: Task, assigned: AssignedTasks) -> SpoutTask:
        settings = self._settings
        if self._book is None:
            return SpoutTask(max_failures=settings.max_spout_failures, save=self._save, **self._common(task, assigned))
        return TrackedSpoutTask(
            max_failures=settings.max_spout_failures,
            save=None,  # where it goes on is told by what is done, not by markers
            max_pending=settings.max_pending,
            max_tries=settings.max_tries,
            singly_tuples=settings.singly_tuples,
            **self._common(task, assigned),
        )

    def _bolt(self, task: Task, assigned: AssignedTasks, *, moves: bool) -> BoltTask:
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
            processed_arrival=self._processed_arrival,
            tick_every_s=self._components[task.component].settings.tick_every_s,
            save=self._save,
            **common,
        )
        return bolt

    def _give_helpers(self, host: SpoutTask | BoltTask, assigned: AssignedTasks) -> None:
        """Makes what does the work of bolts that a task feeds."""
        wiring, task = self._wiring, assigned.by_id[host.task]
        for edge in wiring.helped_from(task.component):
            tracking = self._tracking()
            helper = HelperTask(
                host=host,
                edge=edge.id,
                helped=assigned.of[edge.target][0].id,
                context=self._helper_context(task, edge.target, assigned),
                inputs={edge.id: wiring.facts.input(edge)},
                assignment=assigned.number,
                task=task.id,
                tracking=tracking,
                outputs=self._in_pieces(wiring.helper_outputs(edge, task, tracking, assigned)),
                logic=self._components[edge.target].logic,
                **self._of_component(edge.target),
            )
            host.helpers.append(helper)
            host.outputs.add_help(edge.id, wiring.help_lane(edge, helper, host.tracking, assigned))

    def _common(self, task: Task, assigned: AssignedTasks) -> dict[str, Any]:
        tracking = self._tracking()
        return {
            "task": task.id,
            "tracking": tracking,
            "outputs": self._in_pieces(self._wiring.outputs(task, tracking, assigned)),
            # Tasks of one worker must not share what their user's object holds.
            "logic": copy.deepcopy(self._components[task.component].logic),
            **self._of_component(task.component),
        }

    def _of_component(self, component: str) -> dict[str, Any]:
        return {
            "keepers_after": self.keepers_after[component],
            "component": component,
            "clock": self._clock,
            "failures": self._failures,
        }

    def _in_pieces(self, outputs: Outputs) -> Outputs:
        """What one call emits is emitted in pieces: each is no more than may wait for a task, or be under way to it."""
        settings = self._settings
        most_bytes = max(WIDE_WINDOW_BYTES, settings.credit_window_bytes)
        outputs.bound_pieces(most_tuples=settings.high_water_tuples, most_bytes=most_bytes)
        return outputs

    def _tracking(self) -> Tracking | None:
        return None if self._book is None else Tracking(self._book, marks_roots=bool(self._answering))

    def _gather_edge(self, edge: Edge, grouping: Gather, assigned: AssignedTasks) -> GatherEdge:
        index_of = {task.id: task.index for task in assigned.of[edge.source]}
        return GatherEdge(
            edge.source, edge.stream, self._wiring.facts.fields(edge), grouping=grouping, index_of=index_of
        )
