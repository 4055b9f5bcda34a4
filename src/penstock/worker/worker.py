"""The worker: one duty cycle. Read the inbox, run tasks, flush what they emitted, tick; and say how much was done."""

from __future__ import annotations

from collections.abc import Iterable, Sequence, Set
from typing import Protocol

from penstock._native import Record
from penstock.flow.credit import CreditTaker, target_of_edge
from penstock.flow.spare_time import SpareTime
from penstock.transport.frames import FrameKind
from penstock.transport.ring import Route
from penstock.worker.acks import Acks
from penstock.worker.arrival import Arrival, Marker
from penstock.worker.bolt_task import BoltTask
from penstock.worker.care import Care, Notes
from penstock.worker.carriers import Carrier, FrameWay
from penstock.worker.casts import Casts
from penstock.worker.checkpoints import Checkpoints, NotSaved, Saved
from penstock.worker.clock import Clock, steady_ns_of
from penstock.worker.company import Colleague
from penstock.worker.credit_returns import CreditReturns
from penstock.worker.frame_opener import FrameOpener
from penstock.worker.helpers import Helpers
from penstock.worker.intake import Intake
from penstock.worker.moving import Moving
from penstock.worker.past_counts import PastCounts
from penstock.worker.places import Places
from penstock.worker.pressure import PressureWatch
from penstock.worker.redirection import Redirection
from penstock.worker.resume import SpoutProgress
from penstock.worker.roster import Roster
from penstock.worker.settings import WorkerSettings
from penstock.worker.spout_task import SpoutTask
from penstock.worker.ticks import Ticks
from penstock.worker.uplinks import Uplinks
from penstock.worker.way_out import WayOut

__all__ = ["Inbox", "Worker"]

READ_AT_MOST = 256


class Inbox(Protocol):
    """Where frames from other workers arrive: a ring, or a test's stand-in."""

    def read_many(self, max_records: int = READ_AT_MOST, timeout_s: float | None = None) -> list[Record]:
        """What has arrived; waits at most `timeout_s` for the first."""


