"""What driver, workers and the command line say to each other: frozen structs, and nothing that runs.

The topology blob inside `Deploy` is bytes to everybody but the worker that opens it. How messages look on the wire is
in codec.
"""

from __future__ import annotations

from typing import ClassVar

import msgspec

from penstock.checkpoint.manifest import SavedTask
from penstock.control.asking import (
    Answer,
    AskDrain,
    AskMetrics,
    AskStatus,
    AskStop,
    Done,
    MetricsAnswer,
    NotNow,
    Question,
    StatusAnswer,
)
from penstock.control.feeding import BatchIn, CloseBatch, EndFeed, FeedBroken, FeedPlace
from penstock.control.message import Message
from penstock.control.metrics import HelpCounts, PairCounts, TaskCounts
from penstock.control.moving import Abandon, Moved, NotPrepared, Prepare, Prepared, Switch, TakeOver
from penstock.control.peers import Peer, PeerChanged, PeerGone, PeerLost, PeerSilent
from penstock.plan.assignment import Assignment
from penstock.plan.edges import Edge
from penstock.plan.tasks import Task
from penstock.worker.care import Care
from penstock.worker.resume import SpoutProgress
from penstock.worker.spout_task import TrialStage
from penstock.worker.task_checkpoints import TaskRestore

__all__ = [
    "Admit",
    "Answer",
    "AskDrain",
    "AskMetrics",
    "AskStatus",
    "AskStop",
    "Begin",
    "BeginEpoch",
    "BeginTrial",
    "Collected",
    "Committed",
    "Deploy",
    "Done",
    "Drain",
    "Dying",
    "Ended",
    "Fatal",
    "FromController",
    "FromMember",
    "FromWorker",
    "Heartbeat",
    "InCall",
    "Left",
    "LinkBroken",
    "Message",
    "MetricsAnswer",
    "NotNow",
    "Noted",
    "Ping",
    "Pulse",
    "Question",
    "Ready",
    "Refuse",
    "Register",
    "Report",
    "RowsKept",
    "SpoutFailing",
    "StatusAnswer",
    "Stop",
    "TaskFailure",
    "TaskNotSaved",
    "TaskSaved",
    "TasksEnded",
    "Trial",
    "Tried",
    "Trying",
]


# ---- worker -> controller


class Register(Message, frozen=True, kw_only=True):
    """The first word of a worker: who it is, and where it can be reached. Its ring and link are open by now."""

    run: str
    worker: int
    launch: int
    """Which start of this worker by the host, as the ticket says."""
    attempt: int
    """Which attempt within that launch: higher is newer, and no two share one. Spark's task attempt id."""
    node: str
    host: str
    pid: int
    ring_address: str
    link_endpoint: str
    penstock_version: str
    python_version: str
    cores: int = 1
    """How many cores the worker may use. They are those of its node, which its other workers use too."""


class Heartbeat(Message, frozen=True, kw_only=True):
    """My duty cycle turns. Answered with a Pulse."""

    counts: ClassVar[bool] = False


class Ping(Message, frozen=True, kw_only=True):
    """What the controller calls into a worker's echo, and what comes back: the process runs and can be reached."""

    counts: ClassVar[bool] = False


class InCall(Message, frozen=True, kw_only=True):
    """My duty cycle does not turn, because I am in a call of user code. Said beside the worker's own connection."""

    counts: ClassVar[bool] = False

    component: str
    task: int
    place: str
    """The innermost function, and where it is."""


class Ready(Message, frozen=True, kw_only=True):
    """The tasks of this assignment are open and its routes are made."""

    assignment: int
    feeds: tuple[FeedPlace, ...] = ()
    """Where those of them that Spark feeds take what is pushed."""


