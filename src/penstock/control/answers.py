"""What people and Spark's processes ask, answered from what the parts of the controller know."""

from __future__ import annotations

from typing import assert_never

from penstock.control.aggregation import Aggregation
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
from penstock.control.feeding import AskGrant, AskHolds, AskTaken
from penstock.control.lifecycle import Lifecycle
from penstock.control.membership import Membership, Seat
from penstock.control.metrics import RunMetrics
from penstock.control.moving import AskMove, AskRebalance, AskScale, Decided, MoveQuestion
from penstock.control.notices import Notices
from penstock.control.online_scheduling import OnlineScheduling
from penstock.control.scheduling import AskScheduling
from penstock.control.settings import RunPlan
from penstock.control.status import RunStatus, WorkerState, WorkerStatus
from penstock.errors import RunError
from penstock.flow.relief import ReliefState

__all__ = ["Answers"]


class Answers:
    """Answers questions about one run, and takes up what is demanded of it."""

    def __init__(
        self,
        plan: RunPlan,
        membership: Membership,
        lifecycle: Lifecycle,
        scheduling: OnlineScheduling,
        aggregation: Aggregation,
        notices: Notices,
    ) -> None:
        self._plan = plan
        self._membership = membership
        self._lifecycle = lifecycle
        self._scheduling = scheduling
        self._aggregation = aggregation
        self._notices = notices

    def answer(self, question: Question, now_s: float) -> Answer:
        """The answer to a question; what is asked for has begun by then, or waits its turn."""
        match question:
            case AskStatus():
                return StatusAnswer(status=self.status(now_s))
            case AskMetrics():
                return MetricsAnswer(metrics=self.metrics(now_s))
            case AskGrant() | AskHolds() | AskTaken():
                answer = self._lifecycle.feeds.answer(question, now_s)
                self._lifecycle.begin_epoch_if_due(now_s)  # Spark may wait for it
                return answer
            case AskMove() | AskRebalance() | AskScale() | AskScheduling() | AskDrain() | AskStop():
                if self._lifecycle.phase.is_over:
                    return NotNow(reason=f"run {self._plan.run!r} has {self._lifecycle.phase} already")
                return self._taken_up(question, now_s)
            case _:
                assert_never(question)

    def _taken_up(self, demand: MoveQuestion | AskScheduling | AskDrain | AskStop, now_s: float) -> Answer:
        moves = self._lifecycle.moves
        try:
            match demand:
                case AskMove():
                    return Decided(decision=moves.move(demand.task, demand.worker, now_s))
                case AskRebalance():
                    return Decided(decision=moves.rebalance(self._scheduling.load, self._scheduling.traffic, now_s))
                case AskScale():
                    return Decided(decision=moves.scale(demand.component, demand.tasks, now_s))
                case AskScheduling():
                    return self._scheduling.answer(demand)
                case AskDrain():
                    self._lifecycle.drain(now_s)
                case AskStop():
                    self._lifecycle.stop(now_s)
                case _:
                    assert_never(demand)
        except RunError as error:
            return NotNow(reason=str(error))
        return Done()

    def status(self, now_s: float) -> RunStatus:
        """How far the run is and who takes part."""
        seats = self._membership.seats.values()
        return RunStatus(
            run=self._plan.run,
            topology=self._plan.topology,
            phase=self._lifecycle.phase,
            run_s=self._lifecycle.run_s(now_s),
            scheduler=self._lifecycle.placement.scheduler.name,
            assignment=self._lifecycle.placement.number,
            workers=tuple(self._worker_status(seat, now_s) for seat in seats),
            restarts=sum(max(0, seat.generation - 1) for seat in seats),
            notices=self._notices.all(),
            error=None if self._lifecycle.error is None else str(self._lifecycle.error),
            decisions=self._lifecycle.moves.decisions.all(),
            scheduling=self._scheduling.status(),
            pressures=tuple(one for one in self._aggregation.pressures() if one.state is not ReliefState.FLOWING),
        )

    def _worker_status(self, seat: Seat, now_s: float) -> WorkerStatus:
        member = seat.member
        state: WorkerState
        if member is not None:
            state = "silent" if member.silent else member.stage
        elif seat.released:
            state = "released"
        else:
            state = "left" if self._lifecycle.phase.is_over or seat.ended else "awaited"
        return WorkerStatus(
            worker=seat.worker,
            state=state,
            generation=seat.generation,
            host=member.about.host if member else None,
            pid=member.about.pid if member else None,
            node=member.about.node if member else None,
            tasks=self._lifecycle.placement.tasks_on(seat.worker),
            silent_s=now_s - member.reached_at_s if member else None,
        )

    def metrics(self, now_s: float) -> RunMetrics:
        """All counts."""
        assignment = self._lifecycle.placement.assignment
        worker_of = {} if assignment is None else assignment.worker_of
        node_of = {member.worker: member.about.node for member in self._membership.members()}
        run_s = self._lifecycle.run_s(now_s)
        return self._aggregation.metrics(now_s, run_s=run_s, worker_of=worker_of, node_of=node_of)
