"""What the controller does about load and schedules: has load kept, takes up what is proposed, and changes its mind.

    reports ──► LoadMonitor ──► KeepLoad ──► the store ──► a generator ──► the store ──► Proposed ──► Moves
                                                                              ▲                         │
                                                                              └──── ScheduleOutcome ────┘

Pure, like all parts of the controller.
"""

from __future__ import annotations

import math
import traceback
from collections.abc import Mapping
from typing import Any

import msgspec

from penstock.control.asking import Answer, Done, NotNow
from penstock.control.events import Proposed
from penstock.control.instructions import Instruction
from penstock.control.lifecycle import Lifecycle
from penstock.control.load_monitor import LoadMonitor
from penstock.control.load_records import Choice, ScheduleStatus, WorkerRecord
from penstock.control.membership import Member, Membership
from penstock.control.notices import Notices
from penstock.control.overload import overload, workers_wanted
from penstock.control.protocol import Report
from penstock.control.scheduling import (
    AskScheduling,
    Declined,
    KeepChoice,
    KeepLoad,
    ScheduleOutcome,
    SchedulingStatus,
    StoreTrouble,
)
from penstock.control.scheduling_settings import SchedulingSettings
from penstock.control.settings import RunPlan
from penstock.control.staffing import Staffing
from penstock.control.status import Phase
from penstock.errors import RunError
from penstock.plan.load import Load, Traffic
from penstock.plan.schedulers.registry import scheduler as scheduler_named

__all__ = ["OnlineScheduling"]

# These say who does what, which is settled when a run starts.
_FIXED = ("scheduling", "store")
# Who is asked for has to come, get tasks, and be measured, before it is known whether others are wanted.
_HIRE_EVERY_S = 120.0


