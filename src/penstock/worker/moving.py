"""Moving tasks while they run: one worker's part in getting from an assignment to the next.

    prepare   the new place builds and opens the task; the old place sends most of its state ahead
    switch    who feeds the task sends a switch marker to its old place, and everything after it to the new one
    drain     the old place works through all that comes before the markers; then nothing more comes
    hand over it sends markers to whoever the task feeds, and the rest of its state to the new place, which goes on

Three rules keep the order of every channel, and every tuple:

    1. Who stays lays its lanes anew at the switch. Who leaves keeps its old ones until it has left. So a task that
       leaves never sends to one that has still to come, and nobody waits in a circle: tasks leave from the spouts down.
    2. A switch marker is the last on the old way of a channel. What comes the new way waits for it (`LaidChannels`).
    3. What has come to the new place waits there until the state has. Credit bounds it, as always.

Only what moves, and who feeds it, is touched. Nothing is lost if a worker dies that would not be lost anyway: who waits
for a marker of a worker that is gone waits no more (`lose`).

Where a component is given another number of tasks, all its tasks leave, and others come in their place: each of the old
sends each of the new its share of the state. Whoever they feed takes nothing of the new before the last of the old.
"""

from __future__ import annotations

from collections.abc import Sequence

from penstock.errors import RunError
from penstock.transport.frames import FrameKind
from penstock.transport.ring import Route
from penstock.worker.acks import Acks
from penstock.worker.assigned_tasks import AssignedTasks
from penstock.worker.bolt_task import BoltTask
from penstock.worker.casts import Casts
from penstock.worker.departures import Departures
from penstock.worker.early_frames import EarlyFrame
from penstock.worker.newcomers import Newcomers
from penstock.worker.past_counts import PastCounts
from penstock.worker.roster import Roster
from penstock.worker.spout_task import SpoutTask
from penstock.worker.wiring import Wiring

__all__ = ["Moving"]