class Report(Message, frozen=True, kw_only=True):
    """What a worker counted. Counts are totals since it began; histograms hold what came since the last report."""

    counts: ClassVar[bool] = False

    at_ns: int
    """The worker's own monotonic clock: only differences mean something."""
    cpu_ns: int = 0
    """The CPU time of its process, all threads together, since that began."""
    tasks: tuple[TaskCounts, ...] = ()
    pairs: tuple[PairCounts, ...] = ()
    helps: tuple[HelpCounts, ...] = ()
    lost: int = 0
    """Tuples that could not be delivered, since the worker began."""
    latency: dict[str, bytes] = msgspec.field(default_factory=dict)
    """By component: from the spout to the end of this component's work, a penstock._native.Histogram."""
    spouts: tuple[SpoutProgress, ...] = ()
    """How far its spouts have come."""
    hops: dict[int, bytes] = msgspec.field(default_factory=dict)
    """By edge: from emission to the hands of the next task."""
    ratios: dict[int, float] = msgspec.field(default_factory=dict)
    """By edge: r, how much of the target's work it has learned to do."""


class TaskFailure(Message, frozen=True, kw_only=True):
    """User code raised. Sent at the first of a kind, and then now and then with how many more there were."""

    component: str
    task: int
    kind: str
    """What is counted together: the exception's type and where it was raised."""
    message: str
    traceback: str
    count: int = 1
    """How many since this worker last told of this kind."""


class SpoutFailing(Message, frozen=True, kw_only=True):
    """`next()` of a spout fails again and again. Sent once for each row of failures."""

    component: str
    task: int
    trouble: str
    """What people should be told."""


class Collected(Message, frozen=True, kw_only=True):
    """Rows that a Collect sink received: one msgpack array of rows, as the sink's worker wrote it."""

    component: str
    task: int
    first: int | None = None
    """The number of the first row among those of the task, from 0: rows that come twice count once. None: all count."""
    count: int
    rows: bytes
    arrivals: int | None = None
    """How far the sink has come with this; answered with RowsKept. None: nobody waits for that."""


class TaskSaved(Message, frozen=True, kw_only=True):
    """What an epoch has of a task lies in its place."""

    assignment: int
    task: int
    epoch: int
    saved: SavedTask


class TaskNotSaved(Message, frozen=True, kw_only=True):
    """What an epoch has of a task could not be written."""

    assignment: int
    task: int
    epoch: int
    reason: str


class Trying(Message, frozen=True, kw_only=True):
    """I am about to work on these tuples, and might not survive it. Answered with Noted, which I wait for."""

    task: int
    tuples: tuple[int, ...]
    """Their digests, see penstock.worker.care."""
    alone: bool
    """Whether it is one tuple, and no other with it."""


class Tried(Message, frozen=True, kw_only=True):
    """I have survived it."""


class Trial(Message, frozen=True, kw_only=True):
    """At least once: how far a spout task is with emitting again what was lost, see penstock.control.trials."""

    task: int
    stage: TrialStage


class LinkBroken(Message, frozen=True, kw_only=True):
    """Frames that other nodes have sent did not arrive here."""

    lost_frames: int
    """Since the last time."""


class Ended(Message, frozen=True, kw_only=True):
    """All tasks of this worker have ended and everything they emitted was delivered. It stays until told to stop."""

    assignment: int
    """The one that it worked by: under a later one it may have got other tasks."""


class Fatal(Message, frozen=True, kw_only=True):
    """This worker cannot go on, and neither could another in its place: the run fails with this traceback."""

    traceback: str
    assignment: int | None = None
    """The one that it worked on; None if it had none yet."""


class Dying(Message, frozen=True, kw_only=True):
    """This worker's process ends by an exception that is none of those that fail a tuple: its last word."""

    traceback: str


class Left(Message, frozen=True, kw_only=True):
    """The last word of a worker."""

    reason: str = ""


# ---- controller -> worker


class Admit(Message, frozen=True, kw_only=True):
    """You are the one who is this worker from now on."""

    generation: int
    """Counts the processes that have been this worker, from 1."""


