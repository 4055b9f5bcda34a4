"""The controller: hears events, decides, and says what is to be done. No sockets, no clock, no Spark.

    controller = Controller(plan, settings)
    for instruction in controller.handle(Launch(), now_s):
        ...

It is the same object that the driver's server thread, the in-process cluster of the test kit and the tests drive.
What it decides is in the parts: membership (who takes part), lifecycle (how far the run is), moves (which tasks go to
other workers), online_scheduling (which had better), patience (who is out of reach), recovery (who is lost), staffing
(how many workers there are). What it tells people is in answers.
"""

from __future__ import annotations

from typing import assert_never

from penstock.control.aggregation import Aggregation
from penstock.control.answers import Answers
from penstock.control.collection import Collection
from penstock.control.events import (
    Arrived,
    Deserted,
    EpochCommitted,
    EpochNotCommitted,
    Event,
    FeedFailed,
    FeedOver,
    HostEnded,
    HostFailed,
    Launch,
    Proposed,
    Severed,
    Tick,
    WorkersWanted,
)
from penstock.control.failures import FailureLog
from penstock.control.feeding import BatchIn, FeedBroken
from penstock.control.instructions import Fail, Finish, Instruction, RunSummary, SendTo
from penstock.control.lifecycle import Lifecycle
from penstock.control.membership import CALLS, ECHO, Member, Membership
from penstock.control.metrics import RunMetrics
from penstock.control.moving import Moved, NotPrepared, Prepared
from penstock.control.notices import Notices
from penstock.control.online_scheduling import OnlineScheduling
from penstock.control.patience import Patience
from penstock.control.peers import PeerGone
from penstock.control.protocol import (
    Collected,
    Dying,
    Ended,
    Fatal,
    FromMember,
    FromWorker,
    Heartbeat,
    InCall,
    Left,
    LinkBroken,
    Noted,
    Ping,
    Pulse,
    Question,
    Ready,
    Refuse,
    Register,
    Report,
    RowsKept,
    SpoutFailing,
    TaskFailure,
    TaskNotSaved,
    TaskSaved,
    Trial,
    Tried,
    Trying,
)
from penstock.control.recovery import Recovery
from penstock.control.scheduling import Declined, StoreTrouble
from penstock.control.settings import ControlSettings, RunPlan
from penstock.control.staffing import Staffing
from penstock.control.status import Phase, RunStatus
from penstock.errors import RunError, StartError

__all__ = ["Controller"]


