"""A bolt's instance: a bounded queue of arrivals, and what is done about each."""

from __future__ import annotations

import math
import sys
from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import msgspec

from penstock._native import Calls, Histogram
from penstock.flow.credit import Channel, target_of_edge
from penstock.flow.runs import split_runs
from penstock.topology.collecting import CollectingBolt
from penstock.topology.transactional import TransactionalSink
from penstock.worker.alignment import Alignment
from penstock.worker.arrival import LOCAL, Arrival, Marker
from penstock.worker.arrival_queue import ArrivalQueue
from penstock.worker.care import Care, Notes
from penstock.worker.careful_runner import CarefulRunner
from penstock.worker.gatherer import GatherEdge, Gatherer
from penstock.worker.laid_channels import LaidChannels
from penstock.worker.own_trees import OwnTrees
from penstock.worker.rhythm import Rhythm
from penstock.worker.runner_choice import runner_for
from penstock.worker.runners import InputEdge, RecordRunner, Runner
from penstock.worker.sink_runner import TrackedSinkRunner
from penstock.worker.successions import Successions
from penstock.worker.tasks import FLUSH_EVERY_NS, RunningTask
from penstock.worker.tracked_runners import TrackedBatchRunner, TrackedRecordRunner

__all__ = ["BoltTask"]

MOST_TURN_NS = 20_000_000
PIECE_NS = MOST_TURN_NS // 4
"""How long a piece of an arrival should take, if it does not have to be done whole."""
QUICK_TURN_NS = MOST_TURN_NS // 20
"""How long a turn of a quick bolt should take: a turn costs its worker some 50 µs, however little is done in it."""
QUICK_TURN_TUPLES = 1024
"""What others wait for at most if a tuple takes a µs or more. A quicker bolt does as many as fit."""


class _Call(NamedTuple):
    """What a bolt is in the middle of, because there is no room for all that it emits."""

    steps: Iterable[None]
    """An iterator: how it goes on."""
    arrivals: Sequence[Arrival]
    """What it works on; nothing if it is a marker or a tick."""
    spent_ns: int
    """How much time that has taken so far."""


