"""What is said about tasks that move while the run goes on. Part of the protocol.

From assignment N to N+1: all workers *prepare* (who gets a task builds it, who gives one away copies its state ahead),
and when all have, all *switch*. From that moment on N+1 is the run's assignment, whatever dies; if somebody could not
prepare, all *abandon* it, nothing has happened, and its number is never used again. What decides is in moves.
"""

from __future__ import annotations

from penstock.control.message import Message
from penstock.control.peers import Peer
from penstock.plan.assignment import Assignment
from penstock.plan.tasks import Task
from penstock.worker.resume import SpoutProgress

__all__ = [
    "Abandon",
    "AskMove",
    "AskRebalance",
    "AskScale",
    "Decided",
    "MoveQuestion",
    "Moved",
    "NotPrepared",
    "Prepare",
    "Prepared",
    "Switch",
    "TakeOver",
]


# ---- controller -> worker


class Prepare(Message, frozen=True, kw_only=True):
    """Get ready for another assignment, and go on with the one that holds. Answered with Prepared or NotPrepared."""

    assignment: Assignment
    tasks: tuple[Task, ...]
    """All tasks of the run under it."""
    peers: tuple[Peer, ...]
    """All workers that take part, the receiver included."""


class Switch(Message, frozen=True, kw_only=True):
    """All have prepared: what was prepared holds from now on."""

    assignment: int


class Abandon(Message, frozen=True, kw_only=True):
    """What was prepared will not be: drop it. It may be that you had not prepared it at all."""

    assignment: int


class TakeOver(Message, frozen=True, kw_only=True):
    """A worker that was to hand a task over to you is dead: go on without what it had, unless you have that already."""

    task: int
    worker: int
    resume: SpoutProgress | None = None
    """Where it goes on, if it is a spout that was heard of."""


# ---- worker -> controller


class Prepared(Message, frozen=True, kw_only=True):
    """I can switch."""

    assignment: int


class NotPrepared(Message, frozen=True, kw_only=True):
    """I cannot, and I am as if I had never been asked."""

    assignment: int
    reason: str


class Moved(Message, frozen=True, kw_only=True):
    """A task has come to me whole, and goes on here."""

    assignment: int
    task: int


# ---- questions, and their answer


class AskMove(Message, frozen=True, kw_only=True):
    """Move one task."""

    task: int | str
    """Its id, or component and index: ``count[2]``."""
    worker: int


class AskRebalance(Message, frozen=True, kw_only=True):
    """Plan anew with the scheduler in use and what is known of the load, and move what that puts elsewhere."""


class AskScale(Message, frozen=True, kw_only=True):
    """Give a bolt another number of tasks."""

    component: str
    tasks: int


class Decided(Message, frozen=True, kw_only=True):
    """It was taken up: what becomes of it is in the status, under this number."""

    decision: int


MoveQuestion = AskMove | AskRebalance | AskScale