class Controller:
    """Decides for one run. Times are seconds of any clock that never goes back."""

    def __init__(self, plan: RunPlan, settings: ControlSettings) -> None:
        self._plan = plan
        self._out: list[Instruction] = []
        self._told_the_end = False
        self._notices = Notices()
        for notice in plan.notices:
            self._notices.add(notice)
        self._failures = FailureLog()
        self._collection = Collection(settings)
        self._known_tasks = plan.tasks
        self._aggregation = Aggregation(plan.tasks, (*plan.edges, *plan.help_edges), self._failures)
        self._membership = Membership(run=plan.run, workers=settings.workers)
        self._lifecycle = Lifecycle(plan, settings, self._membership, self._notices, self._out)
        self._recovery = Recovery(settings, self._membership, self._lifecycle, self._notices, self._out)
        self._patience = Patience(settings, self._membership, self._lifecycle, self._recovery, self._notices, self._out)
        self._staffing = Staffing(settings, self._membership, self._lifecycle, self._notices, self._out)
        self._scheduling = OnlineScheduling(
            plan, self._membership, self._lifecycle, self._staffing, self._notices, self._out
        )
        self._answers = Answers(
            plan, self._membership, self._lifecycle, self._scheduling, self._aggregation, self._notices
        )

    @property
    def phase(self) -> Phase:
        """How far the run is."""
        return self._lifecycle.phase

    def handle(self, event: Event, now_s: float) -> list[Instruction]:
        """Takes in what happened, and returns what is to be done about it, in this order."""
        match event:
            case Arrived():
                self._arrived(event.connection, event.message, now_s)
            case Severed():
                self._severed(event, now_s)
            case Deserted():
                self._patience.deserted(self._membership.beside(event.connection))
            case HostEnded():
                if not self._staffing.host_ended(event, now_s):
                    self._recovery.host_ended(event, now_s)
            case HostFailed():
                self._lifecycle.fail(RunError(f"no worker can be started any more: {event.error}"), now_s)
            case EpochCommitted():
                assert self._lifecycle.rewinds is not None
                self._lifecycle.rewinds.committed(event.epoch)
            case EpochNotCommitted():
                assert self._lifecycle.rewinds is not None
                self._lifecycle.rewinds.not_committed(event, now_s)
            case FeedOver():
                self._lifecycle.feeds.over(event.component)
            case FeedFailed():
                error = RunError(f"the query that feeds {event.component!r} fails again and again: {event.error}")
                self._lifecycle.fail(error, now_s)
            case Proposed():
                self._scheduling.proposed(event, now_s)
            case Declined():
                self._scheduling.declined(event, now_s)
            case StoreTrouble():
                self._scheduling.store_trouble(event)
            case WorkersWanted():
                self._staffing.hire(event.count, event.why, now_s)
            case Launch():
                self._lifecycle.launch(now_s)
            case Tick():
                self._tick(now_s)
            case _:
                assert_never(event)
        self._lifecycle.advance(now_s)
        self._scheduling.advance()
        if self._lifecycle.placement.tasks is not self._known_tasks:
            self._known_tasks = self._lifecycle.placement.tasks
            self._aggregation.has_tasks(self._known_tasks)
        self._tell_the_end(now_s)
        decided = self._out.copy()
        self._out.clear()
        return decided

    def _tick(self, now_s: float) -> None:
        self._patience.watch(now_s)
        self._recovery.watch(now_s)
        self._staffing.watch(now_s)
        self._lifecycle.begin_epoch_if_due(now_s)
        self._scheduling.sample_if_due(now_s)

    # ---- messages

    def _arrived(self, connection: bytes, message: FromWorker | Question, now_s: float) -> None:
        if isinstance(message, Question):
            self._out.append(SendTo(connection=connection, message=self._answers.answer(message, now_s)))
            return
        if isinstance(message, Ping | InCall):
            self._heard_beside(self._membership.beside(connection), message, now_s)
            return
        member = self._membership.behind(connection)
        if member is not None:
            self._patience.spoke(member, now_s)
        if isinstance(message, Register):
            if member is None:
                self._register(connection, message, now_s)
        elif member is None:
            # Its last word needs no answer, and nobody may be there to hear it.
            if not isinstance(message, Left):
                reason = "you are not, or no longer, a worker of this run"
                self._out.append(SendTo(connection=connection, message=Refuse(reason=reason)))
        else:
            self._heard(member, message, now_s)

    def _heard_beside(self, member: Member | None, message: Ping | InCall, now_s: float) -> None:
        """Never answered: an echo would send it back."""
        if member is not None and isinstance(message, InCall):
            self._patience.in_call(member, message, now_s)
        elif member is not None:
            self._patience.answered(member, now_s)

    def _register(self, connection: bytes, message: Register, now_s: float) -> None:
        objection = self._membership.objection(message) or self._lateness() or self._version_objection(message, now_s)
        if objection is None:
            self._make_room(message.worker, now_s)
            objection = self._lateness()  # that loss may have been one too many
        if objection is None:
            self._lifecycle.joined(self._membership.admit(connection, message, now_s), now_s)
        else:
            self._notices.add(f"refused worker {message.worker} on {message.host} (pid {message.pid}): {objection}")
            self._out.append(SendTo(connection=connection, message=Refuse(reason=objection)))

    def _make_room(self, worker: int, now_s: float) -> None:
        replaced = self._membership.vacate(worker, now_s)
        if replaced is not None:
            self._lifecycle.send(replaced, Refuse(reason=f"a newer attempt is worker {worker} now"))
            self._recovery.lost(replaced, replaced.lost_as("a newer attempt took its place"), now_s, died=True)

    def _lateness(self) -> str | None:
        """Why nobody is admitted any more; None as long as workers are needed."""
        return None if self.phase.needs_workers else f"the run is {self.phase}"

    def _version_objection(self, message: Register, now_s: float) -> str | None:
        """What is wrong with a worker's versions, which would be wrong with every other too: the run fails."""
        place = f"worker {message.worker} on {message.host}"
        text = None
        if message.penstock_version != self._plan.penstock_version:
            text = f"{place} has Penstock {message.penstock_version}, and the driver {self._plan.penstock_version}"
        elif _minor(message.python_version) != _minor(self._plan.python_version):
            text = f"{place} has Python {message.python_version}, and the driver {self._plan.python_version}"
        if text is not None:
            self._lifecycle.fail(StartError(text), now_s)
        return text

    def _heard(self, member: Member, message: FromMember, now_s: float) -> None:
        match message:
            case Heartbeat():
                self._lifecycle.send(member, Pulse())
            case Report():
                self._reported(member, message, now_s)
            case Ready():
                self._lifecycle.ready(member, message.assignment, message.feeds)
            case TaskFailure():
                self._failures.add(message)
            case SpoutFailing():
                self._notices.add(f"spout {message.component!r} (task {message.task}) {message.trouble}")
            case Collected():
                self._collected(member, message, now_s)
            case BatchIn():
                self._lifecycle.feeds.batch_in(message)
                self._lifecycle.begin_epoch_if_due(now_s)  # Spark waits for it
            case FeedBroken():
                self._lifecycle.feeds.broken(message)
            case Trial():
                self._lifecycle.heard_of_trial(member, message)
                self._lifecycle.begin_epoch_if_due(now_s)
            case TaskSaved() | TaskNotSaved() | Trying() | Tried():
                self._heard_of_epoch(member, message)
            case Prepared() | NotPrepared() | Moved():
                self._heard_of_move(member, message)
            case PeerGone():
                self._peer_gone(message, now_s)
            case LinkBroken():
                self._notices.add(f"a link to {member.place} broke, and {message.lost_frames} frames were lost")
                self._lifecycle.meet_again(member)
            case Ended():
                self._lifecycle.ended(member, message.assignment)
            case Fatal():
                self._fatal(member, message, now_s)
            case Dying():
                member.last_words = message.traceback
            case Left():
                self._left(member, message.reason, now_s)
            case _:
                assert_never(message)

    def _reported(self, member: Member, message: Report, now_s: float) -> None:
        try:
            self._aggregation.report(member.worker, member.generation, message, now_s)
            self._scheduling.report(member, message)
            moves = self._lifecycle.moves
            at_home = (spout for spout in message.spouts if moves.is_at_home(spout.task, member.worker))
            self._lifecycle.epochs.heard(at_home)
        except ValueError as error:
            self._notices.add(f"a report of {member.place} cannot be read: {error}")

    def _collected(self, member: Member, message: Collected, now_s: float) -> None:
        try:
            self._collection.add(message)
        except RunError as error:
            self._lifecycle.fail(error, now_s)
            return
        if message.arrivals is not None:
            self._lifecycle.send(member, RowsKept(task=message.task, arrivals=message.arrivals))

    def _heard_of_epoch(self, member: Member, message: TaskSaved | TaskNotSaved | Trying | Tried) -> None:
        rewinds = self._lifecycle.rewinds
        if rewinds is None:
            return
        match message:
            case TaskSaved():
                rewinds.saved(message)
            case TaskNotSaved():
                rewinds.not_saved(message)
            case Tried():
                rewinds.suspicions.tried(member.worker)
            case Trying():
                rewinds.suspicions.trying(member.worker, message)
                self._lifecycle.send(member, Noted())
            case _:
                assert_never(message)

    def _heard_of_move(self, member: Member, message: Prepared | NotPrepared | Moved) -> None:
        moves = self._lifecycle.moves
        match message:
            case Prepared():
                moves.prepared(member, message)
            case NotPrepared():
                moves.not_prepared(member, message)
            case Moved():
                moves.moved(member, message)
            case _:
                assert_never(message)

    def _peer_gone(self, message: PeerGone, now_s: float) -> None:
        """A worker found another one dead, sooner than we could."""
        seat = self._membership.seats.get(message.worker)
        if seat is None or seat.member is None or seat.generation != message.generation:
            return
        member = seat.member
        if self._is_missed(member):
            self._membership.vacate(message.worker, now_s)
            self._recovery.lost(member, member.lost_as("its process is dead"), now_s, died=True)

    def _fatal(self, member: Member, message: Fatal, now_s: float) -> None:
        early = self.phase in (Phase.STARTING, Phase.DEPLOYING)
        # It was left out, or everything was set back, and it did not know yet: what it failed at is of the past.
        is_past = message.assignment is not None and not self._lifecycle.placement.is_of_now(message.assignment)
        if not early and (is_past or not self._lifecycle.has_tasks(member.worker)):
            self._recovery.forced_out(member, f"it could not go on:\n{message.traceback}", now_s)
            return
        text = f"{member.place} cannot {'start' if early else 'go on'}:\n{message.traceback}"
        self._lifecycle.fail((StartError if early else RunError)(text), now_s)

    def _left(self, member: Member, reason: str, now_s: float) -> None:
        self._membership.vacate(member.worker, now_s)
        if self._is_missed(member):
            self._recovery.lost(member, f"it left: {reason or 'without a reason'}", now_s)

    def _severed(self, event: Severed, now_s: float) -> None:
        if event.connection.endswith((ECHO, CALLS)):
            return  # an answer would come back, without end
        member = self._membership.behind(event.connection)
        if member is None:
            self._notices.add(f"a connection was cut off: {event.reason}")
            self._out.append(SendTo(connection=event.connection, message=Refuse(reason=event.reason)))
        elif self._is_missed(member):
            self._recovery.forced_out(member, event.reason, now_s)
        else:
            self._lifecycle.force_out(member.worker, now_s)

    def _is_missed(self, member: Member) -> bool:
        """Whether the run needs somebody on this member's seat."""
        return self.phase.needs_workers and not self._membership.seats[member.worker].ended

    def status(self, now_s: float) -> RunStatus:
        """How far the run is and who takes part."""
        return self._answers.status(now_s)

    def metrics(self, now_s: float) -> RunMetrics:
        """All counts."""
        return self._answers.metrics(now_s)

    def _tell_the_end(self, now_s: float) -> None:
        if not self.phase.is_over or self._told_the_end:
            return
        self._told_the_end = True
        summary = RunSummary(status=self.status(now_s), metrics=self.metrics(now_s), collected=self._collection.all())
        error = self._lifecycle.error
        self._out.append(Finish(summary=summary) if error is None else Fail(error=error, summary=summary))


def _minor(version: str) -> tuple[str, ...]:
    """The part of a Python version that decides whether pickled code can be read."""
    return tuple(version.split(".")[:2])