class BoltTask(RunningTask):
    """Runs one bolt. `processed_arrival` is told of each arrival that is done with, so that credit can go back."""

    def __init__(
        self,
        *,
        inputs: dict[int, InputEdge],
        channels: Sequence[tuple[int, int]],
        assignment: int,
        since: int,
        gathers: Mapping[int, GatherEdge],
        tree_by_tree: bool,
        processed_arrival: Callable[[int, Arrival], None],
        tick_every_s: float | None,
        save: Callable[[int, int], None] | None = None,
        **common: Any,
    ) -> None:
        super().__init__(**common)
        self.since = since
        """The assignment that brought it here; 0 if it did not come from elsewhere."""
        self.until: float = math.inf
        """The assignment that takes it away."""
        self._channels = LaidChannels(channels, assignment)
        self._combined = frozenset(edge for edge, given in inputs.items() if given.combined)
        self._columns = {edge: [*given.fields] for edge, given in inputs.items()}
        self._alignment = Alignment(channels)
        self.successions = Successions(self._channels, self._alignment)
        self._processed_arrival = processed_arrival
        self._tick = None if tick_every_s is None else Rhythm(tick_every_s)
        self.queue = ArrivalQueue()
        self._save = save  # None: markers are passed on, and nothing waits for them
        self.hops = {edge: Histogram() for edge in inputs}
        self.latency = Histogram()
        self._gatherer = Gatherer(self, gathers, held=save is not None) if gathers else None
        """What makes one tuple of many before the runner sees them, if anything does."""
        self.rhythms = [
            *([] if self._tick is None else [self._tick]),
            *([] if self._gatherer is None else self._gatherer.rhythms),
        ]
        """What it does by the clock."""
        self._runner: Runner = runner_for(self, inputs, tree_by_tree=tree_by_tree)
        self._fast_runner = self._runner if isinstance(self._runner, RecordRunner) and not gathers else None
        self.fast = None if self._fast_runner is None else self._fast_runner.fast_task(self, self.latency)
        """What works on a frame where it is read, as long as the runner is the one that it was made for."""
        self.taken_bytes = self.taken_tuples = 0
        """From other workers."""
        self.blocked_at_ns = -1 << 62
        """When it last could not work, because those that it feeds wanted nothing."""
        self.most_at_once = 16
        """How many tuples of an arrival are done before others have their turn, by how long they took lately."""
        self.tuple_ns = 0
        """How long a tuple took lately."""
        self._lent = 0
        """How many pieces of the queue are worked on elsewhere, or came back and are not emitted yet."""
        self._answered: deque[tuple[Arrival, Sequence[list[Any] | None]]] = deque()
        self._call: _Call | None = None
        """What it is in the middle of: that is done before anything else is, markers, ticks and moves included."""

    @property
    def sources(self) -> frozenset[int]:
        """The tasks that feed it."""
        return self._channels.sources

    def takes(self, arrival: Arrival) -> bool:
        """Whether this came on a channel that leads here, with the fields that come on it."""
        if (arrival.edge, arrival.source) not in self._channels:
            return False
        return arrival.batch is None or arrival.batch.schema.names == self._columns[arrival.edge]

    def credit_from(self, sources: Collection[int]) -> set[Channel]:
        """The channels on which the worker of these tasks needs credit to send to it.

        Where tuples are put together on the way, that worker may be the head of its node, and send in the name of any
        source of the edge (see penstock.flow.combining), not only of its own.
        """
        from_them = [(edge, source) for edge, source in self._channels if source in sources]
        put_together = self._combined & {edge for edge, _ in from_them}
        spoken_for = {(source, target_of_edge(edge)) for edge, source in self._channels if edge in put_together}
        return spoken_for | {(source, self.task) for _, source in from_them}

    def accept(self, arrival: Arrival) -> None:
        """Puts an arrival at the end of the queue."""
        if self._channels.may_come(arrival):
            self.queue.put(arrival)

    # ---- what the fast path asks (see penstock.worker.fast_path)

    @property
    def is_free(self) -> bool:
        """Whether the next frame can be worked on where it is read: nothing is before it, and nothing is special."""
        return (
            self.fast is not None
            and self._runner is self._fast_runner
            and not self.queue.tuples
            and not self.queue
            and not self.queue.is_holding
            and self._call is None
            and not self._lent
            and not (self.waiting or self.leaving or self.is_silent or self.ended)
            and self.until == math.inf
        )

    def is_laid(self, edge: int, source: int, assignment: int) -> bool:
        """Whether a frame that was routed by this assignment on this channel may be worked on."""
        return self._channels.is_laid((edge, source), assignment)

    def keys_of(self, edge: int) -> Callable[[Sequence[Any]], list[Any]] | None:
        """From tuples of an edge to their keys; None if it has none."""
        assert self._fast_runner is not None
        return self._fast_runner.keys_of(edge)

    @property
    def feeds_others_only(self) -> bool:
        """Whether all that it emits goes to other workers."""
        return self.outputs.leaves_worker

    def note_taken(self, sender: int, tuples: int, size_bytes: int) -> None:
        """So much of what a worker has sent is done with."""
        if sender != LOCAL:
            self.taken_bytes += size_bytes
            self.taken_tuples += tuples

    def note_pace(self, tuples: int, spent_ns: int) -> None:
        """So many tuples took so long."""
        self.tuple_ns = spent_ns // max(1, tuples)
        self.most_at_once = max(1, tuples * PIECE_NS // max(1, spent_ns))

    def go_on_with(self, arrival: Arrival, calls: Calls, keys: list[Any] | None) -> None:
        """User code has more to give of an arrival than a piece: it is in the middle of that call from now on."""
        assert self._fast_runner is not None
        steps = self._fast_runner.go_on_with(arrival, calls, keys)
        self._work_on(steps, [arrival], 0, self.clock.now_ns())

    # ---- what its worker does with it

    @property
    def has_work(self) -> bool:
        """Whether anything waits to be done: arrivals, markers included, or a tick."""
        if self.waiting or self.is_silent:
            return False
        return (
            bool(self.queue)
            or self._call is not None
            or bool(self._answered)
            or (bool(self.rhythms) and any(rhythm.is_due for rhythm in self.rhythms))
        )

    def run(self, exhausted: set[Channel], most_tuples: int, room_tuples: int = sys.maxsize) -> int:
        """Works through the queue until it is empty, `most_tuples` are done or time is up, then ticks if that is due.

        Where those that it feeds have room for fewer, it does no more than `room_tuples`.

        Does nothing while a target has no credit left, so that what it emits is bounded. Time is bounded, too, because
        others wait for their turn: tasks, and the driver, which would take a worker that says nothing for hung.
        """
        if self.blocked_by(exhausted):
            self.blocked_at_ns = self.clock.now_ns()
            return 0
        queue = self.queue
        started_ns = flushed_ns = now_ns = self.clock.now_ns()
        # A call for many at once cannot be cut short if it takes longer than the last one.
        quick_tuples = QUICK_TURN_NS // self.tuple_ns if self.tuple_ns and not self._runner.merges else 0
        most_tuples = min(most_tuples, max(QUICK_TURN_TUPLES, quick_tuples), room_tuples)
        done = 0
        if self._call is not None:
            count, now_ns = self._work_on(*self._call, now_ns)
            done += count
        while self._call is None and done < most_tuples and now_ns - started_ns < MOST_TURN_NS:
            arrivals: Sequence[Arrival]
            steps: Iterable[None]
            if self._answered:
                arrivals, steps = self._take_answer(now_ns)
            elif (arrival := queue.take()) is None:
                break
            elif arrival.marker is not None:
                if self._lent:  # what came before a marker is done before it
                    queue.put_back(arrival)
                    break
                arrivals, steps = (), self._act_on(arrival, arrival.marker)
            else:
                arrivals = [arrival]
                if self._runner.merges:
                    arrivals += queue.take_more(arrival, most_tuples - done)
                elif arrival.batch is None and len(arrival) > (
                    most := min(self.most_at_once, max(1, room_tuples - done))
                ):
                    arrivals = [self._first_piece(arrival, most)]
                self._note_arrivals(arrivals, now_ns)
                steps = self._runner.run_all(arrivals if self._gatherer is None else self._gatherer.take(*arrivals))
            count, now_ns = self._work_on(steps, arrivals, 0, now_ns)
            done += count
            if now_ns - flushed_ns >= FLUSH_EVERY_NS and self._call is None:
                self.flush(now_ns)
                flushed_ns = now_ns
        if self._gatherer is not None:
            self._gatherer.lose_patience()
        if self._tick is not None and self._call is None and self._tick.take_due() and not self.ended:
            done += self._work_on(self._run_tick(), (), 0, now_ns)[0]
        now_ns = self.clock.now_ns()
        if self._call is None:
            self.flush(now_ns)
        self.busy_ns += now_ns - started_ns
        return done

    def _work_on(
        self, steps: Iterable[None], arrivals: Sequence[Arrival], spent_ns: int, began_ns: int
    ) -> tuple[int, int]:
        """Works on arrivals, or a marker or a tick if there are none; returns how many tuples are done, and the time.

        When a piece of what that emits is full, the rest of it waits until the next turn: then it is known whether
        there is room for more.
        """
        for _ in steps:
            self.flush_piece()
            now_ns = self.clock.now_ns()
            self._call = _Call(steps, arrivals, spent_ns + now_ns - began_ns)
            return 1, now_ns
        self._call = None
        now_ns = self.clock.now_ns()
        if not arrivals:
            return 1, now_ns
        spent_ns += now_ns - began_ns
        count = self._note_processed(arrivals, now_ns)
        self.note_pace(count, spent_ns)
        return count, now_ns

    def _run_tick(self) -> Iterator[None]:
        yield from self.emitting(self.logic.tick)
        self._commit_early()

    def _commit_early(self) -> None:
        sink = self.logic
        if isinstance(self._runner, TrackedSinkRunner) and isinstance(sink, TransactionalSink) and sink.is_ready():
            self._runner.commit()

    def _first_piece(self, arrival: Arrival, most: int) -> Arrival:
        """So much of it. The rest goes back to the queue, and with it the credit."""
        first, rest = split_runs(arrival.runs, most)
        self.queue.put_back(msgspec.structs.replace(arrival, tuples=arrival.tuples[most:], runs=rest))
        return msgspec.structs.replace(arrival, tuples=arrival.tuples[:most], runs=first, size_bytes=0, cast=None)

    def _note_arrivals(self, arrivals: Sequence[Arrival], now_ns: int) -> None:
        for arrival in arrivals:
            self.hops[arrival.edge].record(max(0, now_ns - arrival.sent_ns))
            if not self.oldest_origin_ns or arrival.origin_ns < self.oldest_origin_ns:
                self.oldest_origin_ns = arrival.origin_ns

    def _note_processed(self, arrivals: Sequence[Arrival], now_ns: int) -> int:
        total = 0
        for arrival in arrivals:
            count = len(arrival)
            total += count
            self.latency.record(max(0, now_ns - arrival.origin_ns), count)
            self.note_taken(arrival.sender, count, arrival.size_bytes)
            self._processed_arrival(self.task, arrival)
        self.processed += total
        return total

    @property
    def is_in_call(self) -> bool:
        """See RunningTask."""
        return self._call is not None

    def close(self) -> None:
        """See RunningTask."""
        self._call = None  # a generator of the user's that waits runs what it does on its way out
        super().close()

    def _act_on(self, arrival: Arrival, marker: Marker) -> Iterator[None]:
        yield from self._pass_on(arrival, marker)
        self._processed_arrival(self.task, arrival)

    def _pass_on(self, arrival: Arrival, marker: Marker) -> Iterator[None]:
        channel = (arrival.edge, arrival.source)
        if channel not in self._channels:  # it had come when its source was lost, which others have followed since
            return
        if marker.switch:
            self._accept_all(self._channels.switch(channel, marker.switch))
            self._accept_all(self.successions.welcome())
            return
        complete = self._alignment.arrive(channel, marker)
        if self._save is not None:
            if complete:
                self.queue.release()
            elif not marker.ends:
                self.queue.hold(channel)
        for aligned in complete:
            if self.ended:  # restarted sources have ended again
                return
            if self._gatherer is not None:
                self._gatherer.marker(aligned)
            if aligned.ends:
                yield from self.emitting(self.logic.finish)
                self.ended = True
                self.commit_last()
            elif isinstance(self._runner, TrackedSinkRunner):
                self._runner.marker(aligned.epoch)
            else:
                self.passed_epoch = aligned.epoch
            self.flush(self.clock.now_ns())
            if self.keeper is not None:
                aligned = self.keeper.mark(aligned)  # with its own trees in it
            if self._save is not None and not aligned.ends:
                self._save(self.task, aligned.epoch)
            self.outputs.put_marker(aligned)

    @property
    def keeper(self) -> OwnTrees | None:
        """What keeps trees here, if anything does."""
        runner = self._runner
        return runner.trees if isinstance(runner, TrackedBatchRunner | TrackedRecordRunner) else None

    def watch_keys(self, touch: Callable[[Sequence[Any]], None] | None) -> None:
        """From now on, tells which keys' state may change."""
        runner = self._runner.runner if isinstance(self._runner, CarefulRunner) else self._runner
        if isinstance(runner, RecordRunner):
            runner.touch = touch

    def use_runner(self, runner: Runner) -> None:
        """From now on, this one does the work."""
        if isinstance(self._runner, CarefulRunner):
            self._runner.runner = runner
        else:
            self._runner = runner

    # ---- what others do for it (see penstock.worker.lending)

    def piece(self, edges: Collection[int]) -> Arrival | None:
        """Takes what is next off the queue, for others to work on; None if it is too little, or not of these edges."""
        if not isinstance(self._runner, RecordRunner) or self.queue.tuples < 2 * self.most_at_once:
            return None
        arrival = self.queue.take()
        if arrival is None:
            return None
        if arrival.marker is not None or arrival.batch is not None or arrival.edge not in edges:
            self.queue.put_back(arrival)
            return None
        self._lent += 1
        return self._first_piece(arrival, self.most_at_once) if len(arrival) > self.most_at_once else arrival

    def take_back(self, piece: Arrival) -> None:
        """Nobody has worked on it."""
        self._lent -= 1
        self.queue.put_back(piece)

    def answered(self, piece: Arrival, answers: Sequence[list[Any] | None]) -> None:
        """Somebody has: what came of it is emitted when there is room for it."""
        self._answered.append((piece, answers))

    def _take_answer(self, now_ns: int) -> tuple[Sequence[Arrival], Iterator[None]]:
        runner = self._runner.runner if isinstance(self._runner, CarefulRunner) else self._runner
        assert isinstance(runner, RecordRunner)
        piece, answers = self._answered.popleft()
        self._note_arrivals([piece], now_ns)
        return [piece], self._emit_answers(runner, piece, answers)

    def _emit_answers(
        self, runner: RecordRunner, piece: Arrival, answers: Sequence[list[Any] | None]
    ) -> Iterator[None]:
        yield from runner.run_answered(piece, answers)
        self.redirected += len(piece)
        self._lent -= 1

    # ---- when it moves, or who feeds it does

    def _accept_all(self, arrivals: Iterable[Arrival]) -> None:
        for arrival in arrivals:
            self.queue.put(arrival)

    def no_switch_from(self, source: int, assignment: int) -> None:
        """A worker that has or had this task is gone, and perhaps the markers that it had to send."""
        self._accept_all(self._channels.switch_all(source, assignment))
        self._accept_all(self.successions.welcome())

    @property
    def is_drained(self) -> bool:
        """Whether nothing more comes here, because it is about to move."""
        assert self.until != math.inf
        ended = self._alignment.ended_channels
        return (
            not self.queue
            and self._call is None
            and not self._lent
            and self._channels.are_laid(int(self.until), ended=ended, among=self._channels)
        )

    @property
    def unsettled(self) -> int:
        """See RunningTask."""
        return self._runner.unsettled if isinstance(self._runner, TrackedSinkRunner) else 0

    def commit_last(self) -> None:
        """Nothing more comes here: a transactional sink commits what it has, where it may do so by itself."""
        if isinstance(self._runner, TrackedSinkRunner) and isinstance(self.logic, TransactionalSink):
            self._runner.commit()

    @property
    def alignment(self) -> Alignment:
        """The markers that have come."""
        return self._alignment

    def be_careful(self, care: Care, notes: Notes) -> None:
        """A worker has died, perhaps of a tuple: from now on, it is noted what is worked on. After `watch_keys`."""
        self._runner = CarefulRunner(self, self._runner, care, notes)

    def be_carefree(self) -> None:
        """No tuple has to be feared any more."""
        if isinstance(self._runner, CarefulRunner):
            self._runner = self._runner.runner

    @property
    def channels(self) -> Iterable[tuple[int, int]]:
        """The edge and the source of each channel that leads here."""
        return self._channels

    @property
    def queued_tuples(self) -> int:
        """See RunningTask."""
        return self.queue.tuples + self._channels.tuples

    def restore_end(self) -> None:
        """It had ended: whoever it feeds is told so again."""
        self.ended = True
        self.outputs.put_marker(Marker(0, ends=True))

    @property
    def collecting(self) -> TrackedSinkRunner | None:
        """What has to hear when the driver has the rows, if that matters."""
        is_one = isinstance(self._runner, TrackedSinkRunner) and isinstance(self.logic, CollectingBolt)
        return self._runner if is_one else None  # type: ignore[return-value]

    def reopen(self, sources: Iterable[int]) -> None:
        """These tasks were restarted, some of them upstream perhaps."""
        self._alignment.reopen(sources)
        if self._gatherer is not None:
            self._gatherer.upset()

    def epoch_begins(self, epoch: int) -> None:
        """Its worker was told of an epoch."""
        if self._gatherer is not None:
            self._gatherer.epoch_begins(epoch)