class Moving:
    """One worker's part.

    Args:
        worker: its number.
        wiring: the ways between tasks.
        roster: its tasks.
        casts: what they broadcast.
        acks: where trees are tracked; None where they are not.
        past: where counts go of what is here no more.
        departures: the tasks that leave.
        newcomers: the tasks that come.
    """

    def __init__(
        self,
        *,
        worker: int,
        wiring: Wiring,
        roster: Roster,
        casts: Casts,
        acks: Acks | None,
        past: PastCounts,
        departures: Departures,
        newcomers: Newcomers,
    ) -> None:
        self._worker = worker
        self._wiring = wiring
        self._roster = roster
        self._casts = casts
        self._acks = acks
        self._past = past
        self._departures = departures
        self._newcomers = newcomers
        self._next: AssignedTasks | None = None
        """What is prepared, and does not hold yet."""
        self.newest = wiring.assigned.number
        """The newest assignment that is known here, also if it does not hold yet."""
        self.taken = departures.taken
        self.drop = departures.drop
        self.take = newcomers.take
        self.take_over = newcomers.take_over
        self.arrived_tasks = newcomers.arrived_tasks

    def prepare(self, assigned: AssignedTasks, arriving: Sequence[SpoutTask | BoltTask]) -> None:
        """Another assignment is to hold soon; `arriving` are the tasks that come here by it, opened."""
        assert self._next is None, f"assignment {self.newest} is neither switched to nor abandoned"
        self._next = assigned
        self.newest = assigned.number
        self._wiring.places.prepare(assigned.worker_of, assigned.number)
        self._newcomers.prepare(arriving, assigned)
        self._departures.prepare(assigned)
        for bolt in self._roster.bolts:
            for edge in self._wiring.edges:
                if edge.target == bolt.component:
                    bolt.successions.expect(edge.id, *self._replaced(edge.source, assigned), assigned.number)

    def _replaced(self, component: str, assigned: AssignedTasks) -> tuple[set[int], set[int]]:
        """The tasks of a component that others follow, and those others."""
        old = {task.id for task in self._wiring.assigned.of[component]}
        new = {task.id for task in assigned.of[component]}
        return old - new, new - old

    @property
    def trouble(self) -> str | None:
        """Why what was to be prepared cannot be."""
        return self._departures.trouble

    @property
    def is_prepared(self) -> bool:
        """Whether the switch would find everything in its place."""
        return self._next is not None and self.trouble is None and self._departures.are_ahead

    def abandon(self, assignment: int) -> None:
        """It comes to nothing: the old assignment goes on."""
        if self._next is None or self._next.number != assignment:
            return
        for bolt in self._roster.bolts:
            bolt.successions.abandon(assignment)
        self._next = None
        self._wiring.places.abandon()
        self._wiring.take_senders()
        self._newcomers.abandon()
        self._departures.abandon()

    def heard_switched(self, peer: int, assignment: int) -> None:
        """Another worker has switched: so it is decided, and whoever hears that before it is told does it at once."""
        if self._next is not None and self._next.number == assignment:
            self.switch(assignment)
        if self._acks is not None:
            self._acks.clearance.heard_switched(peer, assignment)

    def switch(self, assignment: int) -> None:
        """The other assignment holds, unless it does already."""
        before, after = self._wiring.assigned, self._next
        if before.number == assignment:
            return
        if after is None or after.number != assignment:
            message = f"told to switch to assignment {assignment}, which was not prepared"
            raise RunError(message)
        self._next = None
        leaving = self._departures.switch()
        tasks = before.worker_of.keys() | after.worker_of.keys()
        moved = {task for task in tasks if before.worker_of.get(task) != after.worker_of.get(task)}
        for running in self._roster.all:
            if running.task not in leaving:
                for one in running.whole:
                    one.flush(one.clock.now_ns())
                for lane in self._wiring.relay(running, moved, after):
                    self._past.relaid(lane)
        self._wiring.assigned = after
        self._wiring.places.switch()
        coming = self._newcomers.switch()
        self._casts.add(self._wiring.take_senders())
        peers = {*before.worker_of.values(), *after.worker_of.values()} & self._wiring.carriers.keys()
        for peer in sorted(peers):
            route = Route(target=peer, source=self._worker, assignment=assignment, flags=FrameKind.SWITCHED)
            self._wiring.carriers[peer].send(route, b"", 0)
        if self._acks is not None:
            self._acks.switch(
                assignment=assignment,
                peers=peers,
                left={task: after.worker_of[task] for task in leaving if task in after.worker_of},
                came={task: before.worker_of[task] for task in coming if task in before.worker_of},
            )
            self._newcomers.keep_trees()

    @property
    def has_news(self) -> bool:
        """Whether a task is about to leave, or has come."""
        return self._next is not None or bool(self._departures) or self._newcomers.has_arrived

    @property
    def is_busy(self) -> bool:
        """Whether a task of this worker is leaving it."""
        return bool(self._departures)

    def work(self) -> int:
        """For every turn in which it `is_busy`: sends state ahead, and hands over what has nothing left to do here.

        Returns how much that was.
        """
        return self._departures.go_ahead() if self._next is not None else self._departures.hand_over()

    @property
    def is_copying(self) -> bool:
        """Whether state is being sent ahead."""
        return self._next is not None and not self._departures.are_ahead

    @property
    def is_settled(self) -> bool:
        """Whether no task is on its way from here or to here."""
        return self._departures.are_gone and not any(running.waiting for running in self._roster.all)

    def lose(self, peer: int) -> None:
        """A worker is gone, and perhaps the markers that it had to send: nobody waits for them."""
        owed = self._wiring.places.owed_by(peer)
        if self._acks is not None:
            self._acks.lose(peer, has_tasks=bool(self._wiring.places.on(peer)))
        for bolt in {*self._roster.bolts, *self._newcomers.bolts}:
            for task, assignment in owed.items():
                bolt.no_switch_from(task, assignment)

    def meet(self, peer: int) -> None:
        """What was sent to a worker may be lost: what it has not taken is sent again."""
        self.lose(peer)
        if self._acks is not None:
            self._acks.restarted(peer)
        self._departures.send_again(peer)

    def close(self) -> None:
        """Closes the tasks that are on their way."""
        self._departures.let_go()
        if self._next is not None:
            self._newcomers.abandon()


def to_self(newcomers: Newcomers, route: Route, payload: bytes) -> None:
    """Hands a part of a task over to another of the same worker."""
    frame = EarlyFrame(route.target, route.source, route.stream, route.assignment, route.flags, payload)
    newcomers.take(frame)
