"""Tasks that leave a worker: their state goes ahead, they work through what comes until then, and are handed over.

What has left is kept, stopped, until its new place has said that it runs: what was sent may be lost on the way.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from penstock.errors import RunError
from penstock.transport.frames import FrameKind
from penstock.transport.ring import Route
from penstock.worker.acks import Acks
from penstock.worker.arrival import Marker
from penstock.worker.assigned_tasks import AssignedTasks
from penstock.worker.bolt_task import BoltTask
from penstock.worker.checkpoints import Checkpoints
from penstock.worker.failures import USER_ERRORS, reason_of
from penstock.worker.handover import OutgoingTask, TaskRest, rest_of
from penstock.worker.past_counts import PastCounts
from penstock.worker.roster import Roster
from penstock.worker.spout_task import SpoutTask
from penstock.worker.ticks import Ticks
from penstock.worker.wiring import Wiring

__all__ = ["Departures"]

PATIENCE_NS = 2_000_000_000
"""How long a task whose trees cannot go with it waits for the next of them to be done. What is not is done again."""


PAUSE_FACTOR = 3
"""How much longer than sending some state ahead the pause after it is: those who work on are to have most of the time,
here and at the new place, which has as much to do about it."""

PACED_NS = 2_000_000_000
"""Until then. Epochs pause while tasks move, so it must not take too long either."""


class _Leaving:
    """A task that is about to leave, or has left and is not known to have arrived."""

    def __init__(self, running: SpoutTask | BoltTask, ways: Sequence[OutgoingTask], assignment: int) -> None:
        self.running = running
        self.ways = ways
        self.assignment = assignment
        """The one that takes it away."""
        self.goes_whole = ways[0].heir == running.task
        """Whether it is the same task elsewhere. Else others come in its place."""
        self.until_ns = 0
        self.open_trees: int | None = None
        self.rest: TaskRest | None = None
        """What was sent last; None as long as it works."""


class Departures:
    """All tasks that leave one worker.

    Args:
        worker: its number.
        wiring: the ways between tasks.
        roster: its tasks.
        ticks: what they do by the clock.
        acks: where trees are tracked; None where they are not.
        checkpoints: where tasks are saved; None where they are not.
        past: where counts go of what is here no more.
        steady_ns: a clock that never goes back.
        hand_to_self: takes a frame for a task of this worker.
    """

    def __init__(
        self,
        *,
        worker: int,
        wiring: Wiring,
        roster: Roster,
        ticks: Ticks,
        acks: Acks | None,
        checkpoints: Checkpoints | None,
        past: PastCounts,
        steady_ns: Callable[[], int],
        hand_to_self: Callable[[Route, bytes], None],
    ) -> None:
        self._worker = worker
        self._wiring = wiring
        self._roster = roster
        self._ticks = ticks
        self._acks = acks
        self._checkpoints = checkpoints
        self._past = past
        self._steady_ns = steady_ns
        self._hand_to_self = hand_to_self
        self._leaving: dict[int, _Leaving] = {}
        self._ahead_at_ns = self._prepared_at_ns = 0
        self.trouble: str | None = None
        """Why a task cannot leave."""

    def __contains__(self, task: int) -> bool:
        return task in self._leaving

    def __bool__(self) -> bool:
        return bool(self._leaving)

    def prepare(self, assigned: AssignedTasks) -> None:
        """Tasks that are elsewhere under this assignment will leave. Their state goes ahead from now on.

        One may be here still that an earlier assignment took away: its new place has died, and it runs there anew. It
        leaves as it was going to.
        """
        self._forget_those_gone()
        self.trouble = None
        self._prepared_at_ns = self._steady_ns()
        for running in self._roster.all:
            if running.task not in self._leaving and assigned.worker_of.get(running.task) != self._worker:
                self._prepare(running, assigned)

    def _prepare(self, running: SpoutTask | BoltTask, assigned: AssignedTasks) -> None:
        goes_whole = running.task in assigned.by_id
        heirs = [assigned.by_id[running.task]] if goes_whole else assigned.of[running.component]
        ways = []
        for heir in heirs:
            place = assigned.worker_of[heir.id]
            route = Route(target=heir.id, source=running.task, assignment=assigned.number, flags=FrameKind.HANDOVER)
            share = None if goes_whole else (heir.index, len(heirs))
            ways.append(OutgoingTask(running, worker=place, route=route, send=self._sender_to(place), share=share))
        self._leaving[running.task] = _Leaving(running, ways, assigned.number)
        if isinstance(running, BoltTask):
            running.until = assigned.number
            running.watch_keys(_all_of([self._own_touch(running), *(way.touch for way in ways)]))

    def _own_touch(self, running: BoltTask) -> Callable[[Any], None] | None:
        return None if self._checkpoints is None else self._checkpoints.of(running.task).touch

    def _sender_to(self, worker: int) -> Callable[[Route, bytes], None]:
        if worker == self._worker:
            return self._hand_to_self
        carrier = self._wiring.carriers[worker]
        return lambda route, payload: carrier.send(route, payload, 0)

    @property
    def are_ahead(self) -> bool:
        """Whether all state was sent that can be sent ahead."""
        return all(way.is_ahead for leaving in self._leaving.values() for way in leaving.ways)

    def go_ahead(self) -> int:
        """Sends some of the state ahead, if that is due; returns how much of it."""
        started_ns = self._steady_ns()
        if started_ns < self._ahead_at_ns:
            return 0
        pieces = 0
        for leaving in self._leaving.values():
            for way in leaving.ways:
                if self.trouble is None and not way.is_ahead:
                    pieces += 1
                    try:
                        way.go_ahead()
                    except USER_ERRORS as error:
                        running = leaving.running
                        self.trouble = f"{running.component!r} (task {running.task}) cannot move: {reason_of(error)}"
        now_ns = self._steady_ns()
        if now_ns - self._prepared_at_ns < PACED_NS:
            self._ahead_at_ns = now_ns + PAUSE_FACTOR * (now_ns - started_ns)
        return pieces

    def abandon(self) -> None:
        """They stay."""
        staying = [task for task, leaving in self._leaving.items() if not leaving.running.leaving]
        for task in staying:
            running = self._leaving.pop(task).running
            if isinstance(running, BoltTask):
                running.until = math.inf
                running.watch_keys(self._own_touch(running))

    def drop(self, tasks: Iterable[int]) -> None:
        """These come here. If one has never left, it runs elsewhere anew all the same, and is given up here."""
        for task in tasks:
            leaving = self._leaving.get(task)
            if leaving is not None and leaving.rest is None:
                del self._leaving[task]
                self._remove(leaving.running)
                leaving.running.close()

    def switch(self) -> dict[int, int | None]:
        """From now on they only work through what comes. Returns them."""
        for leaving in self._leaving.values():
            leaving.running.leaving = True
        return dict.fromkeys(self._leaving)

    def hand_over(self) -> int:
        """Hands over those that have nothing left to do here; returns how many were, or have sent their last."""
        return sum(self._hand_over_if_ready(leaving) for leaving in [*self._leaving.values()])

    def _hand_over_if_ready(self, leaving: _Leaving) -> int:
        running = leaving.running
        if leaving.rest is not None:
            return 0
        has_sent_last = not running.is_silent and self._fall_silent(leaving)  # markers, to tasks of this worker, too
        if not running.is_silent or running.unsettled:
            return int(has_sent_last)
        trees = None
        if self._acks is not None and running.keeper is not None:
            self._acks.tell()  # what it has sent last counts before the trees go
            trees = running.keeper.hand_over() if leaving.goes_whole else None
            if trees is None and self._waits_for_trees(leaving, running.keeper.open_trees):
                return int(has_sent_last)
        self._hand_over(leaving, trees)
        return 1

    def _waits_for_trees(self, leaving: _Leaving, open_trees: int) -> bool:
        now_ns = self._steady_ns()
        if leaving.open_trees is None or open_trees < leaving.open_trees:
            leaving.open_trees, leaving.until_ns = open_trees, now_ns + PATIENCE_NS
        return open_trees > 0 and now_ns < leaving.until_ns

    def _fall_silent(self, leaving: _Leaving) -> bool:
        """If all is done that comes here, the last that it sends from here are markers.

        Before it waits for what it has sent to be done: that may be with others who wait for its marker.
        """
        running = leaving.running
        if running.is_in_call:
            return False
        if isinstance(running, BoltTask):
            if not running.is_drained:
                return False
            running.commit_last()
        if any(helper.has_work for helper in running.helpers):  # what it was given is emitted here
            return False
        running.is_silent = True
        for one in running.whole:
            one.flush(one.clock.now_ns())
            for lane in one.outputs.lanes:
                lane.put_marker(Marker(0, ends=False, switch=leaving.assignment))
                lane.retire()
        return True

    def _hand_over(self, leaving: _Leaving, trees: bytes | None) -> None:
        running = leaving.running
        try:
            checkpoint = None if self._checkpoints is None else self._checkpoints.hand_over(running.task)
            leaving.rest = rest_of(running, checkpoint, trees)
            for way in leaving.ways:
                way.send_rest(leaving.rest)
        except USER_ERRORS as error:
            message = f"{running.component!r} (task {running.task}) could not be handed over: {reason_of(error)}"
            raise RunError(message) from error
        self._remove(running)

    def _remove(self, running: SpoutTask | BoltTask) -> None:
        self._past.left(running)
        self._roster.remove(running)
        if isinstance(running, BoltTask):
            self._ticks.remove(running)
            del self._wiring.bolts[running.task]
        if self._acks is not None:
            self._acks.keep_no_more(running.task)
        if self._checkpoints is not None:
            self._checkpoints.remove(running.task)

    def taken(self, task: int, heir: int) -> None:
        """A task that was handed over runs at its new place."""
        leaving = self._leaving.get(task)
        if leaving is None or leaving.rest is None:
            return
        for way in leaving.ways:
            way.is_taken = way.is_taken or way.heir == heir
        if all(way.is_taken for way in leaving.ways):
            del self._leaving[task]
            leaving.running.close()

    def send_again(self, peer: int) -> None:
        """What was sent to a worker may be lost."""
        for leaving in self._leaving.values():
            for way in leaving.ways:
                if way.worker == peer and not way.is_taken:
                    way.send_again(leaving.rest)

    @property
    def are_gone(self) -> bool:
        """Whether all have been handed over."""
        return all(leaving.rest is not None for leaving in self._leaving.values())

    def let_go(self) -> None:
        """What has left is not needed any more. What has not will be closed with the others."""
        self._forget_those_gone()
        self._leaving.clear()

    def _forget_those_gone(self) -> None:
        for task, leaving in [*self._leaving.items()]:
            if leaving.rest is not None:
                del self._leaving[task]
                leaving.running.close()


def _all_of(touches: Sequence[Callable[[Any], None] | None]) -> Callable[[Any], None] | None:
    wanted = [touch for touch in touches if touch is not None]
    if len(wanted) < 2:
        return wanted[0] if wanted else None

    def touch(keys: Any) -> None:
        for one in wanted:
            one(keys)

    return touch
