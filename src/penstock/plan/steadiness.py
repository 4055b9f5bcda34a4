"""Decides when a schedule is applied, so that tasks do not wander to and fro with the noise of measurements."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from penstock.plan.assignment import Assignment, Move
from penstock.plan.judgement import Judgement, JudgementSettings, judge
from penstock.plan.schedulers.base import PlanRequest

__all__ = ["Steadiness"]

# Tasks that moved lately move for overload only where it is nearly all that cores can do.
_NEARLY_ALL = 0.8
# How often a run may apply schedules before it becomes reluctant as a whole: to spread out, and to gather again.
_FREE_TIMES = 2
# How long after a move that was for nothing overload is borne, as a share of the time that a move is remembered.
_BORNE = 1 / 16
# A move is forgotten after so many times the time for which it made reluctant; another one before doubles that time.
_FORGOTTEN = 4

_LATELY = "tasks have moved lately, and want more to move again"


class _Moved(msgspec.Struct, frozen=True):
    """How often something was moved, and when last."""

    times: int
    at_s: float

    def remembered_s(self, remember_s: float) -> float:
        return remember_s * 2.0 ** (self.times - 1)


class Steadiness:
    """Judges what is proposed period after period, and remembers what was done.

    These rules keep it from flapping:

    - A schedule is applied when it is worth it twice: by the measurements that it was planned from, and by those of
      the next period. A plan fits the noise that it was made of; that of the next period it does not know.
    - A task that moved is reluctant to move again: the gain has to be twice the threshold, after another move four
      times, and so on. So is the run as a whole, after two schedules that others followed.
    - Reluctance lasts twice as long with each move, and is forgotten when there was none for four times as long. So
      under a load that only seems to change, the moves of any time are as its logarithm, and they soon end.
    - Urgent overload is relieved at once, but where tasks moved lately it has to be nearly all that the cores can do,
      and is borne for a while, twice as long each time.
    """

    def __init__(self, settings: JudgementSettings) -> None:
        self.settings = settings
        self._candidate: Assignment | None = None
        self._moved: dict[int, _Moved] = {}
        self._run: _Moved | None = None

    def consider(self, now_s: float, request: PlanRequest, proposed: Assignment) -> Judgement:
        """Whether to apply what is proposed, or what was proposed last time and has stood the test since.

        Tell `moved` when it is done; what is not told was not done.
        """
        self._forget(now_s)
        fresh = judge(request, proposed, self.settings)
        held = self._again(request)
        self._candidate = None
        if fresh.urgent:
            return fresh if self._is_relief_due(now_s, fresh) else _declined(fresh, f"{fresh.reason}, but {_LATELY}")
        if held is not None and self._is_enough(now_s, held):
            return held
        if not fresh.applied:
            return fresh
        if not self._is_enough(now_s, fresh):
            return _declined(fresh, f"{fresh.reason}, but {_LATELY}")
        self._candidate = fresh.proposed
        return _declined(fresh, f"{fresh.reason}: to be applied if that is still so in the next period")

    def drop_candidate(self) -> None:
        """What was proposed last time does not count any more: it is another scheduler's turn."""
        self._candidate = None

    def moved(self, now_s: float, moves: Iterable[Move]) -> None:
        """These tasks were moved, for whatever reason."""
        for move in moves:
            self._moved[move.task] = _once_more(self._moved.get(move.task), now_s)
        self._run = _once_more(self._run, now_s)

    def _forget(self, now_s: float) -> None:
        def is_known(moved: _Moved) -> bool:
            return now_s - moved.at_s < _FORGOTTEN * moved.remembered_s(self.settings.remember_s)

        self._moved = {task: moved for task, moved in self._moved.items() if is_known(moved)}
        if self._run is not None and not is_known(self._run):
            self._run = None

    def _again(self, request: PlanRequest) -> Judgement | None:
        """The candidate of the last period, judged by the measurements of this one."""
        candidate = self._candidate
        if candidate is None or candidate.worker_of.keys() != {task.id for task in request.tasks}:
            return None
        if not {slot.worker for slot in request.slots}.issuperset(candidate.worker_of.values()):
            return None
        if any(candidate.worker_of[task] != worker for task, worker in request.fixed().items()):
            return None
        return judge(request, msgspec.structs.replace(candidate, number=request.next_number), self.settings)

    def _is_enough(self, now_s: float, judgement: Judgement) -> bool:
        times = self._reluctance(now_s, judgement)
        return judgement.applied and (times == 0 or judgement.gain > self.settings.threshold * 2.0**times)

    def _is_relief_due(self, now_s: float, judgement: Judgement) -> bool:
        if not judgement.moves or judgement.relief >= 1.0 or self._reluctance(now_s, judgement) == 0:
            return True
        if judgement.relief < _NEARLY_ALL * self.settings.cost.headroom:
            return False
        return self._run is None or now_s - self._run.at_s >= _BORNE * self._run.remembered_s(self.settings.remember_s)

    def _reluctance(self, now_s: float, judgement: Judgement) -> int:
        """How often the most restless of the tasks to be moved has moved lately, or the run beyond what is free."""

        def times(moved: _Moved | None) -> int:
            lately = moved is not None and now_s - moved.at_s < moved.remembered_s(self.settings.remember_s)
            return moved.times if moved is not None and lately else 0

        return max(
            [times(self._run) - _FREE_TIMES, 0, *(times(self._moved.get(move.task)) for move in judgement.moves)]
        )


def _once_more(moved: _Moved | None, now_s: float) -> _Moved:
    return _Moved(1 if moved is None else moved.times + 1, now_s)


def _declined(judgement: Judgement, reason: str) -> Judgement:
    return msgspec.structs.replace(judgement, applied=False, reason=reason)
