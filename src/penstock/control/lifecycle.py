"""How far a run is, and what makes it go on.

    STARTING ──all came, or enough and no more come──► DEPLOYING ──all ready──► RUNNING ──drain──► DRAINING
        │                                                  │                       │                  │
        └────────────── stop, or a failure ────────────────┴───────────────────────┴─────all ended────┤
                                                                                                      ▼
                                              ENDED or FAILED ◄──all have left, or time is up──  STOPPING

Events only note what is so; `advance` looks at what is so and decides. So no order of events can be forgotten.
"""

from __future__ import annotations

import math
from collections.abc import Collection

from penstock.control.epochs import Epochs
from penstock.control.feeding import FeedPlace
from penstock.control.feeds import Feeds
from penstock.control.instructions import Instruction, SendTo, StartWorker, StopWorker
from penstock.control.membership import Member, Membership
from penstock.control.moves import Moves
from penstock.control.notices import Notices
from penstock.control.peers import PeerChanged, PeerLost, PeerSilent
from penstock.control.placement import Placement
from penstock.control.protocol import (
    Admit,
    Begin,
    BeginEpoch,
    BeginTrial,
    Deploy,
    Drain,
    FromController,
    Refuse,
    Stop,
    TasksEnded,
    Trial,
)
from penstock.control.rewinds import Rewinds
from penstock.control.settings import ControlSettings, RunPlan
from penstock.control.status import Phase
from penstock.control.trials import Trials
from penstock.errors import RunError, StartError
from penstock.plan.assignment import Assignment
from penstock.plan.tasks import Task
from penstock.worker.resume import SpoutProgress
from penstock.worker.task_checkpoints import TaskRestore

__all__ = ["Lifecycle"]


