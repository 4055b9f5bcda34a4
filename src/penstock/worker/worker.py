"""The worker: one duty cycle. Read the inbox, run tasks, flush what they emitted, tick; and say how much was done."""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Sequence, Set
from typing import Annotated, Protocol

import msgspec

from penstock._native import Record
from penstock.flow.credit import Channel, CreditTaker, target_of_edge
from penstock.transport.frames import FrameKind
from penstock.transport.ring import Route
from penstock.transport.values import UNREADABLE
from penstock.worker.acks import Acks
from penstock.worker.arrival import LOCAL, Arrival, Marker
from penstock.worker.bolt_task import BoltTask
from penstock.worker.care import Care, Notes
from penstock.worker.carriers import Carrier, FrameWay
from penstock.worker.casts import Casts
from penstock.worker.checkpoints import Checkpoints, NotSaved, Saved
from penstock.worker.clock import Clock, steady_ns_of
from penstock.worker.company import Colleague
from penstock.worker.credit_returns import CreditReturns
from penstock.worker.early_frames import EarlyFrame
from penstock.worker.frame_opener import FrameOpener
from penstock.worker.rhythm import Rhythm
from penstock.worker.settings import WorkerSettings
from penstock.worker.spout_task import SpoutTask
from penstock.worker.tasks import RunningTask
from penstock.worker.uplinks import Uplinks

__all__ = ["Inbox", "Worker"]

READ_AT_MOST = 256

