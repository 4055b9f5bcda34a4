"""What the controller wants done."""

from __future__ import annotations

import msgspec

from penstock.checkpoint.manifest import Manifest
from penstock.control.metrics import RunMetrics
from penstock.control.protocol import Answer, FromController, Ping
from penstock.control.scheduling import KeepChoice, KeepLoad, ScheduleOutcome
from penstock.control.status import RunStatus
from penstock.errors import RunError

__all__ = [
    "CommitEpoch",
    "Fail",
    "Finish",
    "HoldSlots",
    "Instruction",
    "RunSummary",
    "SendTo",
    "StartWorker",
    "StopWorker",
]


class RunSummary(msgspec.Struct, frozen=True, kw_only=True):
    """What is left of a run when it is over."""

    status: RunStatus
    metrics: RunMetrics
    collected: dict[str, tuple[bytes, ...]]
    """By Collect sink: chunks of rows in order of arrival, each one msgpack array."""


class SendTo(msgspec.Struct, frozen=True, kw_only=True):
    """Send a message to whoever is behind a connection. If nobody is there any more, never mind."""

    connection: bytes
    message: FromController | Answer | Ping


class StartWorker(msgspec.Struct, frozen=True, kw_only=True):
    """The host is to start a worker: a job of its own, whose processes register with this launch number."""

    worker: int
    launch: int


class StopWorker(msgspec.Struct, frozen=True, kw_only=True):
    """The host is to end a launch of a worker by force. HostEnded follows."""

    worker: int
    launch: int


class HoldSlots(msgspec.Struct, frozen=True, kw_only=True):
    """So many slots are the workers' from now on: more have been asked for, or some have been given back."""

    count: int


class CommitEpoch(msgspec.Struct, frozen=True, kw_only=True):
    """Put an epoch into the checkpoint. EpochCommitted or EpochNotCommitted follows."""

    manifest: Manifest


class Finish(msgspec.Struct, frozen=True, kw_only=True):
    """The run is over, in good order. Comes once, and no Fail with it."""

    summary: RunSummary


class Fail(msgspec.Struct, frozen=True, kw_only=True):
    """The run is over, and this is what the caller is to be raised. Comes once, and no Finish with it."""

    error: RunError
    summary: RunSummary


Instruction = (
    SendTo
    | StartWorker
    | StopWorker
    | HoldSlots
    | CommitEpoch
    | KeepLoad
    | KeepChoice
    | ScheduleOutcome
    | Finish
    | Fail
)
