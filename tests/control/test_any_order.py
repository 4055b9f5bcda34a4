"""The controller under events in any order: a model of the outside world checks everything that it says.

The world: jobs of the host, each with processes (attempts) that register, speak, fall silent, leave or die, whenever
they like. What must hold whatever happens is asserted where the controller's instructions are carried out.
"""

from dataclasses import dataclass, field

from hypothesis import strategies as st
from hypothesis.stateful import (
    Bundle,
    MultipleResults,
    RuleBasedStateMachine,
    initialize,
    invariant,
    multiple,
    precondition,
    rule,
)

from penstock.control.events import Arrived, Deserted, Event, HostEnded, HostFailed, Launch, Severed, Tick
from penstock.control.instructions import Fail, Finish, Instruction, SendTo, StartWorker, StopWorker
from penstock.control.membership import ECHO
from penstock.control.metrics import TaskCounts
from penstock.control.peers import PeerChanged
from penstock.control.protocol import (
    Admit,
    Answer,
    AskDrain,
    AskMetrics,
    AskStatus,
    AskStop,
    Begin,
    Deploy,
    Dying,
    Ended,
    Fatal,
    FromWorker,
    Heartbeat,
    Left,
    Ping,
    Ready,
    Refuse,
    Report,
)
from tests.control.stage import Stage, register
from tests.tries import tried


@dataclass
class Process:
    """One attempt of a worker, as the world knows it."""

    worker: int
    launch: int
    attempt: int
    registered: bool = False
    alive: bool = True
    generation: int | None = None
    refused: bool = False
    deployed: bool = False
    ready: bool = False
    begun: bool = False

    @property
    def connection(self) -> bytes:
        return f"{self.worker}/{self.launch}/{self.attempt}".encode()

    @property
    def seated(self) -> bool:
        """Whether the controller must take it for the worker, as far as it can know."""
        return self.alive and self.generation is not None and not self.refused


@dataclass
class World:
    """What the host has running."""

    jobs: dict[int, int] = field(default_factory=dict)
    """By worker, the launch whose job is there."""
    stopping: set[tuple[int, int]] = field(default_factory=set)
    processes: list[Process] = field(default_factory=list)


