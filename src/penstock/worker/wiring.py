"""The ways between tasks: who emits into which lane, and what carries it to tasks elsewhere."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from penstock.flow.credit import CreditTaker
from penstock.flow.ledger import AckBook
from penstock.flow.measured_costs import MeasuredCosts
from penstock.plan.assignment import Assignment
from penstock.plan.edges import Edge, edges_of
from penstock.plan.shape import shape_of
from penstock.plan.tasks import Task, tasks_of
from penstock.topology.arrow_sink import ArrowSink
from penstock.topology.groupings import Broadcast, Combine
from penstock.topology.spec import ComponentSpec
from penstock.topology.topology import Topology
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
from penstock.worker.lanes import Lane, LocalLane, RemoteLane
from penstock.worker.outputs import Outputs, Subscriber
from penstock.worker.settings import WorkerSettings
from penstock.worker.tracking import Tracking
from penstock.worker.uplinks import EdgeToOne, Uplink, Uplinks

__all__ = ["Wiring"]


class Wiring:
    """All ways out of the tasks of one worker, and in.

    Args:
        worker: its number.
        topology: what runs.
        assignment: where each task is.
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
        assignment: Assignment,
        ways: Mapping[int, FrameWay | None],
        colleagues: Iterable[Colleague],
        settings: WorkerSettings,
        clock: Clock,
        book: AckBook | None,
        failures: Failures,
        random_number: Callable[[], int],
    ) -> None:
        self._worker = worker
        self._topology = topology
        self._assignment = assignment
        self._settings = settings
        self._random_number = random_number
        self.facts = EdgeFacts(topology)
        shape = shape_of(topology)
        self.tasks = tasks_of(shape)
        self.edges = edges_of(shape)
        self.tasks_of: dict[str, list[Task]] = defaultdict(list)
        for task in self.tasks:
            self.tasks_of[task.component].append(task)
        self.credit = CreditTaker(window_bytes=settings.credit_window_bytes)
        self.carriers = {peer: Carrier(way, self.credit) for peer, way in ways.items()}
        self.bolts: dict[int, BoltTask] = {}
        """Those of this worker, put here as they are built: a lane to one of them needs it."""
        self._company = Company(worker, colleagues)
        self._costs = MeasuredCosts()
        self._steady_ns = steady_ns_of(clock)
        self._senders: list[CastSender] = []
        self.uplinks = Uplinks(
            company=self._company,
            worker_of=assignment.worker_of,
            carriers=self.carriers,
            credit=self.credit,
            book=book,
            failures=failures,
            now_ns=clock.now_ns,
            assignment=assignment.number,
            reroutes=settings.delivery != "exactly_once",
        )

    def opener(self, *, tracked: bool) -> FrameOpener:
        """What opens the frames that come."""
        facts = self.facts
        return FrameOpener(
            decoders={edge.id: facts.decoder(edge) for edge in self.edges},
            combined={edge.id: facts.combined_decoder(edge) for edge in self.edges if facts.combine(edge) is not None},
            worker_of=self._assignment.worker_of,
            tracked=tracked,
        )

    def casts(self, opener: FrameOpener) -> Casts:
        """What comes by broadcast, and goes; when all tasks are built."""
        bolts = {
            edge.id: [self.bolts[task.id] for task in self.tasks_of[edge.target] if task.id in self.bolts]
            for edge in self.edges
            if self._cast_algorithm(edge) is not None
        }
        receiver = CastReceiver(
            company=self._company,
            bolts=bolts,
            worker_of=self._assignment.worker_of,
            carriers=self.carriers,
            opener=opener,
            window_bytes=self._settings.credit_window_bytes,
            assignment=self._assignment.number,
        )
        return Casts(company=self._company, senders=self._senders, receiver=receiver)

    def outputs(self, task: Task, tracking: Tracking | None) -> Outputs:
        """Where what a task emits goes."""
        spec = self._spec(task.component)
        subscribers: dict[str, list[Subscriber]] = defaultdict(list)
        for edge in self.edges:
            if edge.source != task.component:
                continue
            algorithm = self._cast_algorithm(edge)
            if algorithm is None:
                lanes = [self._lane(edge, task, target, tracking) for target in self.tasks_of[edge.target]]
            else:
                lanes = self._lanes_of_cast(edge, task, algorithm, tracking)
            subscribers[edge.stream].append(Subscriber(self.facts.grouping(edge), lanes, self.facts.fields(edge)))
        return Outputs(task.component, spec.streams, dict(subscribers))

    def _cast_algorithm(self, edge: Edge) -> str | None:
        """How tuples on this edge get to all tasks; None if each is sent to by itself, or not all get all."""
        grouping = self.facts.grouping(edge)
        return grouping.algorithm if isinstance(grouping, Broadcast) and grouping.algorithm != "serial" else None

    def _lanes_of_cast(self, edge: Edge, source: Task, algorithm: str, tracking: Tracking | None) -> list[Lane]:
        """A lane to each task here, and one to all others."""
        worker_of = self._assignment.worker_of
        lanes = [
            self._lane(edge, source, target, tracking)
            for target in self.tasks_of[edge.target]
            if worker_of[target.id] == self._worker
        ]
        elsewhere = [target.id for target in self.tasks_of[edge.target] if worker_of[target.id] != self._worker]
        if elsewhere:
            is_auto = algorithm == "auto"
            sender = CastSender(
                cast=self._random_number(),
                source=source.id,
                edge=edge.id,
                members={worker_of[target] for target in elsewhere},
                algorithm=None if is_auto else algorithm,
                meter=CastMeter(self._costs, self._steady_ns) if is_auto else None,
                company=self._company,
                carriers=self.carriers,
                credit=self.credit,
                window_bytes=self._settings.credit_window_bytes,
                assignment=self._assignment.number,
                now_ns=self._steady_ns,
            )
            self._senders.append(sender)
            common = {"edge": edge.id, "source": source.id, "fields": self.facts.fields(edge), "tracking": tracking}
            lanes.append(CastLane(sender=sender, targets=elsewhere, assignment=self._assignment.number, **common))
        return lanes

    def _lane(self, edge: Edge, source: Task, target: Task, tracking: Tracking | None) -> Lane:
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
        place = self._assignment.worker_of[target.id]
        if place == self._worker:
            make = None if isinstance(self._spec(edge.target).logic, ArrowSink) else self.facts.tuple_class(edge)
            return LocalLane(receiver=self.bolts[target.id], make=make, **common)
        return RemoteLane(sender=self.carriers[place], assignment=self._assignment.number, **common)

    def _uplink(self, edge: Edge, target: Task, combine: Combine) -> Uplink:
        to_one = EdgeToOne(
            edge=edge.id,
            target=target.id,
            component=edge.target,
            make=self.facts.tuple_class(edge),
            combine=combine,
            sources=frozenset(source.id for source in self.tasks_of[edge.source]),
            receiver=self.bolts.get(target.id),
            wants_plain=isinstance(self._spec(edge.target).logic, ArrowSink),
        )
        return self.uplinks.of(to_one)

    def _spec(self, component: str) -> ComponentSpec:
        return self._topology.components[component]
