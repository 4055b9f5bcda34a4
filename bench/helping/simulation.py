"""Leron's chain in virtual time: the worker's own policy objects, and nothing of machines.

Each task has a worker of its own, which does one tuple after the other: its task's, and its helper's by turns. Frames
and messages take a tenth of a millisecond. What is offered while the spout is stopped is forgotten. So this shows what
the policies are good for, the same each time.
"""

import heapq
from collections import deque
from collections.abc import Callable, Collection, Iterator

import msgspec

from bench.helping.plan import Row
from penstock.flow.helping import Answer, Helping
from penstock.flow.pressure import Pressure, Told
from penstock.flow.relief import ReliefState
from penstock.flow.watermarks import Gauge, Marks

STAGES = ("word", "compute", "exclam1", "exclam2")
"""A stage's number is that of the edge out of it, too."""
PHASE_NS = 5_000_000_000
_LAST = len(STAGES) - 1
_HOP_NS = 100_000
_LOOK_NS = 500_000_000
_ASSIGNMENT = 1


class SimulatedMoment(msgspec.Struct, frozen=True, kw_only=True):
    """What had happened by then."""

    at_s: float
    done: int
    stopping_s: float
    """All tasks together."""
    helps: int
    stops: int
    ratio: float
    """r on the edge from compute to exclam1: the mean of compute's workers."""


class Worker:
    """One task, its queue, and the helper of the stage behind it."""

    def __init__(self, number: int, stage: int, marks: Marks) -> None:
        self.number = number
        self.stage = stage
        self.queues: tuple[deque[int], deque[int]] = (deque(), deque())
        """Those of its task and of its helper: the time at which each tuple came."""
        self.gauges = (Gauge(marks), Gauge(marks))
        self.is_busy = False
        self.next_queue = 0
        self.next_target = 0
        self.share_due = 0.0
        self.pressure: Pressure