class Refuse(Message, frozen=True, kw_only=True):
    """You are not, or no longer, this worker: exit at once and touch nothing."""

    reason: str


class Deploy(Message, frozen=True, kw_only=True):
    """What to run, and with whom."""

    topology: bytes
    tasks: tuple[Task, ...]
    edges: tuple[Edge, ...]
    assignment: Assignment
    former: dict[int, int] = msgspec.field(default_factory=dict)
    """Where tasks were before, if some are on their way just now."""
    peers: tuple[Peer, ...]
    """All workers, the receiver included. One that is just being restarted may be missing: PeerChanged follows."""
    resume: tuple[SpoutProgress, ...] = ()
    """Where the receiver's spouts go on, if they have run before."""
    checkpoint_url: str | None = None
    """Where tasks are saved."""
    claim: int = 0
    """The number under which the run has that place."""
    epoch: int = 0
    """The epoch that everything goes on from; 0 is the very beginning."""
    restore: tuple[TaskRestore, ...] = ()
    """What the receiver's tasks go on from."""
    ended_tasks: tuple[int, ...] = ()
    """Tasks whose worker has ended for good: their end-of-stream will not come, it has been."""
    care: Care | None = None
    """How to find out which tuple kills its worker, if one may do so."""


class TasksEnded(Message, frozen=True, kw_only=True):
    """These tasks have ended, and their worker is gone: whatever it had not sent yet, their end included, is lost."""

    tasks: tuple[int, ...]


class Begin(Message, frozen=True, kw_only=True):
    """All are ready (or, after a restart, you are): spouts may emit."""


class BeginEpoch(Message, frozen=True, kw_only=True):
    """Spouts send a marker of this number behind all that they have emitted."""

    epoch: int
    committed: int = 0
    """The newest epoch in the checkpoint."""
    last: bool = False
    """Whether spouts end behind its marker. If something dies before they have, they go on from an epoch before it, and
    end with a later one: so nothing that they have emitted is lost."""


class BeginTrial(Message, frozen=True, kw_only=True):
    """This spout task may emit again some of what was lost. It answers with Trial when it has, and when it is over."""

    task: int


class Committed(Message, frozen=True, kw_only=True):
    """An epoch is in the checkpoint: what was prepared for it may be seen."""

    epoch: int


class RowsKept(Message, frozen=True, kw_only=True):
    """The driver has the rows that a Collect sink sent."""

    task: int
    arrivals: int


class Noted(Message, frozen=True, kw_only=True):
    """The controller knows what you are trying."""


class Drain(Message, frozen=True, kw_only=True):
    """Spouts end; what is under way is finished. Ends with Ended."""


class Stop(Message, frozen=True, kw_only=True):
    """Leave now, whatever is under way."""


class Pulse(Message, frozen=True, kw_only=True):
    """The driver is alive: the answer to a heartbeat."""

    counts: ClassVar[bool] = False


FromMember = (
    Heartbeat
    | Ready
    | Report
    | TaskFailure
    | SpoutFailing
    | Collected
    | TaskSaved
    | TaskNotSaved
    | Trying
    | Tried
    | Trial
    | PeerGone
    | LinkBroken
    | BatchIn
    | FeedBroken
    | Prepared
    | NotPrepared
    | Moved
    | Ended
    | Fatal
    | Dying
    | Left
)
"""What an admitted worker says over its own connection."""

FromWorker = Register | Ping | InCall | FromMember
"""All that workers say: to be admitted, beside their own connection, and over it."""

FromController = (
    Admit
    | Refuse
    | Deploy
    | PeerChanged
    | PeerLost
    | PeerSilent
    | TasksEnded
    | Begin
    | BeginEpoch
    | BeginTrial
    | Committed
    | RowsKept
    | CloseBatch
    | EndFeed
    | Prepare
    | Switch
    | Abandon
    | TakeOver
    | Noted
    | Drain
    | Stop
    | Pulse
)