class Lifecycle:
    """The phase of a run, and the transitions between phases."""

    def __init__(
        self,
        plan: RunPlan,
        settings: ControlSettings,
        membership: Membership,
        notices: Notices,
        out: list[Instruction],
    ) -> None:
        self._plan = plan
        self._settings = settings
        self._membership = membership
        self._notices = notices
        self._out = out
        self.phase = Phase.STARTING
        self.placement = Placement(plan)
        self.error: RunError | None = None
        self.began_at_s: float | None = None
        self.over_at_s: float | None = None
        self._progress_at_s = math.inf  # before the launch, nobody is late
        self._stopping_at_s = 0.0
        self._has_told_drain = False
        self.epochs = Epochs(every_s=settings.epoch_every_s)
        self.trials = Trials()
        self.feeds = Feeds(plan, settings, membership, self, notices)
        self.rewinds: Rewinds | None = None
        """None where nothing is saved."""
        if settings.delivery == "exactly_once":
            self.rewinds = Rewinds(plan, settings, membership, self, notices, out)
        self.moves = Moves(plan, settings, membership, self, notices)

    def run_s(self, now_s: float) -> float:
        """How long tuples have been able to flow, or could until the end."""
        if self.began_at_s is None:
            return 0.0
        return (now_s if self.over_at_s is None else self.over_at_s) - self.began_at_s

    # ---- what happens

    def launch(self, now_s: float) -> None:
        """Starts the workers."""
        self._progress_at_s = now_s
        for worker in self._membership.seats:
            self._out.append(StartWorker(worker=worker, launch=self._membership.launched(worker)))

    def joined(self, member: Member, now_s: float) -> None:
        """A process was seated: it is told so, and what to run if that is known; the others are told of it."""
        self.send(member, Admit(generation=member.generation))
        if self.phase is Phase.STARTING:
            self._progress_at_s = now_s
        elif self.rewinds is not None and self.rewinds.wants(member):
            self.rewinds.joined()  # and it gets tasks at the next commit
        else:
            self._deploy(member, now_s)
            for other in self._deployed():
                if other is not member:
                    self.send(other, PeerChanged(peer=member.peer))
                    if other.silent and self.rewinds is None:
                        self.send(member, _said_of(other))

    def leave_out(self, member: Member, *, died: bool) -> bool:
        """A member is out of reach: where that can be done, everything goes on without it. Returns whether it does."""
        if self.rewinds is None or self.phase not in (Phase.RUNNING, Phase.DRAINING):
            return False
        return self.rewinds.leave_out(member, died=died)

    def take_back(self, member: Member, now_s: float) -> None:
        """A member that was left out can be reached again."""
        assert self.rewinds is not None
        if not self.has_tasks(member.worker):
            self._deploy(member, now_s)  # nothing: so it drops the tasks that it had
        self.rewinds.joined()

    def has_tasks(self, worker: int) -> bool:
        """Whether a worker has tasks, or had when it was last there, or has some to hand over."""
        return self.placement.has_tasks(worker) or self.moves.awaits(worker)

    def tell_of_loss(self, member: Member) -> None:
        """A member is gone: what others got by way of it takes another way. Set back, nothing is under way any more."""
        self.trials.forget(member.worker)
        if self.rewinds is None:
            for other in self._deployed():
                self.send(other, PeerLost(worker=member.worker, generation=member.generation))

    def tell_of_silence(self, member: Member) -> None:
        """A member is out of reach, or can be reached again. Where that means being left out, it will be soon."""
        if self.rewinds is None:
            for other in self._deployed():
                if other is not member:
                    self.send(other, _said_of(member))

    def gone_after_its_end(self, worker: int, member: Member | None) -> None:
        """A worker whose tasks had ended is gone, perhaps with their ends unsent: the others are told."""
        if member is not None:
            self.tell_of_loss(member)
        if self.placement.assignment is not None and self.rewinds is None:
            for other in self._membership.members():
                self.send(other, TasksEnded(tasks=self.placement.tasks_on(worker)))

    def meet_again(self, member: Member) -> None:
        """Frames to a member were lost. Both sides meet anew, and tell each other again which tasks have ended."""
        if self.rewinds is not None:
            self.rewinds.lost(member)
            return
        for other in self._membership.members():
            if other is not member:
                self.send(other, PeerChanged(peer=member.peer))
                self.send(member, PeerChanged(peer=other.peer))

    def ready(self, member: Member, assignment: int, feeds: Collection[FeedPlace] = ()) -> None:
        """A member has opened its tasks. Only before the first Begin does it wait for the others."""
        if member.stage != "deployed" or assignment != self.placement.number:
            return
        member.stage = "ready"
        self.feeds.ready(member, feeds)
        is_running = self.phase in (Phase.RUNNING, Phase.DRAINING)
        if is_running and (self.rewinds is None or not self.placement.has_tasks(member.worker)):
            self.begin(member)
            self.epochs.hurry()  # its marker finds what was lost with the process before

    def ended(self, member: Member, assignment: int) -> None:
        """All tasks of a member are over. It may not have known of tasks that it has got since."""
        if member.stage == "begun" and assignment == self.placement.number:
            member.stage = "ended"
            # Where everything may be set back to before its end, it is needed for as long as the run lasts. And one
            # that never had tasks may still get some.
            has_tasks = self.placement.has_tasks(member.worker)
            self._membership.seats[member.worker].ended = self.rewinds is None and has_tasks

    def switch(self, assignment: Assignment, tasks: tuple[Task, ...]) -> None:
        """Another assignment holds from now on. Who had ended may have got tasks, and says it again if it has not."""
        self.placement.switch(assignment, tasks)
        for member in self._membership.members():
            self.trials.forget(member.worker, stays=self.placement.tasks_on(member.worker))
        if self.rewinds is not None:
            self.rewinds.checkpointing.has_tasks(tasks)
            self.rewinds.suspicions.has_tasks(tasks)
        for member in self._membership.members():
            if member.stage == "ended":
                member.stage = "begun"
                self._membership.seats[member.worker].ended = False

    def drain(self, now_s: float) -> None:
        """Ends in good order. Where nothing flows yet there is nothing to finish."""
        if self.phase is Phase.RUNNING:
            self.phase = Phase.DRAINING
            if self.rewinds is not None:
                self.rewinds.checkpointing.hurry()  # spouts end with an epoch, see BeginEpoch
        elif self.phase in (Phase.STARTING, Phase.DEPLOYING):
            self.stop(now_s)

    def begin_epoch_if_due(self, now_s: float) -> None:
        """Has markers sent, now and then, where they are of use."""
        if self._settings.delivery == "at_most_once" or self.phase not in (Phase.RUNNING, Phase.DRAINING):
            return
        if self.rewinds is not None:
            if not self.moves.is_under_way:
                self.rewinds.begin_epoch_if_due(now_s)
            return
        epoch = self.epochs.due(now_s, awaited=self.feeds.are_closing)
        if epoch is not None:
            for member in self._membership.members():
                if member.stage in ("begun", "ended"):
                    self.send(member, BeginEpoch(epoch=epoch))

    def heard_of_trial(self, member: Member, message: Trial) -> None:
        """A spout task wants to emit again what was lost, has done so, or knows what became of it."""
        if message.task not in self.placement.tasks_on(member.worker):
            return  # it goes on elsewhere, and what it has lost is emitted anew there
        match message.stage:
            case "wanted":
                self.trials.wanted(message.task, member.worker)
            case "emitted":
                self.epochs.hurry()
            case "over":
                self.trials.over(message.task, member.worker)

    def fail(self, error: RunError, now_s: float) -> None:
        """Ends with an error. What goes wrong while a run ends anyway is only noted."""
        if self.phase is Phase.STOPPING or self.phase.is_over:
            self._notices.add(str(error))
            return
        self.error = error
        self.stop(now_s)

    def stop(self, now_s: float) -> None:
        """Tells everybody to leave; those who cannot hear are ended by force."""
        if self.phase is Phase.STOPPING or self.phase.is_over:
            return
        self.phase = Phase.STOPPING
        self._stopping_at_s = now_s
        for seat in self._membership.seats.values():
            if seat.member is not None and not seat.member.silent:
                self.send(seat.member, Stop())
            else:
                self.force_out(seat.worker, now_s)

    # ---- what follows

    def advance(self, now_s: float) -> None:
        """Goes on to the next phase as often as what is so allows."""
        self.feeds.tell()
        self.moves.advance(now_s)
        self._begin_trial()
        before = None
        while before is not self.phase:
            before = self.phase
            if self.phase is Phase.STARTING:
                self._advance_starting(now_s)
            elif self.phase is Phase.DEPLOYING:
                self._advance_deploying(now_s)
            elif self.phase in (Phase.RUNNING, Phase.DRAINING):
                if self.rewinds is not None:
                    self.rewinds.advance(now_s)
                    continue
                self._tell_drain()
                if self._all_ended() and not self.moves.is_under_way:
                    self.stop(now_s)
            elif self.phase is Phase.STOPPING:
                self._advance_stopping(now_s)

    def _begin_trial(self) -> None:
        while (begun := self.trials.begin()) is not None:
            task, worker = begun
            seat = self._membership.seats.get(worker)
            if seat is not None and seat.member is not None:
                self.send(seat.member, BeginTrial(task=task))
            else:
                self.trials.forget(worker)

    def _all_ended(self) -> bool:
        seats = self._membership.seats.values()
        return all(seat.ended for seat in seats if self.placement.has_tasks(seat.worker))

    def _tell_drain(self) -> None:
        """Spouts end between two micro-batches that Spark feeds them, and when they are where they belong."""
        may_end = self.feeds.are_idle and not self.moves.is_under_way
        if self.phase is Phase.DRAINING and not self._has_told_drain and may_end:
            self._has_told_drain = True
            for member in self._membership.members():
                if member.stage == "begun":
                    self.send(member, Drain())

    def _advance_starting(self, now_s: float) -> None:
        there = [member.worker for member in self._membership.members() if not member.silent]
        missing = sorted(self._membership.seats.keys() - set(there))
        if missing:
            if now_s - self._progress_at_s < self._settings.start_timeout_s:
                return
            if len(there) < self._settings.fewest_workers:
                self.fail(StartError(self._too_few(there)), now_s)
                return
            self._notices.add(f"goes on with {len(there)} of {self._settings.workers} workers: no more came")
            for worker in missing:
                self.force_out(worker, now_s)
                self._membership.release(worker, now_s)
        self.assign(self._membership.members(), now_s)

    def _too_few(self, there: list[int]) -> str:
        settings = self._settings
        enough = f", at least {settings.fewest_workers}" if settings.fewest_workers < settings.workers else ""
        text = (
            f"run {self._plan.run!r} of topology {self._plan.topology!r} did not start: {len(there)} of "
            f"{settings.workers} workers came (wanted {settings.workers}{enough}), and no other within "
            f"{settings.start_timeout_s:g} s; the cluster may have too few free slots"
        )
        return "\n".join([text, *self._notices.all()])

    def assign(self, members: list[Member], now_s: float) -> None:
        """Shares the tasks out over these members, and tells them."""
        try:
            self.placement.begin_anew(self.placement.planned(members))
        except RunError as error:
            self.fail(StartError(str(error)), now_s)
        else:
            if self.phase is Phase.STARTING:
                self.phase = Phase.DEPLOYING
            self.deploy_all(members, now_s)

    def deploy_all(self, members: list[Member], now_s: float) -> None:
        """Tells these members what to run."""
        for member in members:
            self._deploy(member, now_s)

    def _deploy(self, member: Member, now_s: float) -> None:
        assignment = self.placement.assignment
        assert assignment is not None
        over = {seat.worker for seat in self._membership.seats.values() if seat.ended}
        member.stage = "deployed"
        member.deployed_at_s = now_s
        deploy = Deploy(
            topology=self._plan.blob,
            tasks=self.placement.tasks,
            edges=(*self._plan.edges, *self._plan.help_edges),
            assignment=assignment,
            former=self.moves.former,
            peers=tuple(other.peer for other in self._membership.members()),
            resume=self._progress(member),
            ended_tasks=tuple(task for task, worker in assignment.worker_of.items() if worker in over),
            checkpoint_url=self._plan.checkpoint_url,
            claim=self._plan.claim,
            epoch=0 if self.rewinds is None else self.rewinds.checkpointing.committed,
            restore=self._restores(member),
            care=None if self.rewinds is None else self.rewinds.suspicions.care,
        )
        self.send(member, deploy)

    def _progress(self, member: Member) -> tuple[SpoutProgress, ...]:
        """Where a member's spouts go on. With a checkpoint that alone says it: what they said since is taken back."""
        return () if self.rewinds is not None else self.epochs.progress_of(self.placement.tasks_on(member.worker))

    def _restores(self, member: Member) -> tuple[TaskRestore, ...]:
        if self.rewinds is None:
            return ()
        mine = self.placement.tasks_on(member.worker)
        return tuple(restore for restore in self.rewinds.checkpointing.restores() if restore.task in mine)

    def _advance_deploying(self, now_s: float) -> None:
        # A silent member that was ready may be dead: better to begin when it spoke again, or was replaced.
        if all(
            seat.member is not None and seat.member.stage == "ready" and not seat.member.silent
            for seat in self._membership.seats.values()
        ):
            self.phase = Phase.RUNNING
            self.began_at_s = now_s
            for member in self._membership.members():
                self.begin(member)

    def begin(self, member: Member) -> None:
        """Lets a member's spouts go."""
        member.stage = "begun"
        self.send(member, Begin())
        if self._has_told_drain:
            self.send(member, Drain())

    def _advance_stopping(self, now_s: float) -> None:
        if now_s - self._stopping_at_s >= self._settings.stop_timeout_s:
            for member in self._membership.members():
                self._notices.add(f"{member.place} did not leave and was ended by force")
                self.force_out(member.worker, now_s)
        if not self._membership.members():
            self.phase = Phase.ENDED if self.error is None else Phase.FAILED
            self.over_at_s = now_s

    # ---- means

    def force_out(self, worker: int, now_s: float) -> None:
        """Fences a worker's process, tells it so in case it hears, and has the host end it."""
        seat = self._membership.seats[worker]
        member = self._membership.vacate(worker, now_s)
        if member is not None:
            self.send(member, Refuse(reason=f"worker {worker} was given up: {seat.trouble or 'the run is over'}"))
        if seat.hosted and not seat.stop_asked:
            seat.stop_asked = True
            self._out.append(StopWorker(worker=worker, launch=seat.launch))

    def _deployed(self) -> list[Member]:
        """Those who know of each other."""
        return [member for member in self._membership.members() if member.stage != "admitted"]

    def send(self, member: Member, message: FromController) -> None:
        """Has a message sent to a member."""
        self._out.append(SendTo(connection=member.connection, message=message))


def _said_of(member: Member) -> PeerSilent:
    return PeerSilent(worker=member.worker, generation=member.generation, silent=member.silent)