class AnyOrder(RuleBasedStateMachine):
    processes: Bundle[Process] = Bundle("processes")

    @initialize(workers=st.integers(1, 3), elastic=st.booleans())
    def launch(self, workers: int, elastic: bool) -> None:
        self.world = World()
        self.stage = Stage(
            workers=workers,
            min_workers=1 if elastic else None,
            max_restarts=4,
            start_timeout_s=20,
            ready_timeout_s=40,
            rejoin_timeout_s=30,
        )
        self.generations: dict[int, int] = {}
        self.first_begin_was = False
        self.ended_workers: set[int] = set()
        self.attempts = 0
        self.happens(Launch())

    # ---- what the controller wants, carried out and checked

    def happens(self, event: Event) -> None:
        was_over = self.stage.is_over()
        said = self.stage.happens(event)
        if was_over:
            harmless = (Refuse, Answer)
            assert all(isinstance(one, SendTo) and isinstance(one.message, harmless) for one in said), said
        begins = [one for one in said if isinstance(one, SendTo) and isinstance(one.message, Begin)]
        if begins and not self.first_begin_was:
            self.check_first_begin(begins)
        for instruction in said:
            self.carry_out(instruction)

    def check_first_begin(self, begins: list[SendTo]) -> None:
        """Everybody begins together, and everybody is ready."""
        self.first_begin_was = True
        seats = {worker.worker for worker in self.stage.controller.status(self.stage.now_s).workers}
        told = {begin.connection for begin in begins}
        assert {one.worker for one in self.world.processes if one.connection in told} == seats
        assert all(one.ready and one.seated for one in self.world.processes if one.connection in told)

    def carry_out(self, instruction: Instruction) -> None:
        if isinstance(instruction, SendTo):
            for process in self.world.processes:
                if process.connection == instruction.connection:
                    self.hear(process, instruction.message)
        elif isinstance(instruction, StartWorker):
            assert instruction.worker not in self.world.jobs, "two jobs of one worker"
            assert instruction.worker not in self.ended_workers
            self.world.jobs[instruction.worker] = instruction.launch
        elif isinstance(instruction, Finish | Fail):
            assert self.stage.is_over()
        else:
            assert isinstance(instruction, StopWorker), "nothing is saved here"
            assert self.world.jobs[instruction.worker] == instruction.launch, "a job that is over cannot be stopped"
            assert (instruction.worker, instruction.launch) not in self.world.stopping, "told twice"
            self.world.stopping.add((instruction.worker, instruction.launch))

    def hear(self, process: Process, message: object) -> None:
        if isinstance(message, Admit):
            rivals = [one for one in self.world.processes if one.worker == process.worker and one is not process]
            assert not any(rival.seated for rival in rivals), "two generations of one worker at once"
            assert message.generation > self.generations.get(process.worker, 0)
            self.generations[process.worker] = message.generation
            process.generation = message.generation
        elif isinstance(message, Refuse):
            process.refused = True
        elif isinstance(message, Deploy):
            assert process.seated or not process.alive
            process.deployed = True
            for peer in message.peers:
                assert peer.generation == self.generations[peer.worker], "a peer that was replaced already"
        elif isinstance(message, PeerChanged):
            assert process.deployed
            assert message.peer.generation == self.generations[message.peer.worker]
        elif isinstance(message, Begin):
            assert process.ready
            process.begun = True

    # ---- what may happen

    @precondition(lambda self: self.world.jobs)
    @rule(target=processes, data=st.data())
    def a_process_starts(self, data: st.DataObject) -> Process:
        """Spark starts an attempt, first or again. It need not have come to register yet."""
        worker = data.draw(st.sampled_from(sorted(self.world.jobs)))
        self.attempts += 1
        process = Process(worker=worker, launch=self.world.jobs[worker], attempt=self.attempts)
        self.world.processes.append(process)
        return process

    def says(self, process: Process, message: FromWorker) -> None:
        self.stage.now_s += 0.01
        self.happens(Arrived(connection=process.connection, message=message))

    @rule(process=processes)
    def it_registers(self, process: Process) -> None:
        if process.alive and not process.registered:
            process.registered = True
            self.says(process, register(process.worker, launch=process.launch, attempt=process.attempt))

    @rule(process=processes)
    def it_is_ready(self, process: Process) -> None:
        if process.alive and process.deployed:
            process.ready = True
            self.says(process, Ready(assignment=1))

    @rule(target=processes)
    def all_goes_well_for_a_while(self) -> MultipleResults[Process]:
        """Every job's process comes and gets ready: what follows happens in the middle of a run."""
        fresh = []
        for worker in sorted(self.world.jobs):
            if not any(one.worker == worker and one.seated for one in self.world.processes):
                self.attempts += 1
                fresh.append(Process(worker=worker, launch=self.world.jobs[worker], attempt=self.attempts))
        self.world.processes.extend(fresh)
        for process in fresh:
            self.it_registers(process)
        for process in self.world.processes:
            self.it_is_ready(process)
        return multiple(*fresh)

    @rule(process=processes, message=st.sampled_from([Heartbeat(), Ready(assignment=2), Report(at_ns=1)]))
    def it_speaks(self, process: Process, message: FromWorker) -> None:
        if process.alive and process.registered:
            self.says(process, message)

    @rule(process=processes)
    def it_answers(self, process: Process) -> None:
        if process.alive and process.registered:
            self.happens(Arrived(connection=process.connection + ECHO, message=Ping()))

    @rule(process=processes)
    def its_connection_is_gone(self, process: Process) -> None:
        self.happens(Deserted(connection=process.connection + ECHO))

    @rule(process=processes, processed=st.integers(0, 100))
    def it_reports(self, process: Process, processed: int) -> None:
        if process.alive and process.begun:
            self.says(process, Report(at_ns=processed, tasks=(TaskCounts(task=0, processed=processed),)))

    @rule(process=processes)
    def it_ends(self, process: Process) -> None:
        if process.alive and process.begun:
            if process.seated:
                self.ended_workers.add(process.worker)
            self.says(process, Ended(assignment=1))

    @rule(process=processes)
    def it_leaves(self, process: Process) -> None:
        if process.alive and process.registered:
            process.alive = False
            self.says(process, Left())

    @rule(process=processes, says_why=st.booleans())
    def it_dies(self, process: Process, says_why: bool) -> None:
        if says_why and process.alive and process.registered:
            self.says(process, Dying(traceback="boom"))
        process.alive = False

    @rule(process=processes)
    def it_loses_messages(self, process: Process) -> None:
        if process.alive and process.registered:
            self.happens(Severed(connection=process.connection, reason="messages were lost"))

    @rule(process=processes, chance=st.integers(0, 9))
    def it_cannot_go_on(self, process: Process, chance: int) -> None:
        if process.alive and process.registered and chance == 0:
            self.says(process, Fatal(traceback="boom"))

    @precondition(lambda self: self.world.jobs)
    @rule(data=st.data(), error=st.sampled_from([None, "the job failed"]))
    def a_job_ends(self, data: st.DataObject, error: str | None) -> None:
        self.end_job(data.draw(st.sampled_from(sorted(self.world.jobs))), error)

    @precondition(lambda self: self.world.stopping)
    @rule()
    def a_stopped_job_ends(self) -> None:
        worker, _ = min(self.world.stopping)
        self.end_job(worker, "cancelled")

    def end_job(self, worker: int, error: str | None) -> None:
        launch = self.world.jobs.pop(worker)
        self.world.stopping.discard((worker, launch))
        for process in self.world.processes:
            if (process.worker, process.launch) == (worker, launch):
                process.alive = False
        self.happens(HostEnded(worker=worker, launch=launch, error=error))

    @rule(seconds=st.sampled_from([0.1, 1.0, 5.0, 15.0]), attentive=st.booleans())
    def time_passes(self, seconds: float, attentive: bool) -> None:
        if attentive:
            for process in self.world.processes:
                if process.seated:
                    self.says(process, Heartbeat())
        self.stage.now_s += seconds
        self.happens(Tick())

    @rule(question=st.sampled_from([AskStatus(), AskMetrics()]))
    def somebody_asks(self, question: AskStatus | AskMetrics) -> None:
        assert self.stage.says(b"visitor", question)

    @rule(question=st.sampled_from([AskDrain(), AskStop()]), chance=st.integers(0, 9))
    def somebody_ends_it(self, question: AskDrain | AskStop, chance: int) -> None:
        if chance == 0:
            before = self.stage.is_over()
            said = self.stage.says(b"visitor", question)
            assert said
            for instruction in said if not before else ():
                self.carry_out(instruction)

    @rule(chance=st.integers(0, 30))
    def the_host_fails(self, chance: int) -> None:
        if chance == 0:
            self.happens(HostFailed(error="the session is gone"))

    # ---- what must hold

    @invariant()
    def the_status_agrees_with_the_world(self) -> None:
        if hasattr(self, "stage"):
            for worker in self.stage.controller.status(self.stage.now_s).workers:
                assert worker.generation == self.generations.get(worker.worker, 0)

    def teardown(self) -> None:
        """When everybody is gone for good, the run ends or fails by itself."""
        if not hasattr(self, "stage"):
            return
        for process in self.world.processes:
            process.alive = False
        for _ in range(200):
            if self.stage.is_over():
                return
            for worker in sorted(self.world.jobs):
                self.end_job(worker, "everybody is gone")
            self.stage.now_s += 10
            self.happens(Tick())
        raise AssertionError(self.stage.status())


TestAnyOrder = AnyOrder.TestCase
TestAnyOrder.settings = tried(150, steps=40)
