"""Moves under events in any order: a model of the workers checks everything that the controller says about them.

Workers prepare or cannot, switch, take tasks over, die at any point, fall silent, come back and answer late. Whatever
happens, the run is on the old assignment or on the new one, all are told the same, no epoch begins in the middle where
tasks are saved, and when all goes well for a while nothing is left under way.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import msgspec
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from penstock.checkpoint.shape import SavedComponent, SavedShape
from penstock.control.decisions import Decision
from penstock.control.events import EpochCommitted, Event, Launch, Proposed, Tick, WorkersWanted
from penstock.control.instructions import CommitEpoch, Instruction, SendTo, StartWorker, StopWorker
from penstock.control.membership import ECHO
from penstock.control.moving import (
    Abandon,
    AskMove,
    AskRebalance,
    AskScale,
    Moved,
    NotPrepared,
    Prepare,
    Prepared,
    Switch,
    TakeOver,
)
from penstock.control.peers import PeerGone
from penstock.control.protocol import (
    Begin,
    BeginEpoch,
    Deploy,
    Ended,
    FromController,
    FromWorker,
    Heartbeat,
    Left,
    Ping,
    Ready,
    Refuse,
    Stop,
    TaskNotSaved,
    TaskSaved,
)
from penstock.control.status import Phase
from penstock.plan.assignment import Assignment
from penstock.plan.tasks import Task
from tests.control.stage import PLAN, Stage, register
from tests.control.test_rewinds import saved_task
from tests.tries import tried

SHAPE = SavedShape(topology="wordcount", components=(SavedComponent(name="count", kind="keyed"),))
WORKERS = 3


@dataclass
class Process:
    """One worker process, as it knows itself."""

    worker: int
    connection: bytes
    alive: bool = True
    stopped: bool = False
    deployed: int | None = None
    ready: bool = False
    begun: bool = False
    assignment: Assignment | None = None
    tasks: tuple[Task, ...] = ()
    prepare: Prepare | None = None
    """What it was asked to prepare, and has neither switched to nor dropped."""
    arriving: dict[int, list[Process]] = field(default_factory=dict)
    """The tasks that are on their way here, and whom they come from."""
    taken_over: set[int] = field(default_factory=set)

    @property
    def talks(self) -> bool:
        return self.alive and not self.stopped


class Moving(RuleBasedStateMachine):
    @initialize(exactly_once=st.booleans())
    def launch(self, exactly_once: bool) -> None:
        plan = msgspec.structs.replace(
            PLAN,
            pinned={0: "it is pinned"},
            unscalable={"lines": "it is a spout"},
            checkpoint_url="file:///there" if exactly_once else None,
            shape=SHAPE if exactly_once else None,
        )
        self.stage = Stage(
            plan,
            workers=WORKERS,
            delivery="exactly_once" if exactly_once else "at_least_once",
            max_restarts=1000,
            rejoin_timeout_s=1e9,
            ready_timeout_s=1e9,
            max_call_s=1e9,
            release_after_s=20.0,
        )
        self.exactly_once = exactly_once
        self.processes: dict[int, Process] = {}
        self.jobs: dict[int, int] = {}
        self.attempts = 0
        self.verdicts: dict[int, str] = {}
        self.newest = 0
        self.open: int | None = None
        """The number of the assignment that was prepared last."""
        self.epoch: int | None = None
        self.begun_epoch = self.committed_epoch = 0
        self.happens(Launch())
        for worker in range(WORKERS):
            self.comes(worker)
        for process in self.processes.values():
            self.gets_ready(process)
        assert self.stage.phase() is Phase.RUNNING

    # ---- what the controller says, checked

    def happens(self, event: Event) -> None:
        self.take(self.stage.happens(event))

    def says(self, process: Process, message: FromWorker) -> None:
        if process.alive:
            self.stage.now_s += 0.001
            self.take(self.stage.says(process.connection, message))

    def take(self, said: list[Instruction]) -> None:
        commits: list[int] = []
        for instruction in said:
            if isinstance(instruction, StartWorker):
                assert instruction.worker not in self.jobs, "two jobs of one worker"
                self.jobs[instruction.worker] = instruction.launch
            elif isinstance(instruction, CommitEpoch):
                commits.append(instruction.manifest.epoch)
            elif isinstance(instruction, SendTo):
                for process in self.processes.values():
                    if process.connection == instruction.connection:
                        self.hear(process, instruction.message)
            else:
                assert not isinstance(instruction, StopWorker) or instruction.worker in self.jobs
        for epoch in commits:
            self.committed_epoch = epoch
            self.happens(EpochCommitted(epoch=epoch))

    def hear(self, process: Process, message: object) -> None:
        if isinstance(message, Prepare):
            number = message.assignment.number
            if number != self.open:
                assert number > self.newest, "a number is never used again"
                assert not self.exactly_once or self.begun_epoch == self.committed_epoch > 0
                assert len(self.under_way()) == 1, "two moves at once"
                self.newest = self.open = number
            assert process.begun
            assert process.prepare is None, "asked again without a verdict"
            assert set(message.assignment.worker_of) == {task.id for task in message.tasks}
            process.prepare = message
        elif isinstance(message, Switch | Abandon):
            verdict = type(message).__name__
            assert self.verdicts.setdefault(message.assignment, verdict) == verdict, "not all are told the same"
            self.conclude(process, message)
        elif isinstance(message, TakeOver):
            assert not self.exactly_once
            process.taken_over.add(message.task)
        elif isinstance(message, Deploy):
            self.deploy(process, message)
        elif isinstance(message, BeginEpoch):
            assert not self.exactly_once or not self.under_way(), "an epoch in the middle of a move"
            self.epoch = self.begun_epoch = message.epoch
        elif isinstance(message, Begin):
            assert process.ready
            process.begun = True
        elif isinstance(message, Stop | Refuse):
            process.stopped = True

    def conclude(self, process: Process, message: FromController) -> None:
        prepare, process.prepare = process.prepare, None
        if isinstance(message, Switch) and process.talks:
            assert prepare is not None
            assert prepare.assignment.number == message.assignment
            assert process.assignment is not None
            before = process.assignment.worker_of
            component_of = {task.id: task.component for task in (*process.tasks, *prepare.tasks)}
            for task in prepare.assignment.tasks_on(process.worker):
                if before.get(task) != process.worker:  # one that is new comes of all former ones of its component
                    former = [old for old in before if component_of[old] == component_of[task]]
                    sources = {before[old] for old in ([task] if task in before else former)}
                    process.arriving[task] = [self.processes[worker] for worker in sorted(sources)]
            process.assignment, process.tasks = prepare.assignment, prepare.tasks

    def deploy(self, process: Process, message: Deploy) -> None:
        number = message.assignment.number
        assert number not in self.verdicts or self.verdicts[number] == "Switch", "an assignment that was abandoned"
        assert process.prepare is None or self.exactly_once
        self.newest = max(self.newest, number)
        process.deployed, process.assignment, process.tasks = number, message.assignment, message.tasks
        process.ready = process.begun = False
        process.prepare = None
        process.arriving, process.taken_over = {}, set()

    def under_way(self) -> list[Decision]:
        decisions = self.stage.controller.status(self.stage.now_s).decisions
        return [one for one in decisions if one.state in ("preparing", "switched")]

    # ---- what may happen

    def comes(self, worker: int) -> None:
        self.attempts += 1
        launch = self.jobs[worker]
        process = Process(worker=worker, connection=f"{worker}/{launch}/{self.attempts}".encode())
        self.processes[worker] = process
        self.says(process, register(worker, launch=launch, attempt=self.attempts, node=f"node-{worker % 2}"))

    def gets_ready(self, process: Process) -> None:
        if process.talks and process.deployed is not None and not process.ready:
            process.ready = True
            self.says(process, Ready(assignment=process.deployed))

    def current(self, worker: int) -> Process | None:
        process = self.processes.get(worker)
        return process if process is not None and process.talks else None

    @rule(task=st.integers(0, 12), worker=st.integers(0, WORKERS))
    def somebody_moves(self, task: int, worker: int) -> None:
        self.take(self.stage.says(b"operator", AskMove(task=task, worker=worker)))

    @rule(worker_of=st.dictionaries(st.integers(1, 8), st.integers(0, WORKERS - 1), max_size=4))
    def a_scheduler_proposes(self, worker_of: dict[int, int]) -> None:
        self.happens(Proposed(worker_of=worker_of, scheduler="any", why="any"))

    @rule(tasks=st.integers(1, 4))
    def somebody_scales(self, tasks: int) -> None:
        self.take(self.stage.says(b"operator", AskScale(component="count", tasks=tasks)))

    @rule()
    def somebody_rebalances(self) -> None:
        self.take(self.stage.says(b"operator", AskRebalance()))

    @rule()
    def more_are_wanted(self) -> None:
        self.happens(WorkersWanted(count=1, why="any"))

    @rule(worker=st.integers(0, WORKERS - 1), able=st.sampled_from([True, True, True, False]))
    def it_prepares(self, worker: int, able: bool) -> None:
        process = self.current(worker)
        if process is not None and process.prepare is not None:
            number = process.prepare.assignment.number
            self.says(process, Prepared(assignment=number) if able else NotPrepared(assignment=number, reason="no"))

    @rule(able=st.just(True))
    def all_prepare(self, able: bool) -> None:
        for worker in range(WORKERS):
            self.it_prepares(worker, able)

    @rule(worker=st.integers(0, WORKERS - 1), number=st.integers(1, 30), task=st.integers(0, 12))
    def it_answers_what_nobody_asked(self, worker: int, number: int, task: int) -> None:
        process = self.current(worker)
        if process is not None and number != self.open:
            for message in (Prepared(assignment=number), NotPrepared(assignment=number, reason="late")):
                self.says(process, message)
            self.says(process, Moved(assignment=number, task=task))

    @rule(worker=st.integers(0, WORKERS - 1))
    def its_tasks_arrive(self, worker: int) -> None:
        process = self.current(worker)
        if process is None or process.assignment is None:
            return
        for task, sources in sorted(process.arriving.items()):
            is_whole = task in process.taken_over or all(source.alive for source in sources)
            if is_whole and process.arriving.pop(task, None) is not None:
                self.says(process, Moved(assignment=process.assignment.number, task=task))

    @rule(worker=st.integers(0, WORKERS - 1))
    def it_gets_ready(self, worker: int) -> None:
        process = self.current(worker)
        if process is not None:
            self.gets_ready(process)

    @rule(worker=st.integers(0, WORKERS - 1), seen=st.booleans())
    def it_dies(self, worker: int, seen: bool) -> None:
        process = self.processes[worker]
        witness = self.current((worker + 1) % WORKERS)
        if process.alive:
            process.alive = False
            generation = self.stage.controller.status(self.stage.now_s).workers[worker].generation
            if seen and witness is not None and not process.stopped:
                self.says(witness, PeerGone(worker=worker, generation=generation))

    @rule(worker=st.integers(0, WORKERS - 1))
    def it_leaves(self, worker: int) -> None:
        process = self.processes[worker]
        if process.alive and process.stopped:
            self.says(process, Left())
            process.alive = False
            self.job_ends(worker)

    def job_ends(self, worker: int) -> None:
        if worker in self.jobs:
            launch = self.jobs.pop(worker)
            self.take(self.stage.host_ends(worker, launch=launch, error="over"))

    @rule(worker=st.integers(0, WORKERS - 1))
    def it_comes_back(self, worker: int) -> None:
        if not self.processes[worker].alive and worker in self.jobs:
            self.comes(worker)

    @rule(worker=st.integers(0, WORKERS - 1))
    def it_ends_and_says_so(self, worker: int) -> None:
        process = self.current(worker)
        # Who has tasks that are on their way to it has not ended.
        if process is not None and process.begun and process.assignment is not None and worker and not process.arriving:
            self.says(process, Ended(assignment=process.assignment.number))

    @precondition(lambda self: self.epoch is not None)
    @rule(able=st.sampled_from([True, True, False]))
    def an_epoch_is_saved(self, able: bool) -> None:
        process = self.current(0)
        epoch, number = self.epoch, self.stage.controller.status(self.stage.now_s).assignment
        if not self.exactly_once or process is None or epoch is None or number is None:
            return
        self.epoch = None
        if not able:
            self.says(process, TaskNotSaved(assignment=number, task=0, epoch=epoch, reason="no"))
            return
        for task in self.stage.controller.metrics(self.stage.now_s).tasks:
            saved = saved_task(min(task.task, 3))
            self.says(process, TaskSaved(assignment=number, task=task.task, epoch=epoch, saved=saved))

    @rule(seconds=st.sampled_from([0.2, 1.0, 3.0, 12.0]), deaf=st.sampled_from([None, None, 0, 1, 2]))
    def time_passes(self, seconds: float, deaf: int | None) -> None:
        until_s = self.stage.now_s + seconds
        while self.stage.now_s < until_s:
            for worker in range(WORKERS):
                process = self.current(worker)
                if process is not None and worker != deaf:
                    self.says(process, Heartbeat())
                    if process.alive:
                        self.take(self.stage.says(process.connection + ECHO, Ping()))
            self.stage.now_s += 0.8
            self.happens(Tick())
            for worker, process in list(self.processes.items()):
                if process.alive and process.stopped and worker in self.jobs:
                    self.it_leaves(worker)

    # ---- what must hold

    @invariant()
    def the_run_goes_on(self) -> None:
        if hasattr(self, "stage"):
            assert self.stage.phase() in (Phase.RUNNING, Phase.STOPPING, Phase.ENDED), self.stage.status()
            status = self.stage.controller.status(self.stage.now_s)
            assert self.verdicts.get(status.assignment or 0) != "Abandon", "what was abandoned does not hold"

    def teardown(self) -> None:
        """When all goes well for a while, nothing is under way any more, and nothing waits."""
        if not hasattr(self, "stage"):
            return
        decisions: tuple[Decision, ...] = ()
        for _ in range(200):
            if self.stage.phase() is not Phase.RUNNING:
                return
            for worker in range(WORKERS):
                if worker in self.jobs and not self.processes[worker].alive:
                    self.comes(worker)
                self.it_gets_ready(worker)
                self.it_prepares(worker, able=True)
            for worker in range(WORKERS):
                self.its_tasks_arrive(worker)
            if self.epoch is not None:
                self.an_epoch_is_saved(able=True)
            self.time_passes(0.5, None)
            decisions = self.stage.controller.status(self.stage.now_s).decisions
            if all(one.is_final for one in decisions):
                return
        raise AssertionError(decisions)


TestMoving = Moving.TestCase
TestMoving.settings = tried(60, steps=30)