class Simulation:
    """One run.

    Args:
        row: the load.
        is_helped: whether compute and exclam1 are.
        marks: the water marks.
        step: Δ of equation (1).
    """

    def __init__(self, row: Row, *, is_helped: bool, marks: Marks, step: float) -> None:
        self._row = row
        self.is_helped = is_helped
        stages = [0, *[1] * row.computes, 2, 3]
        self.workers = [Worker(number, stage, marks) for number, stage in enumerate(stages)]
        self.by_stage = [[worker for worker in self.workers if worker.stage == stage] for stage in range(len(STAGES))]
        self.now_ns = 0
        self._services = [
            [max(1, int(1e6 * phase.by_name().get(stage, 0.0))) for stage in STAGES] for phase in row.phases
        ]
        self._events: list[tuple[int, int, Worker, Callable[[], None]]] = []
        self._numbers = 0
        self._done = 0
        for worker in self.workers:
            ends = _Ends(self, worker)
            worker.pressure = Pressure(
                worker=worker.number,
                surroundings=ends,
                helping=Helping(dict(enumerate(STAGES)), step=step),
                post=ends,
                now_ns=lambda: self.now_ns,
            )

    def later(self, after_ns: int, worker: Worker, what: Callable[[], None]) -> None:
        """Something that happens to a worker so much later, and to nobody else."""
        self._numbers += 1  # what is due at the same time happens in the order in which it was asked for
        heapq.heappush(self._events, (self.now_ns + after_ns, self._numbers, worker, what))

    def run(self, seconds: float) -> Iterator[SimulatedMoment]:
        """What had happened after each half second."""
        self.later(0, self.workers[0], self._offer)
        look_ns = _LOOK_NS
        while look_ns <= seconds * 1e9:
            while self._events[0][0] <= look_ns:
                self.now_ns, _, worker, what = heapq.heappop(self._events)
                what()
                self._read(worker)
                self._work(worker)
            self.now_ns = look_ns
            yield self._moment()
            look_ns += _LOOK_NS

    # ---- tuples

    def _offer(self) -> None:
        spout = self.workers[0]
        self.later(int(1e9 / self._row.offered_per_s), spout, self._offer)
        if self._may_send(spout):
            self._send(spout)

    def _may_send(self, worker: Worker) -> bool:
        stopping = worker.pressure.helping.stopping
        return worker.stage == _LAST or any(target.number not in stopping for target in self.by_stage[worker.stage + 1])

    def _send(self, worker: Worker) -> None:
        """What comes of one tuple of a task."""
        if self.is_helped and worker.stage < _LAST:
            worker.share_due += worker.pressure.helping.share(worker.stage)
            if worker.share_due >= 1.0:
                worker.share_due -= 1.0
                worker.queues[1].append(self.now_ns)
                return
        self._pass_on(worker, worker.stage + 1)

    def _pass_on(self, worker: Worker, stage: int) -> None:
        if stage > _LAST:
            self._done += 1
            return
        targets = self.by_stage[stage]
        free = [target for target in targets if target.number not in worker.pressure.helping.stopping] or targets
        target = free[worker.next_target % len(free)]
        worker.next_target += 1
        self.later(_HOP_NS, target, lambda: target.queues[0].append(self.now_ns))

    def _work(self, worker: Worker) -> None:
        """Begins with the next tuple, if it can."""
        waiting = [bool(worker.queues[0]) and self._may_send(worker), bool(worker.queues[1])]
        if worker.is_busy or not any(waiting):
            return
        which = worker.next_queue if waiting[worker.next_queue] else 1 - worker.next_queue
        worker.next_queue = 1 - which
        worker.is_busy = True
        worker.queues[which].popleft()
        service_ns = self._service_ns(worker.stage + which)
        self.later(service_ns, worker, lambda: self._worked(worker, which, service_ns))

    def _worked(self, worker: Worker, which: int, service_ns: int) -> None:
        worker.is_busy = False
        worker.gauges[which].worked(1, service_ns)
        if which:
            self._pass_on(worker, worker.stage + 2)
        else:
            self._send(worker)

    def _service_ns(self, stage: int) -> int:
        return self._services[self.now_ns // PHASE_NS % len(self._services)][stage]

    # ---- pressure

    def _read(self, worker: Worker) -> None:
        if worker.stage:
            queued, gauge = len(worker.queues[0]), worker.gauges[0]
            worker.pressure.read(
                worker.number,
                STAGES[worker.stage],
                is_pressed=gauge.read(queued),
                is_overfull=gauge.is_overfull(queued),
                is_stalled=not self._may_send(worker),
            )
        if worker.stage < _LAST:
            worker.pressure.strained(worker.stage, strained=worker.gauges[1].read(len(worker.queues[1])))

    def _moment(self) -> SimulatedMoment:
        spells = [(worker.number, worker.pressure.spells) for worker in self.workers]
        ratios = [worker.pressure.helping.ratio.get(worker.stage, 0.0) for worker in self.by_stage[1]]
        return SimulatedMoment(
            at_s=self.now_ns / 1e9,
            done=self._done,
            stopping_s=sum(of.total_ns((task, ReliefState.STOPPING), self.now_ns) for task, of in spells) / 1e9,
            helps=sum(of.count[task, ReliefState.ASKED] for task, of in spells),
            stops=sum(of.count[task, ReliefState.STOPPING] for task, of in spells),
            ratio=sum(ratios) / len(ratios),
        )


class _Ends:
    """What a worker knows of its neighbours, and its way to them."""

    assignment = _ASSIGNMENT

    def __init__(self, simulation: Simulation, worker: Worker) -> None:
        self._simulation = simulation
        self._worker = worker

    def feeding(self, task: int) -> Collection[int]:
        stage = self._simulation.workers[task].stage
        return [worker.number for worker in self._simulation.by_stage[stage - 1]]

    def askable(self, task: int) -> Collection[int]:
        # Nobody reads what exclam2 emits but the sink, which is with it.
        is_helped = self._simulation.is_helped and self._simulation.workers[task].stage < _LAST
        return self.feeding(task) if is_helped else ()

    def help_edges(self, target: int) -> Collection[int]:
        return [self._worker.stage] if self._worker.number in self.askable(target) else ()

    def is_fed(self, target: int) -> bool:
        return self._worker.number in self.feeding(target)

    def tell(self, worker: int, told: Told) -> None:
        to = self._simulation.workers[worker]
        self._simulation.later(_HOP_NS, to, lambda: to.pressure.heard(self._worker.number, told, _ASSIGNMENT))

    def answer(self, answer: Answer) -> None:
        to = self._simulation.workers[answer.worker]
        self._simulation.later(
            _HOP_NS,
            to,
            lambda: to.pressure.answered(self._worker.number, answer.target, answer.episode, yes=answer.yes),
        )
