"""How many workers a run has: who has no tasks is released after a while, and others are asked for again. Pure.

A seat that was *released* is neither lost nor missing: nobody sits there, and nobody has to come. Its worker was told
to leave, and when its job is over its slot is Spark's again.
"""

from __future__ import annotations

from penstock.control.events import HostEnded
from penstock.control.instructions import HoldSlots, Instruction, StartWorker, StopWorker
from penstock.control.lifecycle import Lifecycle
from penstock.control.membership import Member, Membership, Seat
from penstock.control.notices import Notices
from penstock.control.protocol import Stop
from penstock.control.settings import ControlSettings
from penstock.control.status import Phase

__all__ = ["Staffing"]


class Staffing:
    """Lets workers go, and has others come."""

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

    # ---- more

    def hire(self, count: int, why: str, now_s: float) -> int:
        """Asks for so many workers more, up to `max_workers`; returns how many are asked for."""
        if self._lifecycle.phase is not Phase.RUNNING:
            return 0
        free = [seat for seat in self._membership.seats.values() if seat.released and not seat.hosted]
        while len(free) < count and len(self._membership.seats) < self._settings.most_workers:
            free.append(self._membership.add_seat())
        hired = free[: max(0, count)]
        for seat in hired:
            seat.released = False
            seat.hired_at_s = seat.empty_since_s = now_s
            self._notices.add(f"worker {seat.worker} is asked for: {why}")
        if hired:
            self._hold()
        for seat in hired:
            self._out.append(StartWorker(worker=seat.worker, launch=self._membership.launched(seat.worker)))
        return len(hired)

    # ---- fewer

    def watch(self, now_s: float) -> None:
        """Looks for those who have nothing to do, those who do not come, and those who do not leave."""
        for seat in self._membership.seats.values():
            if seat.released:
                self._watch_leaving(seat, now_s)
            elif seat.member is not None:
                seat.hired_at_s = None
                self._watch_idle(seat, seat.member, now_s)
            elif seat.hired_at_s is not None and now_s - seat.hired_at_s >= self._settings.start_timeout_s:
                self._give_up(seat, f"it did not come within {self._settings.start_timeout_s:g} s", now_s)

    def _watch_idle(self, seat: Seat, member: Member, now_s: float) -> None:
        lifecycle = self._lifecycle
        may_go = lifecycle.phase is Phase.RUNNING and member.works and not lifecycle.moves.is_busy
        if lifecycle.has_tasks(seat.worker) or not may_go:
            seat.idle_since_s = None
        elif seat.idle_since_s is None:
            seat.idle_since_s = now_s
        elif now_s - seat.idle_since_s >= self._settings.release_after_s:
            self._release(seat, member, now_s)

    def _release(self, seat: Seat, member: Member, now_s: float) -> None:
        self._notices.add(f"{member.place} has had no tasks for {self._settings.release_after_s:g} s, and is released")
        self._lifecycle.send(member, Stop())
        self._membership.vacate(seat.worker, now_s)
        seat.released, seat.idle_since_s = True, None
        self._lifecycle.tell_of_loss(member)

    def _watch_leaving(self, seat: Seat, now_s: float) -> None:
        late = now_s - seat.empty_since_s >= self._settings.stop_timeout_s
        if seat.hosted and late and not seat.stop_asked:
            seat.stop_asked = True
            self._out.append(StopWorker(worker=seat.worker, launch=seat.launch))

    def host_ended(self, event: HostEnded, now_s: float) -> bool:
        """The job of a worker is over. Returns whether that is all there is to do about it."""
        seat = self._membership.seats.get(event.worker)
        if seat is None or event.launch != seat.launch or not seat.hosted:
            return False
        if seat.hired_at_s is not None and seat.member is None and self._lifecycle.phase.needs_workers:
            seat.hosted = False
            self._give_up(seat, event.error or "its job returned", now_s)
            return True
        if seat.released:
            seat.hosted = False
            self._hold()
        return seat.released

    def _give_up(self, seat: Seat, reason: str, now_s: float) -> None:
        self._notices.add(f"worker {seat.worker} was asked for, and is given up: {reason}")
        seat.released, seat.hired_at_s = True, None
        if seat.hosted:
            self._lifecycle.force_out(seat.worker, now_s)
        else:
            self._hold()

    def _hold(self) -> None:
        wanted = [seat for seat in self._membership.seats.values() if seat.hosted or not seat.released]
        self._out.append(HoldSlots(count=len(wanted)))
