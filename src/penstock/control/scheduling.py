"""What is said about online scheduling: between the controller and who keeps the load store, and by people."""

from __future__ import annotations

from typing import Literal

import msgspec

from penstock.control.load_records import Choice, ScheduleStatus, WorkerRecord
from penstock.control.load_sample import LoadSample
from penstock.control.message import Message
from penstock.plan.assignment import Assignment
from penstock.plan.tasks import Task

__all__ = [
    "AskScheduling",
    "Declined",
    "KeepChoice",
    "KeepLoad",
    "Scalar",
    "ScheduleOutcome",
    "SchedulingStatus",
    "StoreTrouble",
]

Scalar = bool | int | float | str | None


# ---- a question


class AskScheduling(Message, frozen=True, kw_only=True):
    """Use another scheduler, or the same with other parameters; or change settings. Answered with Done or NotNow."""

    scheduler: str | None = None
    """A name, or `module:Class`; None: the one in use."""
    parameters: dict[str, Scalar] = msgspec.field(default_factory=dict)
    """All of them: what is not named is as by default."""
    settings: dict[str, Scalar] = msgspec.field(default_factory=dict)
    """Of `SchedulingSettings`: what is not named stays as it is."""


# ---- events


class Declined(msgspec.Struct, frozen=True, kw_only=True):
    """Something was planned, and is not worth doing, or not yet; or it could not be planned."""

    scheduler: str
    why: str


class StoreTrouble(msgspec.Struct, frozen=True, kw_only=True):
    """The load store could not be reached, read or written, since it last could."""

    error: str


# ---- instructions


class KeepLoad(msgspec.Struct, frozen=True, kw_only=True):
    """Load was sampled: it is to be kept, with how the run stands."""

    sample: LoadSample
    estimate: LoadSample
    tasks: tuple[Task, ...]
    workers: tuple[WorkerRecord, ...]
    assignment: Assignment


class KeepChoice(msgspec.Struct, frozen=True, kw_only=True):
    """The choice of a scheduler, or a setting, has changed."""

    choice: Choice


class ScheduleOutcome(msgspec.Struct, frozen=True, kw_only=True):
    """What became of a schedule that was proposed."""

    schedule: int
    status: ScheduleStatus
    reason: str = ""


# ---- for people


class SchedulingStatus(msgspec.Struct, frozen=True, kw_only=True):
    """Who plans, with what, and what was last thought of a change."""

    planner: Literal["driver", "external", "off"]
    """`off` also as long as no scheduler was chosen that looks at the load."""
    parameters: dict[str, Scalar] = msgspec.field(default_factory=dict)
    verdict: str | None = None
    """Why the last plan was not carried out; None if none was declined since the last that was."""
    verdict_at_s: float = 0.0
    """In seconds since the run began."""
