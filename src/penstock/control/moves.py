"""Tasks that move while the run goes on: what is asked for waits its turn, and one move at a time is under way.

    IDLE ──all are there──► PREPARING ──all have prepared──► SWITCHED ──all tasks have moved──► IDLE
      ▲                         │                               │
      │   somebody is lost, silent, new, too slow,    exactly once: somebody is lost,
      └───or could not prepare: abandoned───────┘     everything is set back ──► IDLE

Before all have switched nothing has happened, and from then on the new assignment holds, whatever dies: so the run is
on the old one or on the new one, and never between. Exactly once, no epoch begins while a move is under way; at least
once they do, because markers find what is lost, and sinks commit at them. Like everything here, events only note what
is so, and `advance` looks at what is so and decides. What waits its turn is in wishes.
"""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

import msgspec

from penstock.control.decisions import DecisionState
from penstock.control.membership import Member, Membership
from penstock.control.moving import Abandon, Moved, NotPrepared, Prepare, Prepared, Switch, TakeOver
from penstock.control.notices import Notices
from penstock.control.settings import ControlSettings, RunPlan
from penstock.control.status import Phase
from penstock.control.wishes import Goal, Wish, Wishes
from penstock.errors import RunError
from penstock.plan.assignment import Assignment
from penstock.plan.tasks import Task

if TYPE_CHECKING:
    from penstock.control.lifecycle import Lifecycle

__all__ = ["Moves"]


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
    former: dict[int, int] = msgspec.field(default_factory=dict)
    """Once switched: where the tasks were that are elsewhere now, or are no more."""
    awaited: dict[int, frozenset[int]] = msgspec.field(default_factory=dict)
    """Once switched: the tasks that have not come to their new place, and the workers that they come from."""
    taken_over: set[tuple[int, int]] = msgspec.field(default_factory=set)
    """Those that go on without what a worker had to hand over, and that worker."""


