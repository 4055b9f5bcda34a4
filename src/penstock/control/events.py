"""What the controller hears."""

from __future__ import annotations

import msgspec

from penstock.control.protocol import FromWorker, Question
from penstock.control.scheduling import Declined, StoreTrouble

__all__ = [
    "Arrived",
    "Deserted",
    "EpochCommitted",
    "EpochNotCommitted",
    "Event",
    "FeedFailed",
    "FeedOver",
    "HostEnded",
    "HostFailed",
    "Launch",
    "Proposed",
    "Severed",
    "Tick",
    "WorkersWanted",
]


class Launch(msgspec.Struct, frozen=True, kw_only=True):
    """The first event of a run: start the workers."""


class Arrived(msgspec.Struct, frozen=True, kw_only=True):
    """A message came. `connection` names its sender for as long as the sender lives, and is how to answer it."""

    connection: bytes
    message: FromWorker | Question


class Severed(msgspec.Struct, frozen=True, kw_only=True):
    """What came, or comes, over this connection cannot be relied on any more."""

    connection: bytes
    reason: str


class Deserted(msgspec.Struct, frozen=True, kw_only=True):
    """Nobody is at the other end of this connection just now: most likely the process is dead."""

    connection: bytes


class HostEnded(msgspec.Struct, frozen=True, kw_only=True):
    """The host's job for a launch of a worker is over: no process of that launch is left, and none will come."""

    worker: int
    launch: int
    error: str | None = None
    """What the job failed with, remote traceback included; None if it returned."""


class HostFailed(msgspec.Struct, frozen=True, kw_only=True):
    """The host can start no worker any more: the Spark session is gone."""

    error: str


class EpochCommitted(msgspec.Struct, frozen=True, kw_only=True):
    """An epoch is in the checkpoint."""

    epoch: int


class EpochNotCommitted(msgspec.Struct, frozen=True, kw_only=True):
    """An epoch could not be put into the checkpoint, and is not there."""

    epoch: int
    reason: str
    taken: bool = False
    """Whether it never will be, because another run has the checkpoint."""


class FeedOver(msgspec.Struct, frozen=True, kw_only=True):
    """The query that feeds a spout has ended by itself."""

    component: str


class FeedFailed(msgspec.Struct, frozen=True, kw_only=True):
    """The query that feeds a spout fails again and again."""

    component: str
    error: str


class Proposed(msgspec.Struct, frozen=True, kw_only=True):
    """Somebody has planned where tasks would better run."""

    worker_of: dict[int, int]
    """Task id to worker number. Tasks that are not named stay where they are."""
    scheduler: str
    """Who planned it."""
    why: str
    """What it is good for, for people."""
    assignment: int | None = None
    """The number of the assignment that it was made to replace; None: whichever is in force."""
    schedule: int | None = None
    """Its number in the load store, if it comes from there."""


class WorkersWanted(msgspec.Struct, frozen=True, kw_only=True):
    """The workers have too much to do, and others would help."""

    count: int
    """How many more."""
    why: str


class Tick(msgspec.Struct, frozen=True, kw_only=True):
    """Time has passed. Whoever drives a controller sends one several times a second."""


Event = (
    Launch
    | Arrived
    | Severed
    | Deserted
    | HostEnded
    | HostFailed
    | EpochCommitted
    | EpochNotCommitted
    | FeedOver
    | FeedFailed
    | Proposed
    | Declined
    | StoreTrouble
    | WorkersWanted
    | Tick
)