MOST_EARLY_BYTES = 256 << 20
"""More than credit lets honest peers send before we know of the assignment that they send under."""
_NotNegative = Annotated[int, msgspec.Meta(ge=0)]


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
        spouts: Sequence[SpoutTask],
        bolts: Sequence[BoltTask],
        worker_of: dict[int, int],
        inbox: Inbox,
        carriers: dict[int, Carrier],
        credit: CreditTaker,
        opener: FrameOpener,
        uplinks: Uplinks,
        settings: WorkerSettings,
        clock: Clock,
        assignment: int,
        casts: Casts,
        acks: Acks | None = None,
        checkpoints: Checkpoints | None = None,
    ) -> None:
        self.worker = worker
        self.spouts = spouts
        self.bolts = bolts  # in topological order, so that a tuple passes all of them in one turn
        self._tasks: list[RunningTask] = [*spouts, *bolts]
        self._own_tasks = frozenset(running.task for running in self._tasks)
        self._bolt_by_task = {bolt.task: bolt for bolt in bolts}
        self._worker_of = worker_of
        self._inbox = inbox
        self._carriers = carriers
        self._credit = credit
        self._returns = CreditReturns(
            worker=worker, carriers=carriers, window_bytes=settings.credit_window_bytes, assignment=assignment
        )
        self._opener = opener
        self.uplinks = uplinks
        self._settings = settings
        self._steady_ns = steady_ns_of(clock)
        self._assignment = assignment
        self._casts = casts
        self._acks = acks  # None where trees are not tracked
        self._checkpoints = checkpoints  # None where nothing is saved
        self._early: list[EarlyFrame] = []
        self._early_bytes = 0
        self._full_locally: set[Channel] = set()
        self._decode_credit = msgspec.msgpack.Decoder(list[tuple[Channel, _NotNegative]]).decode
        self.misrouted = 0
        self.outdated = 0
        """Frames of tuples that were sent before everything was set back."""
        self.unreadable = 0
        """Frames that were none."""
        self.begun = False
        self._careful_epochs = 0
        self._ticks: list[tuple[int, int, Rhythm, BoltTask]] = []

    def begin(self) -> None:
        """Lets the spouts go, and the ticks."""
        self.begun = True
        now_ns = self._steady_ns()
        rhythms = [(rhythm, bolt) for bolt in self.bolts for rhythm in bolt.rhythms]
        self._ticks = [(now_ns + rhythm.every_ns, n, rhythm, bolt) for n, (rhythm, bolt) in enumerate(rhythms)]
        heapq.heapify(self._ticks)

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

    def committed(self, epoch: int) -> None:
        """An epoch is in the checkpoint."""
        if self._checkpoints is not None:
            self._checkpoints.committed(epoch)
        if self._careful_epochs:
            self._careful_epochs -= 1
            if not self._careful_epochs:
                for bolt in self.bolts:
                    bolt.be_carefree()

    def be_careful(self, care: Care, notes: Notes) -> None:
        """A worker has died: for some epochs, it is noted which tuples are worked on."""
        self._careful_epochs = care.epochs
        for bolt in self.bolts:
            bolt.be_careful(care, notes)

    def rows_kept(self, task: int, arrivals: int) -> None:
        """The driver has the rows that a sink has collected of so many arrivals."""
        bolt = self._bolt_by_task.get(task)
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
        work = self._take(self._inbox.read_many(READ_AT_MOST, 0))
        exhausted = self._exhausted
        if self.uplinks.blocked:
            exhausted = exhausted | self.uplinks.blocked
        settings = self._settings
        if self._ticks and self._ticks[0][0] <= self._steady_ns():
            self._note_due_ticks()
        if self.begun:
            for spout in self.spouts:
                if not spout.ended:
                    work += spout.run(exhausted, settings.spout_turn_tuples)
        for bolt in self.bolts:
            if bolt.has_work:
                work += bolt.run(exhausted, settings.turn_tuples)
        self._note_full_queues()
        work += self.uplinks.flush(self._exhausted)
        for debt in self.uplinks.debts():
            self._returns.processed(*debt)
        for carrier in self._carriers.values():
            if carrier.waiting_frames:
                work += carrier.pump()
        self._returns.send()
        self._casts.tell()
        if self._acks is not None:
            self._acks.tell()
            self._acks.note_passed(self._tasks)
        if self._checkpoints is not None:
            self._checkpoints.save_ended()
        return work

    @property
    def _exhausted(self) -> set[Channel]:
        return self._credit.exhausted | self._full_locally if self._full_locally else self._credit.exhausted

    def idle(self, most_s: float) -> None:
        """Nothing to do: sleeps until a frame arrives, a tick is due or a spout should be asked again."""
        if self.begun and any(not spout.ended for spout in self.spouts):
            most_s = min(most_s, self._settings.idle_spout_wait_us / 1e6)
        if any(carrier.waiting_frames for carrier in self._carriers.values()):
            most_s = min(most_s, 0.0005)
        if self._ticks:
            most_s = max(0.0, min(most_s, (self._ticks[0][0] - self._steady_ns()) / 1e9))
        self._take(self._inbox.read_many(READ_AT_MOST, most_s))

    @property
    def next_tick_ns(self) -> int | None:
        """When the next tick is due, by the steady time of its clock; None if there is none."""
        return self._ticks[0][0] if self._ticks else None

    @property
    def ended(self) -> bool:
        """Whether all tasks have ended and everything that they emitted is on its way."""
        return (
            all(spout.ended for spout in self.spouts)
            and all(bolt.ended for bolt in self.bolts)
            and not self.uplinks.pending
            and not any(carrier.waiting_frames for carrier in self._carriers.values())
        )

    def lose(self, peer: int, generation: int) -> None:
        """A peer is dead: whatever others got by way of it has to take another way."""
        self._casts.lose(peer, generation)
        self.uplinks.reroute()

    def heard_of(self, peer: int, generation: int, *, silent: bool) -> None:
        """A peer is out of reach, or can be reached again: nobody should depend on one that is not."""
        self._casts.heard_of(peer, generation, silent=silent)

    def meet(self, colleague: Colleague, way: FrameWay) -> None:
        """A peer was restarted: forgets what was under way to it, and tells it again which tasks have ended."""
        peer = colleague.worker
        carrier = self._carriers.get(peer)
        if carrier is None:  # it has no tasks, so nothing goes there
            way.close()
            return
        carrier.replace(way)
        restarted = self._on(peer)
        if self._acks is not None:
            self._acks.restarted(peer)
        self._credit.forget(restarted)
        channels = [(source, bolt.task) for bolt in self.bolts for source in bolt.sources & restarted]
        self._returns.meet(peer, [*channels, *self.uplinks.channels_from(peer)])
        self._casts.meet(colleague)
        self.uplinks.meet(peer)
        for bolt in self.bolts:
            bolt.reopen(restarted)
        self._tell_ends(restarted)
        # Its own ends may have come before we met it, and do not count any more.
        route = Route(target=peer, source=self.worker, assignment=self._assignment, flags=FrameKind.MET)
        carrier.send(route, b"", 0)

    def _tell_ends(self, tasks: Set[int]) -> None:
        """Says again which tasks have ended, to whoever is on the way to these or runs them."""
        for running in self._tasks:
            if running.ended:
                for lane in running.outputs.lanes:
                    if not tasks.isdisjoint(lane.targets):
                        lane.put_marker(Marker(0, ends=True))

    def _on(self, worker: int) -> set[int]:
        """The tasks of a worker."""
        return {task for task, place in self._worker_of.items() if place == worker}

    def close(self) -> None:
        """Closes every task and every way out."""
        for running in (*self.spouts, *self.bolts):
            running.close()
        for carrier in self._carriers.values():
            carrier.close()
        if self._checkpoints is not None:
            self._checkpoints.close()

    def gone_peers(self) -> list[int]:
        """Workers whose process is dead, on this node. Asks the kernel about each: now and then will do."""
        for carrier in self._carriers.values():
            carrier.look_after_peer()
        return [peer for peer, carrier in self._carriers.items() if carrier.gone]

    def take_early(self, frames: Iterable[EarlyFrame]) -> None:
        """Frames that came for this assignment before it was here."""
        self._take(frames)

    @property
    def early_frames(self) -> list[EarlyFrame]:
        """Frames that are routed by an assignment that is not here yet."""
        return self._early

    @property
    def lost_tuples(self) -> int:
        """Tuples that could not be delivered because their target's worker was gone."""
        return self.misrouted + sum(carrier.lost_tuples for carrier in self._carriers.values())

    def _take(self, records: Iterable[Record | EarlyFrame]) -> int:
        taken = 0
        for record in records:
            taken += 1
            if record.assignment != self._assignment:
                self._put_aside(record)
                continue
            kind = record.flags
            try:
                if kind == FrameKind.CREDIT:
                    for channel, size_bytes in self._decode_credit(record.payload):
                        self._credit.returned(channel, size_bytes)
                    continue
                if kind == FrameKind.MET:
                    self._tell_ends(self._on(record.source))
                    continue
                if FrameKind.CAST <= kind <= FrameKind.GOT:
                    self.misrouted += self._casts.take(record, kind)
                    continue
                if FrameKind.NEWS <= kind <= FrameKind.PASSED:
                    self._take_acks(record, kind)
                    continue
                arrival = self._opener.open(record, kind, record.payload)
            except UNREADABLE as error:
                self._refuse(record, error)
                continue
            bolt = self._bolt_by_task.get(record.target)
            if bolt is not None and bolt.takes(arrival):
                bolt.accept(arrival)
            elif not self.uplinks.absorb(arrival):
                self.misrouted += len(arrival)
        return taken

    def _put_aside(self, record: Record | EarlyFrame) -> None:
        """Of a later assignment: kept, for its sender knew of it first. Of an earlier one: of a time that is over."""
        if record.assignment > self._assignment:
            self._early_bytes += len(record.payload)
            if self._early_bytes > MOST_EARLY_BYTES:
                self.misrouted += 1
            else:
                self._early.append(EarlyFrame.of(record))
        elif record.flags in (FrameKind.TUPLES, FrameKind.BATCH, FrameKind.COMBINED):
            self.outdated += 1

    def _take_acks(self, record: Record | EarlyFrame, kind: int) -> None:
        if self._acks is None:
            message = f"there is no kind of frame {kind}"
            raise ValueError(message)
        if kind == FrameKind.NEWS:
            self._acks.heard(record.target, record.payload)
        else:
            self._acks.heard_passed(record.source, record.payload)

    def _refuse(self, record: Record | EarlyFrame, error: Exception) -> None:
        """A peer sent what is no frame. It is told of as a failure of the task it was for, and its sender goes on."""
        self.unreadable += 1
        culprit = f"frame of kind {record.flags} from task {record.source} on edge {record.stream}"
        if FrameKind.CAST <= record.flags <= FrameKind.GOT:
            bolt = self._casts.culprit_bolt(record.stream)
            if bolt is not None:
                bolt.fail(error, culprit)
            return
        bolt = self._bolt_by_task.get(record.target)
        if bolt is not None and record.flags != FrameKind.CREDIT:
            bolt.fail(error, culprit)
            sender = self._worker_of.get(record.source, LOCAL)
            refused = Arrival(edge=record.stream, source=record.source, sender=sender, size_bytes=len(record.payload))
            self.arrival_processed(record.target, refused)

    def arrival_processed(self, task: int, arrival: Arrival) -> None:
        """A task is done with an arrival: its sender may send that much more."""
        if arrival.cast is not None:
            self._casts.processed(task, arrival)
            return
        target = target_of_edge(arrival.edge) if arrival.combined else task
        self._returns.processed(arrival.sender, (arrival.source, target), arrival.size_bytes)

    def _note_full_queues(self) -> None:
        limit = self._settings.local_queue_tuples
        full = {
            (source, bolt.task)
            for bolt in self.bolts
            if bolt.queued_tuples >= limit
            for source in bolt.full_sources(bolt.sources & self._own_tasks, limit)
        }
        if full or self._full_locally:
            self._full_locally = full

    def _note_due_ticks(self) -> None:
        """A tick waits for its bolt's turn, like everything else that may emit. What was missed is not made up for."""
        now_ns = self._steady_ns()
        while self._ticks and self._ticks[0][0] <= now_ns:
            due_ns, number, rhythm, bolt = heapq.heappop(self._ticks)
            if not bolt.ended:
                rhythm.is_due = True
                heapq.heappush(self._ticks, (max(due_ns, now_ns) + rhythm.every_ns, number, rhythm, bolt))
