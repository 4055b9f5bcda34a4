"""Asking a run, from wherever one stands: the handle in the driver and the command line elsewhere ask alike."""

from __future__ import annotations

import datetime
import time
from abc import ABC, abstractmethod
from decimal import Decimal
from uuid import UUID

import msgspec

from penstock.control.decisions import Decision
from penstock.control.metrics import RunMetrics
from penstock.control.moving import AskMove, AskRebalance, AskScale, Decided, MoveQuestion
from penstock.control.protocol import (
    Answer,
    AskDrain,
    AskMetrics,
    AskStatus,
    AskStop,
    MetricsAnswer,
    NotNow,
    Question,
    StatusAnswer,
)
from penstock.control.scheduling import AskScheduling, Scalar
from penstock.control.status import RunStatus
from penstock.errors import RunError

__all__ = ["Asker"]

# How often it is looked whether tasks have moved.
_LOOK_EVERY_S = 0.02

_KEPT_TYPES = (bytes, bytearray, datetime.datetime, datetime.date, datetime.time, datetime.timedelta, Decimal, UUID)
"""What msgspec would make text of, and a question has no use for: kept, so that it is refused."""


class Asker(ABC):
    """Can reach a run's controller."""

    @abstractmethod
    def ask(self, question: Question, *, timeout_s: float = 10.0) -> Answer:
        """Asks the controller; RunError if it does not answer."""

    def status(self) -> RunStatus:
        """How far the run is and who takes part."""
        answer = self.ask(AskStatus())
        assert isinstance(answer, StatusAnswer)
        return answer.status

    def metrics(self) -> RunMetrics:
        """All counts."""
        answer = self.ask(AskMetrics())
        assert isinstance(answer, MetricsAnswer)
        return answer.metrics

    def drain(self) -> None:
        """Has the run end in good order. Returns at once; RunError if it is over already."""
        self._granted(AskDrain())

    def stop(self) -> None:
        """Has the run end now. Returns at once; RunError if it is over already."""
        self._granted(AskStop())

    def move(self, task: int | str, worker: int) -> Decision:
        """Has a task moved, and waits until it has; RunError if it cannot be."""
        return self._done(AskMove(task=task, worker=worker))

    def rebalance(self) -> Decision:
        """Has all planned anew, and waits until what that puts elsewhere has moved; RunError if it cannot be."""
        return self._done(AskRebalance())

    def scale(self, component: str, tasks: int) -> Decision:
        """Has a bolt given another number of tasks, and waits until it has them; RunError if it cannot be."""
        return self._done(AskScale(component=component, tasks=tasks))

    def _done(self, question: MoveQuestion) -> Decision:
        answer = self._granted(question)
        assert isinstance(answer, Decided)
        while True:
            decision = next((one for one in self.status().decisions if one.number == answer.decision), None)
            if decision is None:
                message = f"so much was decided since that it is not known what became of decision {answer.decision}"
                raise RunError(message)
            if decision.state == "done":
                return decision
            if decision.is_final:
                message = f"{decision.why}, and that was {decision.state}: {decision.reason}"
                raise RunError(message)
            time.sleep(_LOOK_EVERY_S)

    def use_scheduler(self, scheduler: str, parameters: dict[str, Scalar]) -> None:
        """Has another scheduler used; RunError if it cannot be."""
        self._granted(AskScheduling(scheduler=scheduler, parameters=parameters))

    def tune_scheduling(self, settings: dict[str, Scalar]) -> None:
        """Has settings of online scheduling changed; RunError if one cannot be."""
        self._granted(AskScheduling(settings=settings))

    def _granted(self, demand: Question) -> Answer:
        """The answer; RunError if what is demanded cannot be, or is none: whoever hears it relies on its types."""
        try:
            demand = msgspec.convert(msgspec.to_builtins(demand, builtin_types=_KEPT_TYPES), type(demand))
        except (msgspec.ValidationError, TypeError) as error:
            message = f"{demand} cannot be asked: {error}"
            raise RunError(message) from None
        answer = self.ask(demand)
        if isinstance(answer, NotNow):
            raise RunError(answer.reason)
        return answer
