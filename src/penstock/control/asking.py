"""What the command line, the handle and Spark's own processes ask the controller, and the answers.

Part of the protocol. What Spark's processes ask is in feeding, and what is asked about moves in moving.
"""

from __future__ import annotations

from penstock.control.feeding import FeedAnswer, FeedQuestion
from penstock.control.message import Message
from penstock.control.metrics import RunMetrics
from penstock.control.moving import Decided, MoveQuestion
from penstock.control.scheduling import AskScheduling
from penstock.control.status import RunStatus

__all__ = [
    "Answer",
    "AskDrain",
    "AskMetrics",
    "AskStatus",
    "AskStop",
    "Done",
    "MetricsAnswer",
    "NotNow",
    "Question",
    "StatusAnswer",
]


class AskStatus(Message, frozen=True, kw_only=True):
    """Who takes part and how far the run is."""


class AskMetrics(Message, frozen=True, kw_only=True):
    """All counts."""


class AskDrain(Message, frozen=True, kw_only=True):
    """End in good order: spouts stop, the rest is finished."""


class AskStop(Message, frozen=True, kw_only=True):
    """End now."""


class StatusAnswer(Message, frozen=True, kw_only=True):
    """The answer to AskStatus."""

    status: RunStatus


class MetricsAnswer(Message, frozen=True, kw_only=True):
    """The answer to AskMetrics."""

    metrics: RunMetrics


class Done(Message, frozen=True, kw_only=True):
    """It is being done."""


class NotNow(Message, frozen=True, kw_only=True):
    """It cannot be done, and why."""

    reason: str


Question = AskStatus | AskMetrics | AskDrain | AskStop | FeedQuestion | MoveQuestion | AskScheduling
Answer = StatusAnswer | MetricsAnswer | Done | NotNow | Decided | FeedAnswer
