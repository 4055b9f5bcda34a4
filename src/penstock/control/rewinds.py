"""Exactly once: epochs are saved and committed, and after a loss everything is set back to the last one.

A rewind is another assignment: over the workers that are there, at once, without waiting for the one that was lost. All
tasks are made anew from the checkpoint, in the processes that live; what was under way is dropped, because it carries
the number of an assignment that is over. A worker that comes, or comes back, is given tasks at the next commit, when
hardly anything has to be done again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from penstock.control.checkpointing import Checkpointing
from penstock.control.events import EpochNotCommitted
from penstock.control.instructions import CommitEpoch, Instruction
from penstock.control.membership import Member, Membership
from penstock.control.notices import Notices
from penstock.control.protocol import BeginEpoch, Committed, TaskNotSaved, TaskSaved
from penstock.control.settings import ControlSettings, RunPlan
from penstock.control.status import Phase
from penstock.control.suspicions import Suspicions
from penstock.errors import RunError

if TYPE_CHECKING:
    from penstock.control.lifecycle import Lifecycle

__all__ = ["Rewinds"]


class Rewinds:
    """What is decided about checkpoints, and about going back to them."""

    def __init__(
        self,
        plan: RunPlan,
        settings: ControlSettings,
        membership: Membership,
        lifecycle: Lifecycle,
        notices: Notices,
        out: list[Instruction],
    ) -> None:
        assert plan.shape is not None
        self._membership = membership
        self._lifecycle = lifecycle
        self._notices = notices
        self._out = out
        self.checkpointing = Checkpointing(
            run=plan.run, tasks=plan.tasks, shape=plan.shape, every_s=settings.epoch_every_s, start=plan.start
        )
        self.suspicions = Suspicions(plan.tasks)
        self._is_needed = False
        self._is_wished = False
        self._under_way = False
        self.count = 0
        """How often everything was set back."""

    # ---- who comes and goes

    def wants(self, member: Member) -> bool:
        """Whether one that has come is to be given tasks by setting everything back: it had some, or nobody has."""
        is_under_way = self._lifecycle.phase in (Phase.RUNNING, Phase.DRAINING)
        return is_under_way and (self._is_needed or self._membership.seats[member.worker].bereft)

    def joined(self) -> None:
        """A worker has come that has no tasks yet."""
        self._is_wished = True

    def lost(self, member: Member, *, died: bool = False) -> None:
        """A worker is gone, or what was sent to it is. If it had tasks, nobody can go on."""
        if died:
            self._suspect(member)
        else:
            self.suspicions.forget(member.worker)
        if self._lifecycle.has_tasks(member.worker):
            self._is_needed = True
            self._membership.seats[member.worker].bereft = True

    def _suspect(self, member: Member) -> None:
        if member.death_counted:
            return
        member.death_counted = True
        component = self.suspicions.died(member.worker)
        if component is not None:
            self._notices.add(f"a tuple for {component!r} kills its workers, and is given up")

    def leave_out(self, member: Member, *, died: bool) -> bool:
        """A member is out of reach. If it has tasks, everything goes on without it, on those who are there, if any."""
        if not self._lifecycle.has_tasks(member.worker) or not self._usable():
            return False
        if died:
            self._suspect(member)
        self._notices.add(f"everything goes on without {member.place}")
        self._membership.seats[member.worker].bereft = True
        member.stage = "admitted"  # what it still has to say of its tasks does not count
        self._is_needed = True
        return True

    # ---- epochs

    @property
    def is_at_rest(self) -> bool:
        """Whether neither an epoch nor a rewind is under way."""
        return not self._is_needed and not self._under_way and not self.checkpointing.is_under_way

    def begin_epoch_if_due(self, now_s: float) -> None:
        """Has the tasks saved, now and then, and at once if Spark waits for it."""
        feeds = self._lifecycle.feeds
        if self._is_needed or self._under_way or feeds.are_in_the_middle:
            return
        if feeds.wait_for_epoch:
            self.checkpointing.hurry()
        epoch = self.checkpointing.due(now_s)
        if epoch is not None:
            self._begin_epoch(epoch)

    def _begin_epoch(self, epoch: int) -> None:
        self.checkpointing.feeds = self._lifecycle.feeds.epoch_begun(epoch)
        for member in self._assigned():
            last = self._lifecycle.phase is Phase.DRAINING
            begin = BeginEpoch(epoch=epoch, committed=self.checkpointing.committed, last=last)
            self._lifecycle.send(member, begin)

    def saved(self, message: TaskSaved) -> None:
        """A task is saved."""
        if self._is_current(message.assignment):
            manifest = self.checkpointing.saved(message.task, message.epoch, message.saved)
            if manifest is not None:
                self._out.append(CommitEpoch(manifest=manifest))

    def not_saved(self, message: TaskNotSaved) -> None:
        """A task could not be saved: this epoch is given up, and the next one is tried."""
        if self._is_current(message.assignment):
            self._notices.add(f"epoch {message.epoch} could not be saved, the next one is tried: {message.reason}")
            self.checkpointing.give_up()

    def _is_current(self, assignment: int) -> bool:
        return not self._under_way and assignment == self._lifecycle.placement.number

    def committed(self, epoch: int) -> None:
        """An epoch is in the checkpoint."""
        if self.checkpointing.was_committed(epoch):
            self.suspicions.committed()
            self._lifecycle.moves.epoch_committed()
            self._lifecycle.feeds.epoch_committed(epoch)
            for member in self._assigned():
                if member.stage in ("begun", "ended"):  # not one that has just come back, and has no tasks yet
                    self._lifecycle.send(member, Committed(epoch=epoch))
            if self._is_wished:
                self._is_needed = True

    def not_committed(self, event: EpochNotCommitted, now_s: float) -> None:
        """An epoch could not be put into the checkpoint."""
        if event.taken:
            self._lifecycle.fail(RunError(f"the checkpoint is another run's now: {event.reason}"), now_s)
        else:
            self._notices.add(f"epoch {event.epoch} could not be committed, the next one is tried: {event.reason}")
        self.checkpointing.was_not_committed(event.epoch)

    # ---- what follows

    def advance(self, now_s: float) -> None:
        """Sets everything back if that is needed and can be done, and lets it go on when all are ready."""
        self._is_needed |= self._lifecycle.feeds.need_rewind
        # An epoch that is being committed counts, or does not: better to know.
        if self._is_needed and not self.checkpointing.is_committing and self._usable():
            self._rewind(now_s)
        if self._under_way and all(member.stage == "ready" for member in self._assigned()):
            self._under_way = False
            for member in self._assigned():
                self._lifecycle.begin(member)
        is_moving = self._lifecycle.moves.is_under_way
        if not self._under_way and not self._is_needed and not is_moving and self._all_ended():
            self._finish(now_s)

    def _rewind(self, now_s: float) -> None:
        members = self._usable()
        current = self._lifecycle.placement.assignment
        assert current is not None
        # Where tasks were moved to is not undone without need.
        stays = not self._is_wished and {member.worker for member in members}.issuperset(current.workers())
        self._is_needed = self._is_wished = False
        for member in members:
            self._membership.seats[member.worker].bereft = False
        self._under_way = True
        self.count += 1
        self.checkpointing.give_up()
        self._lifecycle.feeds.set_back()
        self._lifecycle.moves.set_back(now_s)
        epoch = self.checkpointing.committed
        self._notices.add(f"everything is set back to {f'epoch {epoch}' if epoch else 'the beginning'}")
        if stays:
            self._lifecycle.placement.begin_anew(current.worker_of)
            self._lifecycle.deploy_all(members, now_s)
        else:
            self._lifecycle.assign(members, now_s)

    def _finish(self, now_s: float) -> None:
        if self.checkpointing.is_finished:
            self._lifecycle.stop(now_s)
            return
        epoch = self.checkpointing.final_epoch(now_s)
        if epoch is not None:
            self._begin_epoch(epoch)

    def _usable(self) -> list[Member]:
        return [member for member in self._membership.members() if not member.silent]

    def _assigned(self) -> list[Member]:
        placement = self._lifecycle.placement
        return [member for member in self._membership.members() if placement.has_tasks(member.worker)]

    def _all_ended(self) -> bool:
        assignment = self._lifecycle.placement.assignment
        assert assignment is not None
        ended = {member.worker for member in self._assigned() if member.stage == "ended"}
        return self._lifecycle.phase in (Phase.RUNNING, Phase.DRAINING) and ended == {*assignment.workers()}
