"""Workers that are lost: how that is noticed, and how they come back.

Spark restarts a process that died, by itself and in about a second; the new attempt registers and takes the seat. What
remains for us is what Spark does not see: a process that is out of reach (see patience), and a job that gave up.
"""

from __future__ import annotations

from penstock.control.events import HostEnded
from penstock.control.instructions import Instruction, StartWorker
from penstock.control.lifecycle import Lifecycle
from penstock.control.membership import Member, Membership, Seat
from penstock.control.notices import Notices
from penstock.control.settings import ControlSettings
from penstock.control.status import Phase
from penstock.errors import RunError, StartError

__all__ = ["Recovery"]


class Recovery:
    """Watches the seats, and fills those that became empty."""

    def __init__(
        self,
        settings: ControlSettings,
        membership: Membership,
        lifecycle: Lifecycle,
        notices: Notices,
        out: list[Instruction],
    ) -> None:
        self._settings = settings
        self._membership = membership
        self._lifecycle = lifecycle
        self._notices = notices
        self._out = out

    def lost(self, member: Member, reason: str, now_s: float, *, died: bool = False) -> None:
        """A process was taken off its seat: counts as one loss. If it `died`, perhaps of the tuple that it was at."""
        seat = self._membership.seats[member.worker]
        self._notices.add(f"{member.place} is lost: {reason}")
        self._count_loss(seat, reason, now_s)
        self._lifecycle.feeds.member_lost(member)
        self._lifecycle.tell_of_loss(member)
        if self._lifecycle.rewinds is not None:
            self._lifecycle.rewinds.lost(member, died=died)

    def forced_out(self, member: Member, reason: str, now_s: float, *, died: bool = False) -> None:
        """A process is there and of no use: its job is ended, and when that is done, started anew."""
        seat = self._membership.seats[member.worker]
        seat.trouble = reason
        self._lifecycle.force_out(member.worker, now_s)
        self.lost(member, reason, now_s, died=died)

    def host_ended(self, event: HostEnded, now_s: float) -> None:
        """The host's job for a worker is over. Where its tasks are not, another is started."""
        seat = self._membership.seats.get(event.worker)
        if seat is None or event.launch != seat.launch or not seat.hosted:
            return
        seat.hosted = False
        member = self._membership.vacate(event.worker, now_s)
        if not self._lifecycle.phase.needs_workers:
            return
        if seat.ended:
            self._lifecycle.gone_after_its_end(event.worker, member)
            return
        if not seat.stop_asked:
            self._host_gave_up(seat, member, event.error or "its job returned", now_s)
        if self._lifecycle.phase.needs_workers:
            self._out.append(StartWorker(worker=event.worker, launch=self._membership.launched(event.worker)))

    def _host_gave_up(self, seat: Seat, member: Member | None, reason: str, now_s: float) -> None:
        never_came = seat.newest_attempt is None
        if self._lifecycle.phase in (Phase.STARTING, Phase.DEPLOYING):
            when = "before it had registered" if never_came else "before the run had begun"
            self._lifecycle.fail(StartError(f"worker {seat.worker} ended {when}: {reason}"), now_s)
        elif member is not None:
            self.lost(member, member.lost_as(reason), now_s, died=True)
        elif never_came:
            self._notices.add(f"worker {seat.worker} did not come back: {reason}")
            self._count_loss(seat, reason, now_s)

    def watch(self, now_s: float) -> None:
        """Looks at the seats that are empty: who does not come back."""
        for seat in self._membership.seats.values():
            if (
                seat.member is None
                and not seat.ended
                and self._lifecycle.phase.needs_workers
                and self._lifecycle.phase is not Phase.STARTING
                and (self._lifecycle.phase is Phase.DEPLOYING or self._lifecycle.has_tasks(seat.worker))
            ):
                self._watch_empty(seat, now_s)

    def _watch_empty(self, seat: Seat, now_s: float) -> None:
        if self._lifecycle.rewinds is not None and self._membership.members():
            return  # the others have its tasks, or will have
        if now_s - seat.empty_since_s >= self._settings.rejoin_timeout_s:
            text = (
                f"worker {seat.worker} was lost ({seat.trouble}) and did not come back within "
                f"{self._settings.rejoin_timeout_s:g} s"
            )
            self._lifecycle.fail(RunError(text), now_s)

    def _count_loss(self, seat: Seat, reason: str, now_s: float) -> None:
        settings = self._settings
        seat.trouble = reason
        seat.losses_s = [at_s for at_s in seat.losses_s if now_s - at_s < settings.restart_window_s] + [now_s]
        if len(seat.losses_s) > settings.max_restarts:
            text = (
                f"worker {seat.worker} was lost {len(seat.losses_s)} times within {settings.restart_window_s:g} s "
                f"(max_restarts={settings.max_restarts}), the last time: {reason}"
            )
            self._lifecycle.fail(RunError(text), now_s)