class Moves(Wishes):
    """What is asked for, and what is under way."""

    def __init__(
        self,
        plan: RunPlan,
        settings: ControlSettings,
        membership: Membership,
        lifecycle: Lifecycle,
        notices: Notices,
    ) -> None:
        super().__init__(plan, membership, lifecycle)
        self._settings = settings
        self._notices = notices
        self._journey: _Journey | None = None
        self._unproven: set[int] = set()
        """Exactly once: workers that have handed tasks over since the last commit. What they sent on before may be on
        its way still, and is lost if they die. The next epoch that is committed proves that it came."""

    @property
    def is_under_way(self) -> bool:
        """Whether workers prepare, or tasks are on their way."""
        return self._journey is not None

    @property
    def is_busy(self) -> bool:
        """Whether one is under way, or waits its turn."""
        return self._journey is not None or self.first is not None

    def awaits(self, worker: int) -> bool:
        """Whether a worker has handed something over that is not known to be where it belongs."""
        if worker in self._unproven:
            return True
        return self._journey is not None and any(worker in sources for sources in self._journey.awaited.values())

    @property
    def former(self) -> dict[int, int]:
        """Where tasks were before the move that is under way: what they sent from there may be on its way still."""
        return {} if self._journey is None else self._journey.former

    def epoch_committed(self) -> None:
        """All that was under way before the epoch has come. None begins while a move is under way."""
        self._unproven.clear()

    def is_at_home(self, task: int, worker: int) -> bool:
        """Whether a worker is the one that knows how far a task is: the old place until the new one has it."""
        awaited = {} if self._journey is None else self._journey.awaited
        return worker in awaited[task] if task in awaited else task in self._placement.tasks_on(worker)

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
        self._unproven.clear()
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
        while self._journey is None and (wish := self.first) is not None:
            self._begin_if_possible(wish, now_s)
            if self.first is wish:
                return

    def _run_ends(self, now_s: float) -> None:
        while (wish := self.first) is not None:
            self.give_up(wish, "refused", self.not_running())
        if self._journey is not None and self._journey.switched:
            self._end("done", "the run ended meanwhile", now_s)
        elif self._journey is not None:
            self._abandon(self._journey, self.not_running(), now_s)

    def _begin_if_possible(self, wish: Wish, now_s: float) -> None:
        try:
            goal = self.goal(wish)
        except RunError as error:
            self.give_up(wish, "refused", str(error))
            return
        obstacle = self._obstacle()
        if obstacle is None:
            self.begins(wish)
            self._begin(wish.decision, goal, now_s)
        else:
            self.waits(wish, obstacle, now_s)

    def _obstacle(self) -> str | None:
        """What has to be over first."""
        rewinds = self._lifecycle.rewinds
        if rewinds is not None and not rewinds.is_at_rest:
            return "an epoch is being saved, or everything is being set back"
        if rewinds is not None and not rewinds.checkpointing.is_clean:
            return "an epoch has to be committed first"
        for seat in self._membership.seats.values():
            if seat.member is None and not seat.ended and self._placement.has_tasks(seat.worker):
                return f"worker {seat.worker} is being restarted"
            if seat.member is not None and not seat.member.works:
                return f"{seat.member.place} is not ready"
        return None

    def _begin(self, decision: int, goal: Goal, now_s: float) -> None:
        if not goal.moves:
            self.decisions.note(decision, "done", reason="all is there already", took_s=0.0)
            return
        members = self._membership.members()
        self._journey = _Journey(
            decision=decision,
            assignment=self._placement.numbered(goal.worker_of),
            tasks=goal.tasks,
            participants={member.worker: member.generation for member in members},
            began_at_s=now_s,
        )
        self.decisions.note(decision, "preparing", moves=goal.moves)
        peers = tuple(member.peer for member in members)
        prepare = Prepare(assignment=self._journey.assignment, tasks=goal.tasks, peers=peers)
        for member in members:
            self._lifecycle.send(member, prepare)

    def _advance_preparing(self, journey: _Journey, now_s: float) -> None:
        trouble = self._trouble(journey, now_s)
        if trouble is not None:
            self._abandon(journey, trouble, now_s)
        elif journey.prepared.issuperset(journey.participants):
            self._switch(journey)

    def _trouble(self, journey: _Journey, now_s: float) -> str | None:
        """Why all is to stay as it is; None if it is not."""
        if self._lifecycle.phase is not Phase.RUNNING:
            return self.not_running()
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
        component_of = {task.id: task.component for task in (*self._placement.tasks, *journey.tasks)}
        old_places: defaultdict[str, set[int]] = defaultdict(set)
        for task, worker in before.worker_of.items():
            old_places[component_of[task]].add(worker)
        journey.switched = True
        for move in before.moved(journey.assignment):
            if move.source is not None:
                journey.former[move.task] = move.source
            if move.target is not None:  # a task that is new has its state from all former ones of its component
                former = old_places[component_of[move.task]] if move.source is None else {move.source}
                journey.awaited[move.task] = frozenset(former)
                if self._lifecycle.rewinds is not None:
                    self._unproven |= former
        self.decisions.note(journey.decision, "switched")
        self._lifecycle.switch(journey.assignment, journey.tasks)
        switch = Switch(assignment=journey.assignment.number)
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
            if there.works:  # the task was made anew with all others
                del journey.awaited[task]
            return
        progress = self._lifecycle.epochs.progress_of([task])
        for one in sorted(journey.awaited[task]):
            if self._is_dead(journey, one) and (task, one) not in journey.taken_over:
                journey.taken_over.add((task, one))
                resume = progress[0] if progress else None
                self._lifecycle.send(there, TakeOver(task=task, worker=one, resume=resume))

    def _is_dead(self, journey: _Journey, worker: int) -> bool:
        member = self._membership.seats[worker].member
        return member is None or member.generation != journey.participants[worker]

    def _end(self, state: DecisionState, reason: str | None, now_s: float) -> None:
        journey, self._journey = self._journey, None
        assert journey is not None
        self.decisions.note(journey.decision, state, reason=reason, took_s=now_s - journey.began_at_s)
        if state != "done":
            self._notices.add(f"the move to assignment {journey.assignment.number} was {state}: {reason}")
