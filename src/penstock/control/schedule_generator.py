"""The schedule generator: reads the load store, plans, judges, and writes schedules. It knows nothing of the runtime.

In the driver of a run a thread does this, and `penstock scheduler` anywhere else: both drive a `Generator`, which has
no clock and no thread of its own.
"""

from __future__ import annotations

import traceback

import msgspec

from penstock.control.load_records import Choice, ScheduleRecord, Situation
from penstock.control.load_store import LoadStore
from penstock.control.overload import overload
from penstock.errors import PenstockError
from penstock.plan.assignment import Assignment
from penstock.plan.explanation import explain
from penstock.plan.judgement import Judgement, JudgementSettings
from penstock.plan.predicted import predict
from penstock.plan.problem import CostSettings
from penstock.plan.schedulers.base import PlanRequest, checked_plan
from penstock.plan.schedulers.registry import scheduler as scheduler_named
from penstock.plan.steadiness import Steadiness

__all__ = ["Generator", "judgement_settings", "planned_by", "schedule_of"]

# With fewer samples nothing is planned: the first one has the start of the run in it.
_FEWEST_SAMPLES = 2
# How long a driver may take to decide about a schedule until another is made.
_UNDECIDED_S = 120.0


class Generator:
    """Plans for one run. `look` is to be called whenever something may be new, and now and then."""

    def __init__(self, store: LoadStore, run: str) -> None:
        self.store = store
        """Another connection to the same store may take its place."""
        self._run = run
        self._choice: Choice | None = None
        self._steadiness = Steadiness(JudgementSettings())
        self._assignment: Assignment | None = None
        self._sample = 0
        """The newest sample that was planned by."""
        self._planned_at_s = 0.0

    def look(self, now_s: float) -> ScheduleRecord | None:
        """Makes a schedule if it is time for one, and enters it; returns it if there is something in it to do.

        It is time when the period is over, at each sample as long as something is overloaded, and when the choice of
        a scheduler has changed.

        Raises:
            LoadStoreError: the store cannot be read or written.
        """
        choice = self.store.choice(self._run)
        sample = self.store.newest_sample(self._run)
        if choice != self._choice:
            self._take_up(choice)
        if choice.scheduler is None or sample < _FEWEST_SAMPLES or sample == self._sample:
            return None
        situation = self.store.situation(self._run)
        self._note_moves(situation.assignment, now_s)
        is_due = now_s - self._planned_at_s >= choice.settings.schedule_every_s
        if not is_due and not _is_overloaded(situation):
            return None
        if self._is_undecided(now_s):
            return None
        self._sample, self._planned_at_s = situation.sample, now_s
        return self._plan(situation, now_s)

    def rest_s(self, now_s: float) -> float | None:
        """How long until the period is over; None if it is: then only what is new counts."""
        if self._choice is None or self._choice.scheduler is None:
            return None
        rest_s = self._planned_at_s + self._choice.settings.schedule_every_s - now_s
        return rest_s if rest_s > 0 else None

    def _take_up(self, choice: Choice) -> None:
        before, self._choice = self._choice, choice
        self._steadiness.settings = judgement_settings(choice)
        if before is None or (before.scheduler, before.parameters) != (choice.scheduler, choice.parameters):
            self._sample, self._planned_at_s = 0, 0.0
            self._steadiness.drop_candidate()

    def _note_moves(self, assignment: Assignment | None, now_s: float) -> None:
        """Whoever moved tasks: they are not to wander."""
        before, self._assignment = self._assignment, assignment
        if before is not None and assignment is not None and before.number != assignment.number:
            moves = before.moved(assignment)
            self._steadiness.moved(now_s, [move for move in moves if move.source is not None])

    def _is_undecided(self, now_s: float) -> bool:
        newest = self.store.schedules(self._run, most=1)
        return any(one.status == "proposed" and now_s - one.at_s < _UNDECIDED_S for one in newest)

    def _plan(self, situation: Situation, now_s: float) -> ScheduleRecord | None:
        there = {worker.worker for worker in situation.workers}
        if situation.assignment is None or not there.issuperset(situation.assignment.workers()):
            return None  # a worker is being restarted: its tasks come back with it
        choice = situation.choice
        try:
            request = situation.request()
            planned = planned_by(choice, request)
            judgement = self._steadiness.consider(now_s, request, planned)
            schedule = schedule_of(situation, request, judgement, now_s=now_s)
        except PenstockError as error:
            schedule = _failed(choice, situation.assignment, str(error), now_s)
        except Exception:  # the scheduler may be the user's own
            trouble = f"scheduler {choice.scheduler!r} raised while it planned:\n{traceback.format_exc()}"
            schedule = _failed(choice, situation.assignment, trouble, now_s)
        else:
            if not judgement.moves:
                return None
        number = self.store.propose(self._run, schedule)
        return msgspec.structs.replace(schedule, number=number)


def _is_overloaded(situation: Situation) -> bool:
    capacity_fraction = situation.choice.settings.capacity_fraction
    return overload(situation.workers, capacity_fraction=capacity_fraction) is not None


def judgement_settings(choice: Choice) -> JudgementSettings:
    """When a schedule is applied, as the choice says."""
    settings = choice.settings
    return JudgementSettings(
        threshold=settings.gain_threshold, cost=CostSettings(capacity_fraction=settings.capacity_fraction)
    )


def planned_by(choice: Choice, request: PlanRequest) -> Assignment:
    """What the chosen scheduler plans. ValueError if there is no such scheduler."""
    assert choice.scheduler is not None
    return checked_plan(scheduler_named(choice.scheduler, **choice.parameters), request)


def schedule_of(situation: Situation, request: PlanRequest, judgement: Judgement, *, now_s: float) -> ScheduleRecord:
    """What was planned, and why it is proposed or not, as the store keeps it."""
    current, choice = request.current, situation.choice
    assert current is not None
    assert choice.scheduler is not None
    return ScheduleRecord(
        at_s=now_s,
        assignment=current.number,
        scheduler=choice.scheduler,
        parameters=choice.parameters,
        worker_of=judgement.proposed.worker_of,
        before=predict(request, current),
        after=predict(request, judgement.proposed),
        words=explain(request, judgement.proposed, situation.node_names),
        status="proposed" if judgement.applied else "refused",
        reason=judgement.reason,
    )


def _failed(choice: Choice, current: Assignment, trouble: str, now_s: float) -> ScheduleRecord:
    assert choice.scheduler is not None
    return ScheduleRecord(
        at_s=now_s,
        assignment=current.number,
        scheduler=choice.scheduler,
        parameters=choice.parameters,
        worker_of=current.worker_of,
        status="refused",
        reason=trouble,
    )
