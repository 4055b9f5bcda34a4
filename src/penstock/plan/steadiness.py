"""Decides when a schedule is applied, so that tasks do not wander to and fro with the noise of measurements."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from penstock.plan.assignment import Assignment, Move
from penstock.plan.judgement import Judgement, JudgementSettings, judge
from penstock.plan.schedulers.base import PlanRequest

__all__ = ["Steadiness"]

# Where a worker is full to its core it is helped, however often its tasks have moved.
_MOST_TIMES_FOR_RELIEF = 2

_LATELY = "tasks of it have moved lately, and want more to move again"


class Steadiness:
    """Judges what is proposed period after period, and remembers what was done.

    Three rules keep it from flapping:

    - A schedule is applied when it is worth it twice: by the measurements that it was planned from, and by those of
      the next period. A plan fits the noise that it was made of; that of the next period it does not know.
    - A task that moved is reluctant to move again: the gain has to be twice the threshold, after another move four
      times, and so on; and it remembers each time twice as long.
    - Overload is relieved at once, but tasks that moved lately want more than a touch of it.
    """

    def __init__(self, settings: JudgementSettings) -> None:
        self.settings = settings
        self._candidate: Assignment | None = None
        self._moved: dict[int, tuple[int, float]] = {}

    def consider(self, now_s: float, request: PlanRequest, proposed: Assignment) -> Judgement:
        """Whether to apply what is proposed, or what was proposed last time and has stood the test since.

        Tell `moved` when it is done; what is not told was not done.
        """
        self._forget(now_s)
        fresh = judge(request, proposed, self.settings)
        held = self._again(request)
        self._candidate = None
        if fresh.urgent:
            wanted = min(self._times(fresh), _MOST_TIMES_FOR_RELIEF) * self.settings.threshold
            return fresh if fresh.relief >= wanted else self._declined(fresh, f"{fresh.reason}, but {_LATELY}")
        if held is not None and self._is_enough(held):
            return held
        if not fresh.applied:
            return fresh
        if not self._is_enough(fresh):
            return self._declined(fresh, f"{fresh.reason}, but {_LATELY}")
        self._candidate = fresh.proposed
        return self._declined(fresh, f"{fresh.reason}: to be applied if that is still so in the next period")

    def drop_candidate(self) -> None:
        """What was proposed last time does not count any more: it is another scheduler's turn."""
        self._candidate = None

    def moved(self, now_s: float, moves: Iterable[Move]) -> None:
        """These tasks were moved, for whatever reason."""
        for move in moves:
            times, _ = self._moved.get(move.task, (0, now_s))
            self._moved[move.task] = (times + 1, now_s)

    def _forget(self, now_s: float) -> None:
        self._moved = {
            task: (times, at_s)
            for task, (times, at_s) in self._moved.items()
            if now_s - at_s < self.settings.remember_s * 2 ** (times - 1)
        }

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

    def _is_enough(self, judgement: Judgement) -> bool:
        times = self._times(judgement)
        return judgement.applied and (times == 0 or judgement.gain > self.settings.threshold * 2**times)

    def _times(self, judgement: Judgement) -> int:
        """How often the most restless of the tasks to be moved has moved lately."""
        return max((self._moved[move.task][0] for move in judgement.moves if move.task in self._moved), default=0)

    @staticmethod
    def _declined(judgement: Judgement, reason: str) -> Judgement:
        return msgspec.structs.replace(judgement, applied=False, reason=reason)
