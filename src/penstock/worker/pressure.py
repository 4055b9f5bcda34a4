"""Backpressure and help, as a worker lives by them: what its queues say, what goes to others, and who may not run.

What is decided, and why, is in penstock.flow: watermarks, relief, helping, and pressure, which joins them. Here is only
what feeds these with facts, once a turn, and does as they say.

Three things never wait, so that nobody waits in a circle:

- Markers: they are passed on whatever is stopped. And what is held for a marker presses nobody, so that those that a
  task waits for are never stopped by it; it counts only against the task of the same worker that it came from, which
  has passed that marker. All others are bounded by credit.
- A task that leaves: it works through what has come, which is bounded, and whoever waits for it can go on.
- A task that is still to be handed over to this worker presses nobody: it could not run if its sources stopped.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from collections.abc import Set as AbstractSet
from typing import Any
from weakref import WeakKeyDictionary

import msgspec

from penstock.flow.credit import LEAST_WINDOW_BYTES, Channel
from penstock.flow.helping import Answer, Helping
from penstock.flow.pressure import Pressure, Told
from penstock.flow.relief import ReliefState, Word
from penstock.flow.watermarks import LEAST_TUPLES, Marks
from penstock.transport.frames import FrameKind
from penstock.transport.ring import Route
from penstock.worker.bolt_task import BoltTask
from penstock.worker.helper_task import HelperTask
from penstock.worker.helpers import Helpers
from penstock.worker.lending import Lending
from penstock.worker.reading import Reading
from penstock.worker.room import sendable_tuples
from penstock.worker.roster import Roster
from penstock.worker.settings import WorkerSettings
from penstock.worker.surroundings import WiredSurroundings
from penstock.worker.tasks import RunningTask
from penstock.worker.wiring import Wiring

__all__ = ["PressureWatch"]

STALLED_NS = 250_000_000
"""A task that could not work within this time is not the one that is too slow."""

_UNSET = -1.0
"""A share that nobody has."""

WINDOW_MARKS = 4
"""How many times the high mark may be under way to a task."""

_encode = msgspec.msgpack.Encoder().encode
_decode_told = msgspec.msgpack.Decoder(tuple[int, Word, int]).decode
_decode_answer = msgspec.msgpack.Decoder(tuple[int, int, bool]).decode


class PressureWatch:
    """Of one worker.

    Args:
        worker: its number.
        wiring: the ways between tasks.
        roster: the tasks here.
        helpers: what can help here.
        lending: has workers with time to spare do a part of the work; None where that is not wanted.
        settings: where the marks are.
        steady_ns: the time.
    """

    def __init__(
        self,
        *,
        worker: int,
        wiring: Wiring,
        roster: Roster,
        helpers: Helpers,
        lending: Lending | None,
        settings: WorkerSettings,
        steady_ns: Callable[[], int],
    ) -> None:
        self._worker = worker
        self._steady_ns = steady_ns
        self._roster = roster
        self._places = wiring.places
        self._company = wiring.company
        self._carriers = wiring.carriers
        self._credit = wiring.credit
        self._helpers = helpers
        self._lending = lending
        self._lent: set[int] = set()
        """The tasks whose work whoever has time may do."""
        self._around = WiredSurroundings(worker=worker, wiring=wiring, roster=roster, helpers=helpers)
        self.pressure = Pressure(
            worker=worker,
            surroundings=self._around,
            helping=Helping({edge.id: edge.source for edge in wiring.edges}, step=settings.help_step),
            post=self,
            now_ns=steady_ns,
        )
        self._marks = Marks(
            high_tuples=settings.high_water_tuples,
            high_ns=int(settings.high_water_ms * 1e6),
            low_share=settings.low_water_share,
        )
        self._least_tuples = min(LEAST_TUPLES, settings.high_water_tuples)
        """Fewer never press anybody."""
        self._most_window_bytes = settings.credit_window_bytes
        self._assignment = self._places.assignment
        self._readings: dict[int, Reading] = {}
        self._helper_readings: WeakKeyDictionary[HelperTask, Reading] = WeakKeyDictionary()
        self._pressed: set[int] = set()
        self._stopped: frozenset[Channel] = frozenset()
        self._overheld: frozenset[Channel] = frozenset()
        self._overhelped: frozenset[Channel] = frozenset()
        """The ways to helpers that have too much waiting."""
        self._shares: dict[int, float] = {}
        self._fed: dict[int, set[int]] = {}
        """Whom each task that was ever here has fed: what was counted of them stays counted when it has gone."""
        self.blocked: frozenset[Channel] = frozenset()
        """Channels that nothing may be put on for now."""

    def exhausted(self) -> set[Channel]:
        """Channels that nothing may be put on: by what was said, or because there is no credit."""
        return self._credit.exhausted | self.blocked if self.blocked else self._credit.exhausted

    def window_bytes(self, task: int) -> int:
        """What a task here should be sent at a time, by each that feeds it: more than it does until the high mark.

        Not less, also if few of those that could feed it do: else credit would keep it from ever being pressed, and
        those that it waits for would not hear that they should help.

        0 if nothing is known of it: who is never behind may be sent as much as ever.
        """
        bolt, reading = self._roster.bolt_by_task.get(task), self._readings.get(task)
        if bolt is None or not bolt.taken_tuples:
            return 0
        if reading is None:
            return self._most_window_bytes
        timely_bytes = WINDOW_MARKS * reading.gauge.timely_tuples * bolt.taken_bytes // bolt.taken_tuples
        return max(LEAST_WINDOW_BYTES, min(self._most_window_bytes, timely_bytes // max(1, len(bolt.sources))))

    def room_tuples(self, running: RunningTask) -> int:
        """How many tuples a task may do in a turn: what those that it feeds have room for.

        Nobody can say stop before the turn is over, and what a quick task does in a turn is seconds of work for a slow
        one. Where helpers are at work, it is what these can do until their marks.
        """
        most_tuples = sys.maxsize
        if not running.outputs.remote_channels <= self._credit.wide:
            most_tuples = sendable_tuples(running, self._credit, self._marks.high_tuples)
        if self._shares:
            for helper in running.helpers:
                if share := self._shares.get(helper.edge, 0.0):
                    most_tuples = min(most_tuples, max(1, int(self._mark_of(helper) / share)))
        return most_tuples

    def _mark_of(self, helper: HelperTask) -> int:
        """How many tuples may wait for it; few as long as it is not known how long they take."""
        reading = self._helper_readings.get(helper)
        return reading.gauge.high_tuples if reading is not None and reading.gauge.service_ns else self._least_tuples

    @property
    def is_at_work(self) -> bool:
        """Whether a task here is pressed, stopped, helped or lent: then time matters, also while nothing arrives."""
        return bool(self._pressed or self.blocked or self._shares or self._lent)

    # ---- once a turn

    def begin_turn(self) -> None:
        """Before tasks run: does what others have said."""
        self._follow()
        if self.pressure.changed:
            self._apply()

    def end_turn(self) -> int:
        """After they have: reads their queues, and does what comes of it. Returns how many have work back."""
        self._follow()
        overheld: set[Channel] = set()
        for bolt in self._roster.bolts:
            queue = bolt.queue
            if queue.tuples >= self._least_tuples or bolt.task in self._pressed:
                self._read(bolt)
                if queue.held_tuples >= self._marks.high_tuples:
                    overheld |= self._overheld_by(bolt)
        for task in [*self._pressed - self._roster.by_task.keys()] if self._pressed else ():
            self._read_gone(task)
        if overheld or self._overheld:
            self._overheld = frozenset(overheld)
            self.pressure.changed = True
        if self._shares:
            self._read_helpers()
        recalled = self._recall() if self._lent else 0
        if self.pressure.changed:
            self._apply()
        return recalled

    def _follow(self) -> None:
        """Where another assignment holds than before, all begins anew."""
        if self._assignment != self._places.assignment:
            self._assignment = self._places.assignment
            self._pressed.clear()
            self._shares = dict.fromkeys(self._shares, _UNSET)  # tasks may have come that know of none
            self.pressure.moved()

    def _read_gone(self, task: int) -> None:
        """A task was given up here, and goes on elsewhere."""
        self._pressed.discard(task)
        self.pressure.gone(task)

    def _read(self, bolt: BoltTask) -> None:
        if bolt.waiting or bolt.leaving:
            return
        task = bolt.task
        reading = self._readings.get(task)
        if reading is None:
            reading = self._readings[task] = Reading(self._marks)
        if bolt.taken_bytes:
            credited_bytes = self._most_window_bytes * len(bolt.sources)
            reading.gauge.bound(credited_bytes * bolt.taken_tuples // bolt.taken_bytes)
        is_pressed, gauge, queued = reading.is_high(bolt), reading.gauge, bolt.queue.ready_tuples
        if is_pressed or task in self._pressed:
            is_stalled = bolt.clock.now_ns() - bolt.blocked_at_ns < STALLED_NS
            self.pressure.read(
                task,
                bolt.component,
                is_pressed=is_pressed,
                is_overfull=gauge.is_overfull(queued),
                is_stalled=is_stalled,
            )
            (self._pressed.add if is_pressed else self._pressed.discard)(task)
            if not is_stalled and self.pressure.reliefs[task].state is ReliefState.STOPPING:
                self._lend(task)

    def _lend(self, task: int) -> None:
        """Nobody who feeds it has time, or not enough: whoever has may do a part of its work."""
        if self._lending is not None and task not in self._lent and self._around.why_alone(task) is None:
            self._lent.add(task)
            self._lending.call(task)

    def _recall(self) -> int:
        """Those that have nearly nothing waiting can do it themselves. Returns how many have something to do."""
        assert self._lending is not None
        have_work = 0
        for task in [*self._lent]:
            bolt = self._roster.bolt_by_task.get(task)
            if bolt is None or (bolt.queue.tuples < self._least_tuples and not self.pressure.is_pressed(task)):
                self._lent.discard(task)
                self._lending.recall(task)
                have_work += bolt is not None and bolt.has_work
        return have_work

    def _overheld_by(self, bolt: BoltTask) -> set[Channel]:
        """The channels from tasks here of which too much is held for a marker: against their own source only."""
        full = bolt.queue.overheld_sources(self._marks.high_tuples)
        return {(source, bolt.task) for source in full if source in self._roster.by_task}

    def _read_helpers(self) -> None:
        """How it is with those that help.

        One that is asked for help has as much of it to do as it can: its host waits when that is too much. Where nobody
        has asked it was too much, and the target should be given more. If those behind it are full, it does nothing.
        """
        full: set[Channel] = set()
        helping = self.pressure.helping
        for edge in self._shares:
            behind = [helper.channel for helper in self._helpers.on(edge) if self._is_behind(helper)]
            is_asked = helping.is_granted(edge)
            if is_asked:
                full.update(behind)
            self.pressure.strained(edge, strained=self._is_stuck(edge) or (bool(behind) and not is_asked))
        if full != self._overhelped:
            self._overhelped = frozenset(full)
            self.pressure.changed = True

    def _is_behind(self, helper: HelperTask) -> bool:
        """Whether a helper has more waiting than it should."""
        reading = self._helper_readings.get(helper)
        if reading is None:
            reading = self._helper_readings[helper] = Reading(self._marks)
        return reading.is_high(helper)

    def _is_stuck(self, edge: int) -> bool:
        """Whether helpers could not send on what they have done, or could do nothing."""
        exhausted = self.exhausted()
        return any(helper.is_unfit or helper.outputs.blocked_by(exhausted) for helper in self._helpers.on(edge))

    def _apply(self) -> None:
        """Does as was decided."""
        self.pressure.changed = False
        helping = self.pressure.helping
        stopping = helping.stopping
        self._stopped = frozenset(
            (lane.source, lane.target)
            for running in (self._roster.everything if stopping else ())
            for lane in running.outputs.lanes
            if not stopping.isdisjoint(lane.targets)
        )
        self.blocked = self._stopped | self._overheld | self._overhelped
        for edge in helping.ratio:
            share = helping.share(edge)
            if share != self._shares.get(edge, 0.0):
                self._helpers.set_share(edge, share)
                self._shares[edge] = share

    def counts(self, task: int) -> dict[str, Any]:
        """How a task is or was pressed here, and who had it stopped, by the names that TaskCounts has for it."""
        now_ns, running = self._steady_ns(), self._roster.by_task.get(task)
        spells, stops = self.pressure.spells, self.pressure.helping.stop_spells
        targets = self._fed.setdefault(task, set())
        if running is not None:
            targets.update(target for lane in running.outputs.lanes for target in lane.targets)
        relief = self.pressure.reliefs.get(task)
        return {
            "pressure": ReliefState.FLOWING if relief is None else relief.state,
            "asked_ns": spells.total_ns((task, ReliefState.ASKED), now_ns),
            "stopping_ns": spells.total_ns((task, ReliefState.STOPPING), now_ns),
            "episodes": 0 if relief is None else relief.episode,
            "stopped_by": {target: stops.total_ns(target, now_ns) for target in stops.ever() & targets},
            "stopped_now": () if running is None else tuple(sorted(self._waits_for(task) & targets)),
        }

    def _waits_for(self, task: int) -> AbstractSet[int]:
        """Those that have said stop, and those that a task has no credit for: it waits for both, for nobody else."""
        return self.pressure.helping.stopping | {target for source, target in self._credit.exhausted if source == task}

    # ---- between workers

    def tell(self, worker: int, told: Told) -> None:
        """See Post."""
        self._send(worker, FrameKind.PRESSURE, _encode(told))

    def answer(self, answer: Answer) -> None:
        """See Post."""
        self._send(answer.worker, FrameKind.ANSWER, _encode((answer.target, answer.episode, answer.yes)))

    def _send(self, worker: int, kind: FrameKind, payload: bytes) -> None:
        carrier = self._carriers.get(worker)
        if carrier is not None:
            route = Route(target=worker, source=self._worker, assignment=self._places.assignment, flags=kind)
            carrier.send(route, payload, 0)

    def take(self, worker: int, assignment: int, payload: bytes | memoryview) -> None:
        """A worker has a word about a task of its own. Raises one of `UNREADABLE`."""
        if not self._company.knows(worker):  # a dead one, or its successor, which says it again when we meet
            return
        self._follow()
        told = Told(*_decode_told(payload))
        if told.word is Word.HELP:
            for edge in self._around.help_edges(told.task):
                self.pressure.strained(edge, strained=self._is_stuck(edge))
        self.pressure.heard(worker, told, assignment)

    def take_answer(self, worker: int, payload: bytes | memoryview) -> None:
        """A worker helps a task here, or does not. Raises one of `UNREADABLE`."""
        self._follow()
        task, episode, yes = _decode_answer(payload)
        self.pressure.answered(worker, task, episode, yes=yes)

    def lost(self, peer: int) -> None:
        """A worker is gone."""
        self._follow()
        self.pressure.lost(peer)

    def met(self, peer: int) -> None:
        """A worker may not know what it was told."""
        self._follow()
        self.pressure.met(peer)