class Worker:
    """Runs the tasks of one worker. Owns no thread and never blocks, but in `idle`."""

    def __init__(
        self,
        *,
        worker: int,
        roster: Roster,
        ticks: Ticks,
        past: PastCounts,
        moving: Moving,
        helpers: Helpers,
        places: Places,
        inbox: Inbox,
        carriers: dict[int, Carrier],
        way_out: WayOut,
        credit: CreditTaker,
        opener: FrameOpener,
        uplinks: Uplinks,
        settings: WorkerSettings,
        clock: Clock,
        casts: Casts,
        spare_time: SpareTime,
        redirection: Redirection,
        pressure: PressureWatch,
        acks: Acks | None = None,
        checkpoints: Checkpoints | None = None,
    ) -> None:
        self.worker = worker
        self.roster = roster
        self._ticks = ticks
        self.past = past
        """What tasks have done that are here no more."""
        self.moving = moving
        self.helpers = helpers
        self._places = places
        self._inbox = inbox
        self._carriers = carriers
        self._way_out = way_out
        self._credit = credit
        self._returns = CreditReturns(
            worker=worker,
            carriers=carriers,
            window_bytes=settings.credit_window_bytes,
            window_of=pressure.window_bytes,
        )
        self.uplinks = uplinks
        self._settings = settings
        self._steady_ns = steady_ns_of(clock)
        self._casts = casts
        self._spare_time = spare_time
        self.redirection = redirection
        self.pressure = pressure
        self._acks = acks  # None where trees are not tracked
        self._checkpoints = checkpoints  # None where nothing is saved
        self.intake = Intake(
            roster=roster,
            places=places,
            opener=opener,
            credit=credit,
            uplinks=uplinks,
            casts=casts,
            acks=acks,
            moving=moving,
            pressure=pressure,
            # Where everything may be set back, what was sent before that is of a time that is over.
            oldest_assignment=places.assignment if checkpoints is not None else 0,
            tell_ends=self._tell_ends,
            processed=self.arrival_processed,
            takers=redirection.takers,
        )
        self.begun = False
        self._careful_epochs = 0

    @property
    def spouts(self) -> Sequence[SpoutTask]:
        """Its spouts."""
        return self.roster.spouts

    @property
    def bolts(self) -> Sequence[BoltTask]:
        """Its bolts, in topological order."""
        return self.roster.bolts

    def begin(self) -> None:
        """Lets the spouts go, and the ticks."""
        self.begun = True
        self._ticks.add(self.bolts)

    def begin_epoch(self, epoch: int, committed: int = 0, *, last: bool = False) -> None:
        """Lets spouts send markers, and end behind the `last`. `committed` is the newest epoch in the checkpoint."""
        if self._acks is not None:
            self._acks.begin_epoch(epoch)
        if self._checkpoints is not None:
            self._checkpoints.begin(epoch, committed)
        for bolt in self.bolts:
            bolt.epoch_begins(epoch)
        for spout in self.spouts:
            spout.begin_epoch(epoch)
        if last:
            self.drain()

    def begin_trial(self, task: int) -> None:
        """Lets a spout emit again some of what was lost, if it is here still."""
        for spout in self.spouts:
            if spout.task == task:
                spout.begin_trial()

    def committed(self, epoch: int) -> None:
        """An epoch is in the checkpoint."""
        if self._checkpoints is not None:
            self._checkpoints.committed(epoch)
        if self._careful_epochs:
            self._careful_epochs -= 1
            if not self._careful_epochs:
                for bolt in self.roster.runnable:
                    bolt.be_carefree()

    def be_careful(self, care: Care, notes: Notes) -> None:
        """A worker has died: for some epochs, it is noted which tuples are worked on."""
        self._careful_epochs = care.epochs
        for bolt in self.roster.runnable:
            bolt.be_careful(care, notes)

    def rows_kept(self, task: int, arrivals: int) -> None:
        """The driver has the rows that a sink has collected of so many arrivals."""
        bolt = self.roster.bolt_by_task.get(task)
        if bolt is not None and bolt.collecting is not None:
            bolt.collecting.made_good(arrivals)

    def checkpoint_news(self) -> Iterable[Saved | NotSaved]:
        """What was saved since the last time, or could not be."""
        return () if self._checkpoints is None else self._checkpoints.news()

    def drain(self) -> None:
        """Stops the spouts; what is inside flows out, and the run ends by itself."""
        for spout in self.spouts:
            spout.drain()

    def do_work(self) -> int:
        """One turn; returns how much there was to do, 0 for nothing."""
        work = self.intake.take(self._inbox.read_many(READ_AT_MOST, 0))
        self.pressure.begin_turn()
        exhausted = self.pressure.exhausted()
        if self.uplinks.blocked:
            exhausted = exhausted | self.uplinks.blocked
        settings = self._settings
        self._ticks.note_due()
        if self.begun:
            for spout in self.roster.spouts:
                if not spout.ended:
                    work += spout.run(exhausted, min(settings.spout_turn_tuples, self.pressure.room_tuples(spout)))
        for bolt in self.roster.runnable:
            if bolt.has_work:
                work += bolt.run(exhausted, settings.turn_tuples, self.pressure.room_tuples(bolt))
        work += self.redirection.work(exhausted)
        self.pressure.end_turn()
        work += self.uplinks.flush(self.pressure.exhausted())
        for debt in self.uplinks.debts():
            self._returns.processed(*debt, self.uplinks.assignment)
        self._way_out.look(self._carriers.values())
        for carrier in self._carriers.values():
            if carrier.waiting_frames:
                work += carrier.pump(self._way_out.held)
        self._returns.send()
        self._casts.tell()
        if self._acks is not None:
            self._acks.tell()
            self._acks.note_passed(self.roster.everything)
        if self._checkpoints is not None:
            self._checkpoints.save_ended()
        return work + self.moving.work()

    def idle(self, most_s: float) -> None:
        """Nothing to do: sleeps until a frame arrives, a tick is due or a spout should be asked again."""
        if self.begun and any(not spout.ended for spout in self.spouts):
            most_s = min(most_s, self._settings.idle_spout_wait_us / 1e6)
        if self.moving.is_copying or any(carrier.waiting_frames for carrier in self._carriers.values()):
            most_s = min(most_s, 0.0005)
        if (next_ns := self.next_due_ns) is not None:
            most_s = max(0.0, min(most_s, (next_ns - self._steady_ns()) / 1e9))
        began_ns = self._steady_ns()
        records = self._inbox.read_many(READ_AT_MOST, most_s)
        self._spare_time.idled(began_ns, self._steady_ns())
        self.intake.take(records)

    @property
    def next_due_ns(self) -> int | None:
        """When the next tick is due, or what is lent, by the steady time of its clock; None if nothing is."""
        dues = (self._ticks.next_ns, self.redirection.lending.next_due_ns)
        return min((due for due in dues if due is not None), default=None)

    @property
    def ended(self) -> bool:
        """Whether all tasks have ended and everything that they emitted is on its way."""
        return (
            all(running.ended for running in self.roster.everything)
            and self.moving.is_settled
            and not self.uplinks.pending
            and not any(carrier.waiting_frames for carrier in self._carriers.values())
        )

    def lose(self, peer: int, generation: int) -> None:
        """A peer is dead: whatever others got by way of it has to take another way."""
        self.redirection.lost(peer)
        if self._casts.lose(peer, generation):
            self.moving.lose(peer)
            for spout in self.spouts:
                spout.track_singly()
            self.pressure.lost(peer)
            if peer in self._carriers and not self._places.on(peer):
                self._carriers[peer].give_up()  # it had no tasks: it may have been released, and nobody comes back
        self.uplinks.reroute()

    def heard_of(self, peer: int, generation: int, *, silent: bool) -> None:
        """A peer is out of reach, or can be reached again: nobody should depend on one that is not."""
        self._casts.heard_of(peer, generation, silent=silent)

    def meet(self, colleague: Colleague, way: FrameWay) -> None:
        """A peer was restarted: forgets what was under way to it, and tells it again which tasks have ended."""
        peer = colleague.worker
        self.redirection.lost(peer)
        carrier = self._carriers.get(peer)
        if carrier is None:  # it has no tasks, so nothing goes there
            way.close()
            return
        carrier.replace(way)
        restarted = self._places.on(peer)
        self._credit.forget(restarted)
        channels = {channel for bolt in self.bolts for channel in bolt.credit_from(restarted)}
        channels.update(self.uplinks.channels_from(peer))
        self._returns.meet(peer, sorted(channels), self._places.assignment)
        self._casts.meet(colleague)
        self.moving.meet(peer)
        self.pressure.lost(peer)  # what its predecessor said does not hold
        self.pressure.met(peer)
        self.uplinks.meet(peer)
        for bolt in self.bolts:
            bolt.reopen(restarted)
        self._tell_ends(restarted)
        # Its own ends may have come before we met it, and do not count any more.
        self._ask_for_ends(peer)

    def _ask_for_ends(self, peer: int) -> None:
        route = Route(target=peer, source=self.worker, assignment=self._places.assignment, flags=FrameKind.MET)
        self._carriers[peer].send(route, b"", 0)

    def take_over(self, task: int, worker: int, progress: SpoutProgress | None) -> None:
        """A task goes on here without what its old place had, which is dead: who has ended tells it so again."""
        if self.moving.take_over(task, worker, progress):
            self._tell_ends({task})
            for peer in self._carriers:
                self._ask_for_ends(peer)

    def _tell_ends(self, tasks: Set[int]) -> None:
        """Says again which tasks have ended, to whoever is on the way to these or runs them."""
        for running in self.roster.everything:
            if running.ended:
                for lane in running.outputs.lanes:
                    if not tasks.isdisjoint(lane.targets):
                        lane.put_marker(Marker(0, ends=True))

    def close(self) -> None:
        """Closes every task and every way out."""
        for running in self.roster.all:
            running.close()
        self.redirection.borrowing.close()
        self.moving.close()
        for carrier in self._carriers.values():
            carrier.close()
        self._way_out.close()
        if self._checkpoints is not None:
            self._checkpoints.close()

    def gone_peers(self) -> list[int]:
        """Workers whose process is dead, on this node. Asks the kernel about each: now and then will do."""
        for carrier in self._carriers.values():
            carrier.look_after_peer()
        return [peer for peer, carrier in self._carriers.items() if carrier.gone]

    @property
    def lost_tuples(self) -> int:
        """Tuples that could not be delivered because their target's worker was gone."""
        return self.intake.misrouted + sum(carrier.lost_tuples for carrier in self._carriers.values())

    def arrival_processed(self, task: int, arrival: Arrival) -> None:
        """A task is done with an arrival: its sender may send that much more."""
        if arrival.cast is not None:
            self._casts.processed(task, arrival)
            return
        target = target_of_edge(arrival.edge) if arrival.combined else task
        self._returns.processed(arrival.sender, (arrival.source, target), arrival.size_bytes, arrival.assignment)
