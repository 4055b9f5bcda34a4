"""What is asked for about where tasks run, and waits its turn. Pure.

What people want is done one after the other; of what schedulers want, only the last counts.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from penstock.control.decisions import Decisions, DecisionState
from penstock.control.membership import Member, Membership
from penstock.control.settings import RunPlan
from penstock.control.status import Phase
from penstock.errors import RunError
from penstock.plan.assignment import Assignment, Move
from penstock.plan.load import Load, Traffic
from penstock.plan.tasks import Task

if TYPE_CHECKING:
    from penstock.control.lifecycle import Lifecycle

__all__ = ["PERSON", "Goal", "Wish", "Wishes"]

PERSON = "you"
"""Who wants what no scheduler has proposed."""

_WAITS_AT_MOST_S = 60.0
_MOST_WAITING = 8


class Goal(msgspec.Struct, frozen=True, kw_only=True):
    """Where everything is to run."""

    tasks: tuple[Task, ...]
    worker_of: dict[int, int]
    moves: tuple[Move, ...]
    """What is elsewhere now."""


class Wish(msgspec.Struct, frozen=True, kw_only=True):
    """What was asked for: tasks on workers, or another number of tasks."""

    by: str
    worker_of: dict[int, int] = {}
    """Tasks that are not named stay."""
    component: str | None = None
    count: int = 0
    """How many tasks the component is to have."""
    decision: int = 0
    asked_at_s: float = 0.0


class Wishes:
    """Those that have not begun: the part of `Moves` that people and schedulers meet."""

    def __init__(self, plan: RunPlan, membership: Membership, lifecycle: Lifecycle) -> None:
        self._plan = plan
        self._membership = membership
        self._lifecycle = lifecycle
        self._placement = lifecycle.placement
        self._waiting: list[Wish] = []
        self.decisions = Decisions()

    # ---- asking

    def request(self, worker_of: dict[int, int], why: str, *, by: str = PERSON, now_s: float) -> int:
        """Has tasks moved, as soon as that can be; those that are not named stay. Returns the decision's number.

        What a scheduler wants replaces what one wanted before, if that has not begun. RunError if it cannot be done.
        """
        return self._take_up(Wish(by=by, worker_of=worker_of), why, now_s)

    def move(self, task: int | str, worker: int, now_s: float) -> int:
        """Has one task moved; RunError if it cannot be."""
        for one in self._placement.tasks:
            if task in (one.id, one.label, str(one.id)):
                return self.request({one.id: worker}, f"asked to move {one.label} to worker {worker}", now_s=now_s)
        message = f"there is no task {task!r}; there are {', '.join(one.label for one in self._placement.tasks)}"
        raise RunError(message)

    def rebalance(self, load: Load | None, traffic: Traffic | None, now_s: float) -> int:
        """Plans now, and has moved what that puts elsewhere; RunError if it cannot be."""
        self._require_running()
        there = self._there()
        planned = self._placement.planned(there, pinned=self._plan.pinned, load=load, traffic=traffic)
        workers = {member.worker for member in there}
        kept = {task: worker for task, worker in self._current().items() if worker not in workers}
        return self.request(planned | kept, "asked to plan anew", by=self._placement.scheduler.name, now_s=now_s)

    def scale(self, component: str, count: int, now_s: float) -> int:
        """Has a bolt given another number of tasks, all of them new; RunError if it cannot be."""
        wish = Wish(by=PERSON, component=component, count=count)
        return self._take_up(wish, f"asked for {count} tasks of {component!r}", now_s)

    def _take_up(self, wish: Wish, why: str, now_s: float) -> int:
        number = self.decisions.add(at_s=self._lifecycle.run_s(now_s), by=wish.by, why=why)
        try:
            self.decisions.note(number, "waiting", moves=self.goal(wish).moves)
            if wish.by == PERSON and len(self._waiting) >= _MOST_WAITING:
                message = f"{len(self._waiting)} others wait already"
                raise RunError(message)
        except RunError as error:
            self.decisions.note(number, "refused", reason=str(error))
            raise
        for known in [known for known in self._waiting if known.by != PERSON != wish.by]:
            self.give_up(known, "replaced", f"by decision {number}")
        self._waiting.append(msgspec.structs.replace(wish, decision=number, asked_at_s=now_s))
        rewinds = self._lifecycle.rewinds
        if rewinds is not None and not rewinds.checkpointing.is_clean:
            rewinds.checkpointing.hurry()
        return number

    # ---- what comes of it

    @property
    def first(self) -> Wish | None:
        """Whose turn it is."""
        return self._waiting[0] if self._waiting else None

    def begins(self, wish: Wish) -> None:
        """It does not wait any more."""
        self._waiting.remove(wish)

    def give_up(self, wish: Wish, state: DecisionState, reason: str) -> None:
        """Nothing comes of it."""
        self._waiting.remove(wish)
        self.decisions.note(wish.decision, state, reason=reason)

    def waits(self, wish: Wish, obstacle: str, now_s: float) -> None:
        """Something else has to be over first. Nobody waits for ever."""
        if now_s - wish.asked_at_s >= _WAITS_AT_MOST_S:
            self.give_up(wish, "refused", f"it has waited for {_WAITS_AT_MOST_S:g} s: {obstacle}")
        else:
            self.decisions.note(wish.decision, "waiting", reason=obstacle)

    def goal(self, wish: Wish) -> Goal:
        """Where everything would run; RunError if it cannot be, now or as soon as nothing else is under way."""
        self._require_running()
        tasks, worker_of = self._placement.tasks, self._current() | wish.worker_of
        if wish.component is not None:
            tasks, worker_of = self._scaled(wish.component, wish.count)
        current = self._placement.assignment
        assert current is not None
        moves = current.moved(Assignment(number=current.number, worker_of=worker_of))
        labels = {task.id: task.label for task in (*self._placement.tasks, *tasks)}
        for move in moves:
            if move.task not in labels:
                message = f"there is no task {move.task}"
                raise RunError(message)
            self._require_movable(move, labels[move.task])
        return Goal(tasks=tasks, worker_of=worker_of, moves=moves)

    def _scaled(self, component: str, count: int) -> tuple[tuple[Task, ...], dict[int, int]]:
        old = [task for task in self._placement.tasks if task.component == component]
        if not old:
            names = dict.fromkeys(task.component for task in self._placement.tasks)
            message = f"there is no component {component!r}; there are {', '.join(names)}"
            raise RunError(message)
        if component in self._plan.unscalable:
            message = f"{component!r} keeps its {len(old)} tasks: {self._plan.unscalable[component]}"
            raise RunError(message)
        if count < 1:
            message = f"{component!r} must have at least 1 task, got {count}"
            raise RunError(message)
        if count == len(old):
            return self._placement.tasks, self._current()
        others = [task for task in self._placement.tasks if task.component != component]
        fresh = max(task.id for task in self._placement.tasks) + 1
        new = [Task(id=fresh + index, component=component, index=index, kind=old[0].kind) for index in range(count)]
        tasks = (*others, *new)
        planned = self._placement.planned(self._there(), tasks=tasks, pinned=[task.id for task in others])
        current = self._current()
        return tasks, planned | {task.id: current[task.id] for task in others}

    def _require_movable(self, move: Move, label: str) -> None:
        message = None
        if move.task in self._plan.pinned:
            message = f"{label} (task {move.task}) cannot move: {self._plan.pinned[move.task]}"
        if message is None and move.target is not None:
            seat = self._membership.seats.get(move.target)
            if seat is None:
                message = f"{label} cannot move to worker {move.target}: this run has no such worker"
            elif seat.released:
                message = f"{label} cannot move to worker {move.target}: it was released"
            elif seat.member is None or seat.member.silent:
                message = f"{label} cannot move to worker {move.target}: it is not there"
        if message is None and move.source is not None:
            seat = self._membership.seats.get(move.source)
            if seat is not None and seat.member is None and seat.ended:
                message = f"{label} cannot move from worker {move.source}: its tasks have ended, and it is gone"
        if message is not None:
            raise RunError(message)

    def _require_running(self) -> None:
        if self._lifecycle.phase is not Phase.RUNNING:
            raise RunError(self.not_running())

    def not_running(self) -> str:
        """Why nothing moves in this phase."""
        return f"tasks move while a run is running, and this one is {self._lifecycle.phase}"

    def _current(self) -> dict[int, int]:
        return {} if self._placement.assignment is None else self._placement.assignment.worker_of

    def _there(self) -> list[Member]:
        there = [member for member in self._membership.members() if member.works]
        if not there:
            message = "no worker is there that tasks could be put on"
            raise RunError(message)
        return there
