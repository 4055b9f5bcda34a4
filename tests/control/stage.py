"""A controller on a stage: workers are played by the test, and time passes when the test says so."""

from collections.abc import Sequence
from typing import Any, TypeVar

from penstock.control.controller import Controller
from penstock.control.events import Arrived, Event, HostEnded, Launch, Tick
from penstock.control.instructions import Fail, Finish, Instruction, SendTo, StartWorker, StopWorker
from penstock.control.membership import ECHO
from penstock.control.protocol import (
    Answer,
    AskStatus,
    Deploy,
    Ended,
    FromController,
    FromWorker,
    Heartbeat,
    Left,
    Ping,
    Question,
    Ready,
    Register,
    StatusAnswer,
)
from penstock.control.settings import ControlSettings, RunPlan
from penstock.control.status import Phase, RunStatus
from penstock.plan.edges import Edge
from penstock.plan.schedulers.even import EvenScheduler
from penstock.plan.tasks import Task

RUN = "run-1"
TASKS = (
    Task(id=0, component="lines", index=0, kind="spout"),
    Task(id=1, component="split", index=0, kind="bolt"),
    Task(id=2, component="split", index=1, kind="bolt"),
    Task(id=3, component="count", index=0, kind="bolt"),
)
EDGES = (
    Edge(id=0, source="lines", stream="default", target="split", input=0, grouping="Shuffle"),
    Edge(id=1, source="split", stream="default", target="count", input=0, grouping="By"),
)
PLAN = RunPlan(run=RUN, topology="wordcount", tasks=TASKS, edges=EDGES, blob=b"blob", scheduler=EvenScheduler())

_Message = TypeVar("_Message")


def register(worker: int, *, launch: int = 1, attempt: int = 0, **changed: Any) -> Register:
    """What a worker says first."""
    said: dict[str, Any] = {
        "run": RUN,
        "worker": worker,
        "launch": launch,
        "attempt": attempt,
        "node": "node-a",
        "host": f"host-{worker}",
        "pid": 1000 + worker,
        "ring_address": f"ring-{worker}-{launch}-{attempt}",
        "link_endpoint": f"tcp://host-{worker}:1",
        "penstock_version": PLAN.penstock_version,
        "python_version": PLAN.python_version,
    }
    return Register(**(said | changed))


class Stage:
    """Remembers everything that the controller has said."""

    def __init__(self, plan: RunPlan = PLAN, **settings: Any) -> None:
        self.settings = ControlSettings(**({"workers": 2} | settings))
        self.controller = Controller(plan, self.settings)
        self.now_s = 100.0
        self.said: list[Instruction] = []

    def happens(self, event: Event) -> list[Instruction]:
        """What the controller makes of an event."""
        said = self.controller.handle(event, self.now_s)
        self.said.extend(said)
        return said

    def says(self, connection: bytes, message: FromWorker | Question) -> list[Instruction]:
        return self.happens(Arrived(connection=connection, message=message))

    def comes(self, worker: int, *, connection: bytes | None = None, **about: Any) -> bytes:
        """A worker registers; returns its connection."""
        message = register(worker, **about)
        connection = connection or f"{worker}/{message.launch}/{message.attempt}".encode()
        self.says(connection, message)
        return connection

    def passes(self, seconds: float, *alive: bytes, busy: Sequence[bytes] = ()) -> list[Instruction]:
        """Time passes in small steps, in which those who are alive send heartbeats. Those who are busy only answer."""
        before = len(self.said)
        end_s = self.now_s + seconds
        while self.now_s < end_s:
            self.now_s = min(end_s, self.now_s + 0.25)
            for connection in alive:
                self.says(connection, Heartbeat())
            for connection in busy:
                self.says(connection + ECHO, Ping())
            self.happens(Tick())
        return self.said[before:]

    def host_ends(self, worker: int, *, launch: int = 1, error: str | None = None) -> list[Instruction]:
        return self.happens(HostEnded(worker=worker, launch=launch, error=error))

    # ---- whole acts

    def starts(self) -> list[bytes]:
        """All workers come and are deployed."""
        self.happens(Launch())
        return [self.comes(worker) for worker in range(self.settings.workers)]

    def runs(self) -> list[bytes]:
        """All workers come, get ready and begin."""
        connections = self.starts()
        for connection in connections:
            self.says(connection, Ready(assignment=1))
        return connections

    def all_leave(self, connections: list[bytes]) -> None:
        for connection in connections:
            self.says(connection, Left())

    def all_end(self, connections: list[bytes]) -> None:
        for connection in connections:
            self.says(connection, Ended(assignment=1))

    # ---- what was said

    def status(self) -> RunStatus:
        answer = self.says(b"visitor", AskStatus())[0]
        assert isinstance(answer, SendTo)
        assert isinstance(answer.message, StatusAnswer)
        return answer.message.status

    def phase(self) -> Phase:
        return self.controller.phase

    def is_over(self) -> bool:
        return any(isinstance(said, Finish | Fail) for said in self.said)

    def finished(self) -> Finish:
        """How it finished; fails the test if it did not."""
        (end,) = (said for said in self.said if isinstance(said, Finish | Fail))
        assert isinstance(end, Finish)
        return end

    def failed(self) -> Fail:
        """How it failed; fails the test if it did not."""
        (end,) = (said for said in self.said if isinstance(said, Finish | Fail))
        assert isinstance(end, Fail)
        return end


def sent(said: list[Instruction], connection: bytes) -> list[FromController | Answer | Ping]:
    """What is sent over a connection, in order."""
    return [
        instruction.message
        for instruction in said
        if isinstance(instruction, SendTo) and instruction.connection == connection
    ]


def kinds(said: list[Instruction], connection: bytes) -> list[str]:
    """The names of the messages that are sent over a connection, without the small talk."""
    return [type(message).__name__ for message in sent(said, connection) if type(message).__name__ != "Pulse"]


def only(said: list[Instruction], connection: bytes, kind: type[_Message]) -> _Message:
    """The only message of a kind that is sent over a connection."""
    (message,) = (message for message in sent(said, connection) if isinstance(message, kind))
    return message


def starts(said: list[Instruction]) -> list[tuple[int, int]]:
    """The (worker, launch) that the host is to start."""
    return [(one.worker, one.launch) for one in said if isinstance(one, StartWorker)]


def stops(said: list[Instruction]) -> list[tuple[int, int]]:
    """The (worker, launch) that the host is to end."""
    return [(one.worker, one.launch) for one in said if isinstance(one, StopWorker)]


def deploy(said: list[Instruction], connection: bytes) -> Deploy:
    """What a worker was told to run."""
    return only(said, connection, Deploy)
