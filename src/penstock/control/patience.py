"""How long a worker may be out of reach, and how long in a call of user code.

Two things are told apart. Whether a worker's *process* can be reached: it is called several times a second, and its
echo answers whatever user code does, unless the process is stopped, cut off or gone. And whether its *duty cycle*
turns: then it speaks by itself. One that answers and does not speak is in a call of user code, which may take its time.
"""

from __future__ import annotations

from penstock.control.instructions import Instruction, SendTo
from penstock.control.lifecycle import Lifecycle
from penstock.control.membership import ECHO, Member, Membership
from penstock.control.notices import Notices
from penstock.control.protocol import InCall, Ping
from penstock.control.recovery import Recovery
from penstock.control.settings import ControlSettings
from penstock.control.status import Phase
from penstock.errors import RunError, StartError

__all__ = ["Patience"]

_RECONNECTS_WITHIN_S = 0.4
"""A process that lives connects again in less, most of the time."""


class Patience:
    """Watches those who sit."""

    def __init__(
        self,
        settings: ControlSettings,
        membership: Membership,
        lifecycle: Lifecycle,
        recovery: Recovery,
        notices: Notices,
        out: list[Instruction],
    ) -> None:
        self._settings = settings
        self._membership = membership
        self._lifecycle = lifecycle
        self._recovery = recovery
        self._notices = notices
        self._out = out

    # ---- what is heard

    def spoke(self, member: Member, now_s: float) -> None:
        """A worker said something by itself."""
        member.heard_at_s = now_s
        member.in_call, member.slow = None, False
        self.answered(member, now_s)

    def answered(self, member: Member, now_s: float) -> None:
        """A worker's process was reached."""
        member.reached_at_s = now_s
        member.deserted = False
        if member.silent:
            member.silent = False
            self._lifecycle.tell_of_silence(member)
            self._notices.add(f"{member.place} can be reached again")
        if member.left_out:
            self._take_back(member, now_s)

    def in_call(self, member: Member, message: InCall, now_s: float) -> None:
        """A worker is in a call of user code."""
        member.in_call = f"{message.component!r} (task {message.task}), in {message.place}"
        self.answered(member, now_s)

    def deserted(self, member: Member | None) -> None:
        """Nobody is at the end of the connection to a worker's echo."""
        if member is not None:
            member.deserted = True

    def _take_back(self, member: Member, now_s: float) -> None:
        """It was not lost after all. It drops what it still works on, and gets tasks again at the next commit."""
        if now_s - member.returned_at_s >= self._settings.restart_window_s:
            member.returns = 0
        member.left_out = member.death_counted = False
        member.returns += 1
        member.returned_at_s = now_s
        self._lifecycle.take_back(member, now_s)

    # ---- what is not

    def watch(self, now_s: float) -> None:
        """Looks at everybody who sits, and calls them."""
        for member in self._membership.members():
            if self._lifecycle.phase.needs_workers and not self._membership.seats[member.worker].ended:
                self._out.append(SendTo(connection=member.connection + ECHO, message=Ping()))
                self._watch(member, now_s)

    def _watch(self, member: Member, now_s: float) -> None:
        settings = self._settings
        unreached_s = now_s - member.reached_at_s
        if unreached_s >= settings.detection_s or _seems_dead(member, unreached_s):
            self._watch_unreached(member, unreached_s, now_s)
        elif member.stage == "deployed":  # opening its tasks: user code, which may take its time and says nothing
            assert member.deployed_at_s is not None
            if now_s - member.deployed_at_s >= settings.ready_timeout_s:
                text = f"{member.place} did not get its tasks open within {settings.ready_timeout_s:g} s"
                kind = StartError if self._lifecycle.phase is Phase.DEPLOYING else RunError
                self._lifecycle.fail(kind(text), now_s)
        else:
            self._watch_call(member, now_s)

    def _watch_unreached(self, member: Member, unreached_s: float, now_s: float) -> None:
        settings = self._settings
        if not member.silent:
            member.silent = True
            self._lifecycle.tell_of_silence(member)
            why = "dead" if _seems_dead(member, unreached_s) else "stopped, cut off or overloaded"
            self._notices.add(f"{member.place} is silent: it is {why}")
        over_s = unreached_s - settings.detection_s
        if over_s >= settings.restart_after_s:
            self._recovery.forced_out(member, f"silent for {unreached_s:.1f} s", now_s)
        elif not member.left_out and (over_s >= self._until_left_out_s(member) or _seems_dead(member, unreached_s)):
            member.left_out = self._lifecycle.leave_out(member, died=_seems_dead(member, unreached_s))

    def _until_left_out_s(self, member: Member) -> float:
        """Longer and longer for one that came back: on a machine that is too slow, false alarms must become seldom."""
        return self._settings.rewind_after_s * 2.0 ** min(member.returns, 30)

    def _watch_call(self, member: Member, now_s: float) -> None:
        settings = self._settings
        unheard_s = now_s - member.heard_at_s
        call = f"a call of {member.in_call}" if member.in_call is not None else "a call of user code"
        if unheard_s >= settings.slow_call_s and not member.slow:
            member.slow = True
            self._notices.add(f"{member.place} has been in {call} for {unheard_s:.0f} s")
        if unheard_s >= settings.max_call_s:
            reason = f"it hangs, for {unheard_s:.0f} s in {call} (max_call_s={settings.max_call_s:g})"
            self._recovery.forced_out(member, reason, now_s, died=True)


def _seems_dead(member: Member, unreached_s: float) -> bool:
    return member.deserted and unreached_s >= _RECONNECTS_WITHIN_S
