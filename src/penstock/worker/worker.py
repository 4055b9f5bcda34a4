"""The worker: one duty cycle. Read the inbox, run tasks, flush what they emitted, tick; and say how much was done."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence, Set

from penstock.flow.credit import Channel, CreditTaker, target_of_edge
from penstock.flow.spare_time import SpareTime
from penstock.transport.frames import FrameKind
from penstock.transport.ring import Route
from penstock.worker.acks import Acks
from penstock.worker.arrival import Arrival, Marker
from penstock.worker.bolt_task import BoltTask
from penstock.worker.care import Care, Notes
from penstock.worker.carriers import Carrier, FrameWay, RingWay
from penstock.worker.casts import Casts
from penstock.worker.checkpoints import Checkpoints, NotSaved, Saved
from penstock.worker.clock import Clock, SystemClock, steady_ns_of
from penstock.worker.company import Colleague
from penstock.worker.credit_returns import CreditReturns
from penstock.worker.fast_path import FastPath
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
from penstock.worker.wakeup import READ_AT_MOST, Inbox
from penstock.worker.way_out import WayOut

__all__ = ["Worker"]

WATCHFUL_S = 0.02
"""How long a worker sleeps at most while it has to watch the time."""

MOST_SPOUT_WAIT_NS = 50_000_000
"""How long a spout that has had nothing for a while is not asked."""

MOST_FED_WAIT_NS = 5_000_000
"""The same where Spark pushes into a spout, which wakes nobody."""


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
        self.fast_path = FastPath(
            roster=roster,
            opener=opener,
            returns=self._returns,
            is_current=self.intake.is_current,
            exhausted=self._exhausted,
            room_tuples=pressure.room_tuples,
            congested=way_out.congested,
            now_ns=None if isinstance(clock, SystemClock) else clock.now_ns,
        )
        self.begun = False
        self._is_restless = True
        """Whether the last turn has left something to do."""
        self._spouts_gave_ns = self._steady_ns()
        """When a spout last had something."""
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

    def turn(self, most_s: float) -> int:
        """Sleeps until there is something to do, for `most_s` at most, unless the last turn has left some; and does it.

        Returns how much there was to do, 0 for nothing.
        """
        return self._run_tasks(self._take(0.0) if self._is_restless else self.idle(most_s))

    @property
    def is_restless(self) -> bool:
        """Whether the next turn has something to do, whatever arrives until then."""
        return self._is_restless

    @property
    def is_eventful(self) -> bool:
        """Whether a turn may have brought something that the controller waits for, beside what is in reports."""
        return (
            self._checkpoints is not None
            or (self._acks is not None and bool(self.roster.spouts))  # whose trials it leads
            or self.moving.has_news
        )

    def stir(self) -> None:
        """Something has happened of which the worker does not know: the next turn does not sleep."""
        self._is_restless = True

    def do_work(self) -> int:
        """One turn without a sleep; returns how much there was to do, 0 for nothing."""
        return self._run_tasks(self._take(0.0))

    def idle(self, most_s: float) -> int:
        """Nothing to do: sleeps until a frame arrives, a tick is due or a spout should be asked again.

        Takes what has arrived, and returns how many frames that were.
        """
        if self.begun and self.roster.has_live_spouts:
            most_s = min(most_s, self._spout_wait_s())
        if self._way_out.is_at_work or self.moving.is_copying:
            most_s = min(most_s, 0.0005)
        elif self.pressure.is_at_work or self._casts.is_in_use:  # which do some things by the clock
            most_s = min(most_s, WATCHFUL_S)
        if (next_ns := self.next_due_ns) is not None:
            most_s = max(0.0, min(most_s, (next_ns - self._steady_ns()) / 1e9))
        taken = self._take(most_s)
        ended_ns = self._steady_ns()
        self._spare_time.idled(ended_ns - self.fast_path.take_waited_ns(), ended_ns)
        return taken

    def _take(self, most_s: float) -> int:
        records, worked_on = self.fast_path.read(self._inbox, READ_AT_MOST, most_s)
        return worked_on + (self.intake.take(records) if records else 0)

    def _exhausted(self) -> set[Channel]:
        """Channels that nothing may be put on for now."""
        exhausted = self.pressure.exhausted()
        return exhausted | self.uplinks.blocked if self.uplinks.blocked else exhausted

    def _spout_wait_s(self) -> float:
        """How long until spouts that have nothing are asked again: an eighth of the time that they have had nothing.

        So what a spout has is late by that share at most, and one that never has anything costs nothing.
        """
        least_ns = self._settings.idle_spout_wait_us * 1000
        silent_ns = self._steady_ns() - self._spouts_gave_ns
        most_ns = MOST_FED_WAIT_NS if self.roster.has_fed_spouts else MOST_SPOUT_WAIT_NS
        return max(least_ns, min(silent_ns // 8, most_ns)) / 1e9

    def _run_tasks(self, work: int) -> int:
        """Lets every task that has something to do have its turn; what only serves that comes after it.

        A part that is not in use, or has nothing to do, is not called: that is what makes a turn with one tuple short.
        """
        pressure, uplinks, settings = self.pressure, self.uplinks, self._settings
        pressure.begin_turn()
        exhausted = self._exhausted()
        self._ticks.note_due()
        if self.begun and self.roster.spouts:
            work += self._run_spouts(exhausted)
        left = 0
        kept_back: list[BoltTask] = []
        for bolt in self.roster.runnable:
            if not bolt.has_work:
                continue
            if done := bolt.run(exhausted, settings.turn_tuples, pressure.room_tuples(bolt)):
                work += done
                left += bolt.has_work
            elif exhausted and bolt.blocked_by(exhausted):
                kept_back.append(bolt)
        left += self.redirection.work(exhausted)
        left += pressure.end_turn()
        if uplinks.is_in_use:
            left += uplinks.flush(pressure.exhausted())
            for debt in uplinks.debts():
                self._returns.processed(*debt, uplinks.assignment)
        if self._way_out.is_at_work:
            left += self._way_out.pump(self._carriers.values())
        self._returns.send()
        if self._casts.is_in_use:
            self._casts.tell()
        if self._acks is not None:
            self._acks.tell()
            self._acks.note_passed(self.roster.everything)
        if self._checkpoints is not None:
            self._checkpoints.save_ended()
        if self.moving.is_busy:
            left += self.moving.work()
        # What another worker lets go on is woken by its frame; what was let go on here since its turn has the next one.
        if kept_back and not left:
            exhausted = self._exhausted()
            left += any(not bolt.blocked_by(exhausted) for bolt in kept_back)
        work += left
        # A spout may have been let go by what came after its turn; bolts have their turns in the order of the topology,
        # so where none of them has anything left, nothing is.
        self._is_restless = work > 0 and (left > 0 or (self.begun and self.roster.has_live_spouts))
        return work

    def _run_spouts(self, exhausted: set[Channel]) -> int:
        most, emitted = self._settings.spout_turn_tuples, 0
        for spout in self.roster.spouts:
            if not spout.ended:
                emitted += spout.run(exhausted, min(most, self.pressure.room_tuples(spout)))
        if emitted:
            self._spouts_gave_ns = self._steady_ns()
        return emitted

    @property
    def next_due_ns(self) -> int | None:
        """When the next tick is due, or what is lent, by the steady time of its clock; None if nothing is."""
        tick_ns, late_ns = self._ticks.next_ns, self.redirection.lending.next_due_ns
        if tick_ns is None or late_ns is None:
            return late_ns if tick_ns is None else tick_ns
        return min(tick_ns, late_ns)

    @property
    def ended(self) -> bool:
        """Whether all tasks have ended and everything that they emitted is on its way."""
        return (
            all(running.ended for running in self.roster.everything)
            and self.moving.is_settled
            and not self.uplinks.pending
            and not self._way_out.congested
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

    def outlive(self, tasks: Collection[int]) -> None:
        """These have ended, and their worker is gone for good: what a task that began anew has for them is lost."""
        for peer in {self._places.now[task] for task in tasks}:
            if peer in self._carriers:
                self._carriers[peer].give_up()
        self._credit.forget(tasks)

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
    def doors(self) -> dict[RingWay, int]:
        """The ways to peers of this node, each with the descriptor whose other end the kernel closes at their death."""
        ways = [way for carrier in self._carriers.values() if (way := carrier.ring_way) is not None]
        return {way: way.door for way in ways}

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
