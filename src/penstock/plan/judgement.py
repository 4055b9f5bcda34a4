"""Whether another assignment is worth its moves."""

from __future__ import annotations

from typing import Annotated

import msgspec

from penstock.plan.assignment import Assignment, Move
from penstock.plan.problem import CostSettings, problem_of
from penstock.plan.schedulers.base import PlanRequest

__all__ = ["Judgement", "JudgementSettings", "judge"]


# How far into the headroom between its limit and all of its cores something has to be for relief to be urgent.
_URGENT = 0.4


class JudgementSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """When a schedule is applied."""

    threshold: Annotated[float, msgspec.Meta(gt=0.0, lt=1.0)] = 0.1
    """The gain that a schedule must exceed: 0.1 is a tenth less of what the traffic costs now."""
    remember_s: Annotated[float, msgspec.Meta(gt=0.0)] = 3600.0
    """How long a task that moved is reluctant to move again; twice as long with each further move."""
    cost: CostSettings = CostSettings()


class Judgement(msgspec.Struct, frozen=True, kw_only=True):
    """What speaks for an assignment, and whether that is enough."""

    proposed: Assignment
    moves: tuple[Move, ...]
    applied: bool
    """Whether it should be."""
    reason: str
    """Why, or why not, for people."""
    gain: float
    """How much less the traffic is going to cost, less what the moves cost, as a share of what it costs now."""
    relief: float
    """By how much of its limit the busiest worker or node will be less overloaded; 0 if none is overloaded now."""
    urgent: bool = False
    """Whether it should not wait: tasks are on no worker, or something is far above its limit that need not be."""


def judge(request: PlanRequest, proposed: Assignment, settings: JudgementSettings) -> Judgement:
    """Compares the proposed assignment with the current one: overload first, then traffic, and the moves counted."""
    problem = problem_of(request, settings.cost)
    after = problem.places(proposed)

    moves = request.current.moved(proposed) if request.current else ()

    def judgement(
        applied: bool, reason: str, gain: float = 0.0, relief: float = 0.0, urgent: bool = False
    ) -> Judgement:
        return Judgement(
            proposed=proposed, moves=moves, applied=applied, reason=reason, gain=gain, relief=relief, urgent=urgent
        )

    if request.current is None or -1 in problem.current:
        return judgement(True, "there are tasks that no worker has", gain=1.0, relief=1.0, urgent=True)
    before = problem.places(request.current)
    if (before == after).all():
        return judgement(False, "it is what there is")
    cost_now, cost_then, moving = problem.traffic_cost(before), problem.traffic_cost(after), problem.moving_cost(after)
    gain = (cost_now - cost_then - moving) / cost_now if cost_now > 0 else 0.0
    overload_now, overload_then = problem.overload(before), problem.overload(after)
    if overload_then > overload_now:
        return judgement(False, "a worker or node would be overloaded, or more so than now", gain=gain)
    if overload_then < overload_now:
        relief = max(problem.overshoot(before) - problem.overshoot(after), 0.0)
        reason = f"less overload, by {relief:.0%} of what the busiest may have"
        return judgement(True, reason, gain=gain, relief=relief, urgent=relief >= _URGENT * settings.cost.headroom)
    worth = gain > settings.threshold
    compared = "more" if worth else "not more"
    reason = f"a gain of {gain:.1%}, the moves counted, which is {compared} than {settings.threshold:.0%}"
    return judgement(worth, reason, gain=gain)
