"""Tasks that move while the run goes on: what is asked for waits its turn, and one move at a time is under way.

    IDLE ──all are there──► PREPARING ──all have prepared──► SWITCHED ──all tasks have moved──► IDLE
      ▲                         │                               │
      │   somebody is lost, silent, new, too slow,    exactly once: somebody is lost,
      └───or could not prepare: abandoned───────┘     everything is set back ──► IDLE

Before all have switched nothing has happened, and from then on the new assignment holds, whatever dies: so the run is
on the old one or on the new one, and never between. While a move is under way no epoch begins. Like everything here,
events only note what is so, and `advance` looks at what is so and decides.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from penstock.control.decisions import Decisions, DecisionState
from penstock.control.membership import Member, Membership
from penstock.control.moving import Abandon, Moved, NotPrepared, Prepare, Prepared, Switch, TakeOver
from penstock.control.notices import Notices
from penstock.control.settings import ControlSettings, RunPlan
from penstock.control.status import Phase
from penstock.errors import RunError
from penstock.plan.assignment import Assignment, Move
from penstock.plan.load import Load, Traffic
from penstock.plan.tasks import Task

if TYPE_CHECKING:
    from penstock.control.lifecycle import Lifecycle

__all__ = ["PERSON", "Moves"]

PERSON = "you"
"""Who wants a move that no scheduler has proposed."""

_WAITS_AT_MOST_S = 60.0
_MOST_WAITING = 8


class _Wish(msgspec.Struct, kw_only=True, frozen=True):
    """What was asked for, and has not begun."""

    decision: int
    by: str
    worker_of: dict[int, int]
    asked_at_s: float


class _Journey(msgspec.Struct, kw_only=True):
    """What is under way."""

    decision: int
    assignment: Assignment
    tasks: tuple[Task, ...]
    participants: dict[int, int]
    """The workers that were asked to prepare, and the generation of each."""
    began_at_s: float
    prepared: set[int] = msgspec.field(default_factory=set)
    objection: str | None = None
    switched: bool = False
    awaited: dict[int, frozenset[int]] = msgspec.field(default_factory=dict)
    """Once switched: the tasks that have not come to their new place, and the workers that they come from."""
    taken_over: set[int] = msgspec.field(default_factory=set)


class Moves:
    """What is decided about moving tasks."""

    def __init__(
        self,
        plan: RunPlan,
        settings: ControlSettings,
        membership: Membership,
        lifecycle: Lifecycle,
        notices: Notices,
    ) -> None:
        self._pinned = plan.pinned
        self._settings = settings
        self._membership = membership
        self._lifecycle = lifecycle
        self._placement = lifecycle.placement
        self._notices = notices
        self._wishes: list[_Wish] = []
        self._journey: _Journey | None = None
        self.decisions = Decisions()

    @property
    def is_under_way(self) -> bool:
        """Whether workers prepare, or tasks are on their way."""
        return self._journey is not None

    def awaits(self, worker: int) -> bool:
        """Whether a worker has something to hand over that is not where it belongs yet."""
        return self._journey is not None and any(worker in sources for sources in self._journey.awaited.values())

    def is_at_home(self, task: int, worker: int) -> bool:
        """Whether a worker is the one that knows how far a task is: the old place until the new one has it."""
        awaited = {} if self._journey is None else self._journey.awaited
        return worker in awaited[task] if task in awaited else task in self._placement.tasks_on(worker)

    # ---- what is asked for

    def request(self, worker_of: dict[int, int], why: str, *, by: str = PERSON, now_s: float) -> int:
        """Has tasks moved, as soon as that can be; those that are not named stay. Returns the decision's number.

        What a scheduler wants replaces what one wanted before, if that has not begun. RunError if it cannot be done.
        """
        wanted = self._wanted(worker_of)
        number = self.decisions.add(at_s=self._lifecycle.run_s(now_s), by=by, why=why, moves=wanted)
        objection = self._objection(worker_of)
        if objection is None and by == PERSON and len(self._wishes) >= _MOST_WAITING:
            objection = f"{len(self._wishes)} others wait already"
        if objection is not None:
            self.decisions.note(number, "refused", reason=objection)
            raise RunError(objection)
        if by != PERSON:
            for wish in [wish for wish in self._wishes if wish.by != PERSON]:
                self._give_up(wish, "replaced", f"by decision {number}")
        self._wishes.append(_Wish(decision=number, by=by, worker_of=worker_of, asked_at_s=now_s))
        rewinds = self._lifecycle.rewinds
        if rewinds is not None and not rewinds.checkpointing.is_clean:
            rewinds.checkpointing.hurry()
        return number

    def move(self, task: int | str, worker: int, now_s: float) -> int:
        """Has one task moved; RunError if it cannot be."""
        found = self._task(task)
        return self.request({found.id: worker}, f"{found.label} was asked to move to worker {worker}", now_s=now_s)

    def rebalance(self, load: Load | None, traffic: Traffic | None, now_s: float) -> int:
        """Plans now, and has moved what that puts elsewhere; RunError if it cannot be."""
        if self._lifecycle.phase is not Phase.RUNNING:
            raise RunError(self._not_running())
        there = [member for member in self._membership.members() if _is_there(member)]
        planned = self._placement.planned(there, pinned=self._pinned, load=load, traffic=traffic)
        current = self._placement.assignment
        assert current is not None
        gone = set(current.workers()) - {member.worker for member in there}
        kept = {task: worker for task, worker in current.worker_of.items() if worker in gone}
        name = self._placement.scheduler.name
        return self.request(planned | kept, "asked to plan anew", by=name, now_s=now_s)

    def _task(self, named: int | str) -> Task:
        for task in self._placement.tasks:
            if named in (task.id, task.label, str(task.id)):
                return task
        message = f"there is no task {named!r}; there are {', '.join(task.label for task in self._placement.tasks)}"
        raise RunError(message)

    def _wanted(self, worker_of: dict[int, int]) -> tuple[Move, ...]:
        current = {} if self._placement.assignment is None else self._placement.assignment.worker_of
        moves = (Move(task=task, source=current.get(task), target=worker) for task, worker in worker_of.items())
        return tuple(move for move in moves if move.source != move.target)

    def _objection(self, worker_of: dict[int, int]) -> str | None:
        """Why this cannot be done; None if it can, now or as soon as nothing else is under way."""
        if self._lifecycle.phase is not Phase.RUNNING:
            return self._not_running()
        tasks = {task.id: task for task in self._placement.tasks}
        for move in self._wanted(worker_of):
            if move.task not in tasks:
                return f"there is no task {move.task}"
            label = tasks[move.task].label
            if move.task in self._pinned:
                return f"{label} (task {move.task}) cannot move: {self._pinned[move.task]}"
            assert move.source is not None
            assert move.target is not None
            target = self._membership.seats.get(move.target)
            if target is None:
                return f"{label} cannot move to worker {move.target}: this run has no such worker"
            if target.member is None or target.member.silent:
                return f"{label} cannot move to worker {move.target}: it is not there"
            source = self._membership.seats[move.source]
            if source.member is None and source.ended:
                return f"{label} cannot move from worker {move.source}: its tasks have ended, and it is gone"
        return None

    def _not_running(self) -> str:
        return f"tasks move while a run is running, and this one is {self._lifecycle.phase}"

    # ---- what is heard

    def prepared(self, member: Member, message: Prepared) -> None:
        """A worker could switch."""
        journey = self._journey
        if journey is not None and message.assignment == journey.assignment.number:
            journey.prepared.add(member.worker)

    def not_prepared(self, member: Member, message: NotPrepared) -> None:
        """A worker could not."""
        journey = self._journey
        if journey is not None and message.assignment == journey.assignment.number:
            journey.objection = f"{member.place} cannot prepare: {message.reason}"

    def moved(self, member: Member, message: Moved) -> None:
        """A task has come to its new place."""
        journey = self._journey
        if (
            journey is not None
            and message.assignment == journey.assignment.number
            and journey.assignment.worker_of.get(message.task) == member.worker
        ):
            journey.awaited.pop(message.task, None)

    def set_back(self, now_s: float) -> None:
        """Everything begins anew from the last epoch, wherever it is put: nothing is on its way any more."""
        if self._journey is not None:
            assert self._journey.switched, "it was abandoned first"
            self._end("set back", "a worker was lost, and everything was set back", now_s)

    # ---- what follows

    def advance(self, now_s: float) -> None:
        """Goes on as far as what is so allows."""
        if not self._lifecycle.phase.needs_workers:
            self._run_ends(now_s)
            return
        if self._journey is not None and not self._journey.switched:
            self._advance_preparing(self._journey, now_s)
        if self._journey is not None and self._journey.switched:
            self._advance_switched(self._journey, now_s)
        while self._wishes and self._journey is None:
            if not self._begin_or_wait(self._wishes[0], now_s):
                return

    def _run_ends(self, now_s: float) -> None:
        for wish in [*self._wishes]:
            self._give_up(wish, "refused", self._not_running())
        if self._journey is not None and self._journey.switched:
            self._end("done", "the run ended meanwhile", now_s)
        elif self._journey is not None:
            self._abandon(self._journey, self._not_running(), now_s)

    def _begin_or_wait(self, wish: _Wish, now_s: float) -> bool:
        """Whether the wish is not waiting any more."""
        objection = self._objection(wish.worker_of)
        if objection is not None:
            self._give_up(wish, "refused", objection)
            return True
        obstacle = self._obstacle()
        if obstacle is None:
            self._begin(wish, now_s)
            return True
        if now_s - wish.asked_at_s >= _WAITS_AT_MOST_S:
            self._give_up(wish, "refused", f"it has waited for {_WAITS_AT_MOST_S:g} s: {obstacle}")
            return True
        self.decisions.note(wish.decision, "waiting", reason=obstacle)
        return False

    def _obstacle(self) -> str | None:
        """What has to be over first."""
        rewinds = self._lifecycle.rewinds
        if rewinds is not None and not rewinds.is_at_rest:
            return "an epoch is being saved, or everything is being set back"
        if rewinds is not None and not rewinds.checkpointing.is_clean:
            return "an epoch has to be committed first"
        for seat in self._membership.seats.values():
            if seat.member is None and not seat.ended:
                return f"worker {seat.worker} is being restarted"
            if seat.member is not None and not _is_there(seat.member):
                return f"{seat.member.place} is not ready"
        return None

    def _begin(self, wish: _Wish, now_s: float) -> None:
        self._wishes.remove(wish)
        moves = self._wanted(wish.worker_of)
        if not moves:
            self.decisions.note(wish.decision, "done", reason="all tasks are there already", took_s=0.0)
            return
        current = self._placement.assignment
        assert current is not None
        members = self._membership.members()
        self._journey = _Journey(
            decision=wish.decision,
            assignment=self._placement.numbered(current.worker_of | wish.worker_of),
            tasks=self._placement.tasks,
            participants={member.worker: member.generation for member in members},
            began_at_s=now_s,
        )
        self.decisions.note(wish.decision, "preparing", moves=moves)
        peers = tuple(member.peer for member in members)
        for member in members:
            self._lifecycle.send(
                member, Prepare(assignment=self._journey.assignment, tasks=self._journey.tasks, peers=peers)
            )

    def _advance_preparing(self, journey: _Journey, now_s: float) -> None:
        trouble = self._trouble(journey, now_s)
        if trouble is not None:
            self._abandon(journey, trouble, now_s)
        elif journey.prepared.issuperset(journey.participants):
            self._switch(journey)

    def _trouble(self, journey: _Journey, now_s: float) -> str | None:
        """Why all is to stay as it is; None if it is not."""
        if self._lifecycle.phase is not Phase.RUNNING:
            return self._not_running()
        members = {member.worker: member for member in self._membership.members()}
        for worker, generation in journey.participants.items():
            member = members.get(worker)
            if member is None or member.generation != generation:
                return f"worker {worker} was lost"
            if member.silent:
                return f"{member.place} is silent"
        for worker in members.keys() - journey.participants.keys():
            return f"{members[worker].place} has come"
        rewinds = self._lifecycle.rewinds
        if rewinds is not None and not rewinds.is_at_rest:
            return "everything is set back"
        if journey.objection is not None:
            return journey.objection
        if now_s - journey.began_at_s >= self._settings.move_timeout_s:
            late = ", ".join(str(worker) for worker in sorted(journey.participants.keys() - journey.prepared))
            return f"not prepared within {self._settings.move_timeout_s:g} s: worker {late}"
        return None

    def _abandon(self, journey: _Journey, why: str, now_s: float) -> None:
        for member in self._membership.members():
            if journey.participants.get(member.worker) == member.generation:
                self._lifecycle.send(member, Abandon(assignment=journey.assignment.number))
        self._end("abandoned", why, now_s)

    def _switch(self, journey: _Journey) -> None:
        before = self._placement.assignment
        assert before is not None
        moves = before.moved(journey.assignment)
        journey.switched = True
        journey.awaited = {move.task: frozenset({move.source}) for move in moves if move.source is not None}
        self.decisions.note(journey.decision, "switched")
        self._lifecycle.switch(journey.assignment, journey.tasks)
        switch = Switch(assignment=journey.assignment.number, epoch=self._lifecycle.newest_epoch)
        for member in self._membership.members():
            self._lifecycle.send(member, switch)

    def _advance_switched(self, journey: _Journey, now_s: float) -> None:
        if self._lifecycle.rewinds is None:  # else everything is set back when somebody is lost
            for task in [*journey.awaited]:
                self._look_after(journey, task)
        if not journey.awaited:
            self._end("done", None, now_s)

    def _look_after(self, journey: _Journey, task: int) -> None:
        """Sees that a task is there again if its old or its new place has died."""
        worker = journey.assignment.worker_of[task]
        there = self._membership.seats[worker].member
        if there is None:
            return  # it is being restarted, and will be told the assignment that holds
        if there.generation != journey.participants[worker]:
            if _is_there(there):  # the task was made anew with all others
                del journey.awaited[task]
        elif task not in journey.taken_over and any(self._is_dead(journey, one) for one in journey.awaited[task]):
            journey.taken_over.add(task)
            progress = self._lifecycle.epochs.progress_of([task])
            self._lifecycle.send(there, TakeOver(task=task, resume=progress[0] if progress else None))

    def _is_dead(self, journey: _Journey, worker: int) -> bool:
        member = self._membership.seats[worker].member
        return member is None or member.generation != journey.participants[worker]

    def _end(self, state: DecisionState, reason: str | None, now_s: float) -> None:
        journey, self._journey = self._journey, None
        assert journey is not None
        self.decisions.note(journey.decision, state, reason=reason, took_s=now_s - journey.began_at_s)
        if state != "done":
            self._notices.add(f"the move to assignment {journey.assignment.number} was {state}: {reason}")

    def _give_up(self, wish: _Wish, state: DecisionState, reason: str) -> None:
        self._wishes.remove(wish)
        self.decisions.note(wish.decision, state, reason=reason)


def _is_there(member: Member) -> bool:
    return member.stage in ("begun", "ended") and not member.silent