class OnlineScheduling:
    """For one run. Without a choice nothing is measured and nothing chosen: for those who drive a controller alone."""

    def __init__(
        self,
        plan: RunPlan,
        membership: Membership,
        lifecycle: Lifecycle,
        staffing: Staffing,
        notices: Notices,
        out: list[Instruction],
    ) -> None:
        self._choice = plan.choice
        self._membership = membership
        self._lifecycle = lifecycle
        self._staffing = staffing
        self._hired_at_s = -math.inf
        self._notices = notices
        self._out = out
        self._monitor = LoadMonitor(plan.edges)
        self._proposals: dict[int, int | None] = {}
        """The decisions that wait for their end, and the schedule of each."""
        self._verdict: tuple[str, float] | None = None

    # ---- load

    def report(self, member: Member, report: Report) -> None:
        """A worker has told its totals."""
        if self._choice is not None:
            self._monitor.report(member.worker, member.generation, report)

    def sample_if_due(self, now_s: float) -> None:
        """Has load sampled, once a period."""
        assignment = self._lifecycle.placement.assignment
        if self._choice is None or assignment is None or self._lifecycle.phase is not Phase.RUNNING:
            return
        settings = self._choice.settings
        sample = self._monitor.sample_if_due(
            now_s, every_s=settings.load_every_s, alpha=settings.load_alpha, worker_of=assignment.worker_of
        )
        if sample is None:
            return
        estimate = self._monitor.estimate
        workers = tuple(
            WorkerRecord(
                worker=member.worker,
                node=member.about.node,
                host=member.about.host,
                cores=member.about.cores,
                cpu_share=estimate.workers.get(member.worker, 0.0),
            )
            for member in self._membership.members()
            if not member.silent
        )
        tasks = self._lifecycle.placement.tasks
        self._out.append(
            KeepLoad(sample=sample, estimate=estimate, tasks=tasks, workers=workers, assignment=assignment)
        )
        self._hire_if_overloaded(self._choice, workers, now_s)

    def _hire_if_overloaded(self, choice: Choice, workers: tuple[WorkerRecord, ...], now_s: float) -> None:
        """Asks for workers when those there are cannot share it out: the next schedule spreads over them."""
        if choice.scheduler is None or choice.settings.scheduling == "off" or now_s - self._hired_at_s < _HIRE_EVERY_S:
            return
        capacity_fraction = choice.settings.capacity_fraction
        wanted = workers_wanted(workers, capacity_fraction=capacity_fraction)
        why = overload(workers, capacity_fraction=capacity_fraction)
        if why is not None and wanted and self._staffing.hire(wanted, why, now_s):
            self._hired_at_s = now_s

    @property
    def load(self) -> Load | None:
        """What is known of the load; None if nothing is."""
        return self._monitor.estimate.load() if self._monitor.estimate.tasks else None

    @property
    def traffic(self) -> Traffic | None:
        """What is known of the traffic; None if nothing is."""
        return self._monitor.estimate.traffic() if self._monitor.estimate.tasks else None

    # ---- schedules

    def proposed(self, event: Proposed, now_s: float) -> None:
        """A schedule was fetched from the store."""
        current = self._lifecycle.placement.number
        if event.assignment not in (None, current):
            reason = f"it was made to replace assignment {event.assignment}, and now {current} is in force"
            self._tell(event.schedule, "superseded", reason)
            return
        self._verdict = None
        try:
            decision = self._lifecycle.moves.request(event.worker_of, event.why, by=event.scheduler, now_s=now_s)
        except RunError as error:
            self._tell(event.schedule, "refused", str(error))
        else:
            self._proposals[decision] = event.schedule

    def _tell(self, schedule: int | None, status: ScheduleStatus, reason: str) -> None:
        if schedule is not None:
            self._out.append(ScheduleOutcome(schedule=schedule, status=status, reason=reason))

    def declined(self, event: Declined, now_s: float) -> None:
        """Something was planned, and is not worth doing."""
        self._verdict = (f"{event.scheduler}: {event.why}", self._lifecycle.run_s(now_s))

    def store_trouble(self, event: StoreTrouble) -> None:
        """The store could not be used. Load is measured all the same, and entered when it can be."""
        self._notices.add(f"{event.error}; load is not kept, and nothing is planned, until it can be used again")

    def advance(self) -> None:
        """Tells what became of schedules."""
        if not self._proposals:
            return
        for decision in self._lifecycle.moves.decisions.all():
            if decision.is_final and decision.number in self._proposals:
                status: ScheduleStatus = "refused"
                if decision.state == "done":
                    status = "applied"
                elif decision.state == "replaced":
                    status = "superseded"
                self._tell(self._proposals.pop(decision.number), status, decision.reason or "")

    # ---- another mind

    def answer(self, question: AskScheduling) -> Answer:
        """Takes up another scheduler, or other settings, whole or not at all."""
        try:
            self._choose(question)
        except ValueError as error:
            return NotNow(reason=str(error))
        except Exception:  # the scheduler may be the user's own, and the thread that we run in must live
            return NotNow(reason=f"scheduler {question.scheduler!r} cannot be made:\n{traceback.format_exc()}")
        return Done()

    def _choose(self, question: AskScheduling) -> None:
        if self._choice is None:
            message = "this run was started without online scheduling"
            raise ValueError(message)
        settings = _changed(self._choice.settings, question.settings)
        name, parameters = self._choice.scheduler, self._choice.parameters
        if question.scheduler is not None:
            name, parameters = question.scheduler, dict(question.parameters)
            scheduler = scheduler_named(name, **parameters)
            self._lifecycle.placement.scheduler = scheduler
        elif question.parameters:
            message = f"parameters {', '.join(question.parameters)} are given, and no scheduler that they are for"
            raise ValueError(message)
        self._choice = Choice(scheduler=name, parameters=parameters, settings=settings)
        self._verdict = None
        self._out.append(KeepChoice(choice=self._choice))

    def status(self) -> SchedulingStatus | None:
        """For people; None where nothing is measured."""
        if self._choice is None:
            return None
        verdict, at_s = self._verdict or (None, 0.0)
        return SchedulingStatus(
            planner=self._choice.settings.scheduling if self._choice.scheduler is not None else "off",
            parameters=self._choice.parameters,
            verdict=verdict,
            verdict_at_s=at_s,
        )


def _changed(settings: SchedulingSettings, changes: Mapping[str, Any]) -> SchedulingSettings:
    for name in changes:
        if name in _FIXED or name not in SchedulingSettings.__struct_fields__:
            known = ", ".join(sorted({*SchedulingSettings.__struct_fields__} - {*_FIXED}))
            message = f"no setting that can be changed while a run goes on is named {name!r}; there are: {known}"
            raise ValueError(message)
    try:
        return msgspec.convert(msgspec.structs.asdict(settings) | dict(changes), SchedulingSettings)
    except msgspec.ValidationError as error:
        message = f"a setting of online scheduling has a wrong value: {error}"
        raise ValueError(message) from error
