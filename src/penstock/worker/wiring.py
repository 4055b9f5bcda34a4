"""The ways between tasks: who emits into which lane, and what carries it to tasks elsewhere."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from typing import Any

from penstock.flow.credit import CreditTaker, target_of_edge
from penstock.flow.ledger import AckBook
from penstock.flow.measured_costs import MeasuredCosts
from penstock.flow.spare_time import SpareTime
from penstock.plan.edges import Edge, edges_of, help_edges_of
from penstock.plan.shape import shape_of
from penstock.plan.tasks import Task
from penstock.topology.arrow_sink import ArrowSink
from penstock.topology.groupings import Broadcast, Combine
from penstock.topology.spec import ComponentSpec
from penstock.topology.topology import Topology
from penstock.transport.board import BoardSlot
from penstock.worker.arrival import Marker
from penstock.worker.assigned_tasks import AssignedTasks
from penstock.worker.bolt_task import BoltTask
from penstock.worker.carriers import Carrier, FrameWay
from penstock.worker.cast_lane import CastLane
from penstock.worker.cast_meter import CastMeter
from penstock.worker.cast_receiver import CastReceiver
from penstock.worker.cast_sender import CastSender
from penstock.worker.casts import Casts
from penstock.worker.clock import Clock, steady_ns_of
from penstock.worker.combining_lane import CombiningLane
from penstock.worker.company import Colleague, Company
from penstock.worker.edge_facts import EdgeFacts
from penstock.worker.failures import Failures
from penstock.worker.frame_opener import FrameOpener
from penstock.worker.helper_task import HelperTask
from penstock.worker.lanes import Lane, LocalLane, RemoteLane
from penstock.worker.outputs import Outputs, Subscriber
from penstock.worker.places import Places
from penstock.worker.settings import WorkerSettings
from penstock.worker.target_watch import TargetWatch
from penstock.worker.tasks import RunningTask
from penstock.worker.tracking import Tracking
from penstock.worker.uplinks import EdgeToOne, Uplink, Uplinks
from penstock.worker.way_out import WayOut

__all__ = ["Wiring"]


class Wiring:
    """All ways out of the tasks of one worker, and in.

    Args:
        worker: its number.
        topology: what runs.
        assigned: the tasks, and where each is.
        former: where tasks were that may still be on their way.
        ways: how to reach the other workers.
        colleagues: who they are, as far as is known.
        settings: how the workers are sized.
        clock: the time.
        book: where trees are counted; None where they are not tracked.
        failures: where exceptions of user code are told.
        random_number: gives random 64-bit numbers.
    """

    def __init__(
        self,
        *,
        worker: int,
        topology: Topology,
        assigned: AssignedTasks,
        former: Mapping[int, int],
        ways: Mapping[int, FrameWay | None],
        colleagues: Iterable[Colleague],
        settings: WorkerSettings,
        clock: Clock,
        book: AckBook | None,
        failures: Failures,
        random_number: Callable[[], int],
        slot: BoardSlot | None = None,
    ) -> None:
        self._worker = worker
        self._topology = topology
        self.assigned = assigned
        """The tasks under the assignment that holds."""
        self.places = Places(assigned.worker_of, assignment=assigned.number, former=former)
        self._settings = settings
        self._random_number = random_number
        self.facts = EdgeFacts(topology)
        shape = shape_of(topology)
        self.edges = (*edges_of(shape), *help_edges_of(shape))
        self.credit = CreditTaker(window_bytes=settings.credit_window_bytes)
        self._steady_ns = steady_ns_of(clock)
        self.way_out = self._way_out(book, slot)
        self.carriers: dict[int, Carrier] = {}
        self.reach(ways)
        self.bolts: dict[int, BoltTask] = {}
        """Those of this worker, put here as they are built: a lane to one of them needs it."""
        self.company = Company(worker, colleagues)
        self._costs = MeasuredCosts()
        self.spare_time = SpareTime()
        self._watch = TargetWatch(
            company=self.company,
            worker_of=self.places.now,
            most_queued_tuples=settings.high_water_tuples,
            credit=self.credit,
            spare_time=self.spare_time,
            steady_ns=self._steady_ns,
        )
        self.senders: list[CastSender] = []
        """Those that were made since they were last taken."""
        self.uplinks = Uplinks(
            company=self.company,
            worker_of=self.places.now,
            carriers=self.carriers,
            credit=self.credit,
            book=book,
            failures=failures,
            now_ns=clock.now_ns,
            assignment=assigned.number,
            reroutes=settings.delivery != "exactly_once",
        )

    def _way_out(self, book: AckBook | None, slot: BoardSlot | None) -> WayOut:
        settings, rank = self._settings, {component: rank for rank, component in enumerate(self._topology.components)}
        return WayOut(
            policy=settings.outgoing,
            interval_ns=round(settings.outgoing_interval_ms * 1e6),
            operators={edge.id: rank[edge.source] for edge in self.edges if self.facts.combine(edge) is None},
            book=book,
            steady_ns=self._steady_ns,
            slot=slot,
        )

    def reach(self, ways: Mapping[int, FrameWay | None]) -> None:
        """There are ways to these workers, unless there were before."""
        for peer, way in ways.items():
            if peer not in self.carriers:
                self.carriers[peer] = Carrier(way, self.credit, self.way_out.waiting_frames(), self.way_out.congested)

    def opener(self, *, tracked: bool) -> FrameOpener:
        """What opens the frames that come."""
        facts = self.facts
        return FrameOpener(
            decoders={edge.id: facts.decoder(edge) for edge in self.edges},
            combined={edge.id: facts.combined_decoder(edge) for edge in self.edges if facts.combine(edge) is not None},
            places=self.places,
            tracked=tracked,
        )

    def casts(self, opener: FrameOpener) -> Casts:
        """What comes by broadcast, and goes; when all tasks are built."""
        receiver = CastReceiver(
            company=self.company,
            bolts_of=self._bolts_of,
            places=self.places,
            carriers=self.carriers,
            opener=opener,
            window_bytes=self._settings.credit_window_bytes,
        )
        return Casts(company=self.company, senders=self.take_senders(), receiver=receiver)

    def take_senders(self) -> list[CastSender]:
        """What broadcasts, of the tasks that were wired since the last time."""
        senders, self.senders = self.senders, []
        return senders

    def _bolts_of(self, edge: int, assignment: int) -> list[BoltTask]:
        """The tasks here that take what is broadcast on an edge, under an assignment."""
        about = self.edges[edge] if edge < len(self.edges) else None
        if about is None or self._cast_algorithm(about) is None:
            return []
        bolts = sorted((bolt for bolt in self.bolts.values() if bolt.component == about.target), key=lambda b: b.task)
        return [bolt for bolt in bolts if bolt.since <= assignment < bolt.until]

    def outputs(self, task: Task, tracking: Tracking | None, assigned: AssignedTasks) -> Outputs:
        """Where what a task emits goes, under an assignment."""
        edges = [edge for edge in self.edges if edge.source == task.component and edge.via is None]
        return self._outputs(task.component, edges, task, tracking, assigned)

    def helper_outputs(self, helped: Edge, host: Task, tracking: Tracking | None, assigned: AssignedTasks) -> Outputs:
        """Where what a helper emits goes, which does the work of the bolt at the end of an edge."""
        edges = [edge for edge in self.edges if edge.helps == helped.id]
        return self._outputs(helped.target, edges, host, tracking, assigned)

    def _outputs(
        self, component: str, edges: Iterable[Edge], task: Task, tracking: Tracking | None, assigned: AssignedTasks
    ) -> Outputs:
        subscribers: dict[str, list[Subscriber]] = defaultdict(list)
        for edge in edges:
            lanes = self._lanes(edge, task, tracking, assigned)
            subscriber = Subscriber(self.facts.grouping(edge), lanes, self.facts.fields(edge), watch=self._watch)
            subscribers[edge.stream].append(subscriber)
        return Outputs(component, self._spec(component).streams, dict(subscribers))

    def helped_from(self, component: str) -> list[Edge]:
        """The edges from a component to bolts whose work its tasks may do."""
        return [edge for edge in self.edges if edge.source == component and edge.helped and edge.via is None]

    def help_lane(self, edge: Edge, helper: HelperTask, tracking: Tracking | None, assigned: AssignedTasks) -> Lane:
        """From a helper's host to it."""
        return LocalLane(
            receiver=helper,
            make=self.facts.tuple_class(edge),
            edge=edge.id,
            source=helper.host.task,
            target=target_of_edge(edge.id),
            fields=self.facts.fields(edge),
            tracking=tracking,
            assignment=assigned.number,
        )

    def _lanes(
        self, edge: Edge, source: Task, tracking: Tracking | None, assigned: AssignedTasks, keep: Sequence[Lane] = ()
    ) -> list[Lane]:
        """From one task to all tasks of the target; those to be kept are not made anew."""
        algorithm = self._cast_algorithm(edge)
        if algorithm is not None:
            return self._lanes_of_cast(edge, source, algorithm, tracking, assigned, keep)
        kept = {lane.target: lane for lane in keep}
        targets = assigned.of[edge.target]
        return [kept.get(target.id) or self._lane(edge, source, target, tracking, assigned) for target in targets]

    def relay(self, running: RunningTask, moved: Set[int], assigned: AssignedTasks) -> list[Lane]:
        """Lays the lanes of a task anew that lead to others that move. Returns the old ones, flushed and closed."""
        return [lane for one in running.whole for lane in self._relay(one, moved, assigned)]

    def _relay(self, running: RunningTask, moved: Set[int], assigned: AssignedTasks) -> list[Lane]:
        source = assigned.by_id[running.task]
        closed: list[Lane] = []
        for subscriber in running.outputs.subscribers:
            edge = self.edges[subscriber.lanes[0].edge]
            if not any(task.id in moved for task in (*self.assigned.of[edge.target], *assigned.of[edge.target])):
                continue
            # A cast is laid anew as a whole: whoever it reaches hears of it.
            old = [
                lane for lane in subscriber.lanes if isinstance(lane, CastLane) or not moved.isdisjoint(lane.targets)
            ]
            kept = [lane for lane in subscriber.lanes if lane not in old]
            for lane in old:
                lane.put_marker(Marker(0, ends=False, switch=assigned.number))
                lane.retire()
                if not isinstance(lane, CastLane):  # whose credit is its edge's; other edges may lead to its targets
                    self.credit.laid((source.id, lane.target), assigned.number)
            running.outputs.relay(subscriber, self._lanes(edge, source, running.tracking, assigned, kept))
            closed += old
        if closed and running.tracking is not None:
            running.tracking.lanes[:] = running.outputs.all_lanes
        return closed

    def _cast_algorithm(self, edge: Edge) -> str | None:
        """How tuples on this edge get to all tasks; None if each is sent to by itself, or not all get all."""
        grouping = self.facts.grouping(edge)
        return grouping.algorithm if isinstance(grouping, Broadcast) and grouping.algorithm != "serial" else None

    def _lanes_of_cast(
        self,
        edge: Edge,
        source: Task,
        algorithm: str,
        tracking: Tracking | None,
        assigned: AssignedTasks,
        keep: Sequence[Lane],
    ) -> list[Lane]:
        """A lane to each task here, and one to all others."""
        worker_of, targets = assigned.worker_of, assigned.of[edge.target]
        kept = {lane.target: lane for lane in keep}
        lanes = [
            kept.get(target.id) or self._lane(edge, source, target, tracking, assigned)
            for target in targets
            if worker_of[target.id] == self._worker
        ]
        elsewhere = [target.id for target in targets if worker_of[target.id] != self._worker]
        if elsewhere:
            is_auto = algorithm == "auto"
            sender = CastSender(
                cast=self._random_number(),
                source=source.id,
                edge=edge.id,
                members={worker_of[target] for target in elsewhere},
                algorithm=None if is_auto else algorithm,
                meter=CastMeter(self._costs, self._steady_ns) if is_auto else None,
                company=self.company,
                carriers=self.carriers,
                credit=self.credit,
                window_bytes=self._settings.credit_window_bytes,
                assignment=assigned.number,
                now_ns=self._steady_ns,
            )
            self.senders.append(sender)
            common = {"edge": edge.id, "source": source.id, "fields": self.facts.fields(edge), "tracking": tracking}
            lanes.append(CastLane(sender=sender, targets=elsewhere, assignment=assigned.number, **common))
        return lanes

    def _lane(self, edge: Edge, source: Task, target: Task, tracking: Tracking | None, assigned: AssignedTasks) -> Lane:
        common: dict[str, Any] = {
            "edge": edge.id,
            "source": source.id,
            "target": target.id,
            "fields": self.facts.fields(edge),
            "tracking": tracking,
        }
        combine = self.facts.combine(edge)
        if combine is not None and target.index == 0:
            return CombiningLane(uplink=self._uplink(edge, target, combine), **common)
        common["assignment"] = assigned.number
        place = assigned.worker_of[target.id]
        if place == self._worker:
            make = None if isinstance(self._spec(edge.target).logic, ArrowSink) else self.facts.tuple_class(edge)
            return LocalLane(receiver=self.bolts[target.id], make=make, **common)
        return RemoteLane(sender=self.carriers[place], **common)

    def _uplink(self, edge: Edge, target: Task, combine: Combine) -> Uplink:
        to_one = EdgeToOne(
            edge=edge.id,
            target=target.id,
            component=edge.target,
            make=self.facts.tuple_class(edge),
            combine=combine,
            sources=frozenset(source.id for source in self.assigned.of[edge.source]),
            receiver=self.bolts.get(target.id),
            wants_plain=isinstance(self._spec(edge.target).logic, ArrowSink),
        )
        return self.uplinks.of(to_one)

    def _spec(self, component: str) -> ComponentSpec:
        return self._topology.components[component]
