"""A spout's instance: asked for tuples as long as what it feeds has room."""

from __future__ import annotations

import gc
import inspect
import traceback
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from types import ModuleType
from typing import Any, Literal

from penstock.errors import RunError
from penstock.flow.backoff import Backoff
from penstock.flow.credit import Channel
from penstock.flow.ledger import UNTRACKED
from penstock.topology.emit import Emit, is_record_batch
from penstock.topology.functions import GeneratorSpout
from penstock.topology.pushed_spout import PushedSpout
from penstock.topology.spouts import Spout
from penstock.topology.tuples import Tuple
from penstock.transport.values import decode_value, encode_value
from penstock.worker.arrival import EMPTY, Marker
from penstock.worker.clock import steady_ns_of
from penstock.worker.failures import USER_ERRORS, reason_of
from penstock.worker.resume import SpoutProgress
from penstock.worker.tasks import FLUSH_EVERY_NS, RunningTask

__all__ = ["SINGLE", "SpoutTask", "TrialStage"]

SINGLE = (tuple, Tuple, Emit, str, bytes, dict)
"""What a spout gives that is one output, as is what cannot be iterated over, such as a record batch. The last three are
for `Outputs.emit` to refuse."""

TrialStage = Literal["wanted", "emitted", "over"]
"""What the coordinator is told of trials: a spout task wants one; has emitted what is on trial, and waits for a marker
behind it; has heard what became of it."""

TOLD_AT_FAILURES = 3
"""One that fails so often in a row is worth a notice: a hiccup is counted, and that is all."""

MOST_HELD = 10_000

MOST_CALLS_UNLOOKED = 64

TAKEN_TOGETHER = 256
"""How many outputs of an iterator are held before they are emitted: so many record batches may be among them."""


class SpoutTask(RunningTask):
    """Runs one spout. It ends when the spout raises StopIteration, or when the run is drained.

    Any other exception of `next` belongs to no tuple: the spout is asked again after a pause. When it has failed
    `max_failures` times in a row, the run fails; that of a generator fails at once, because it has come to its end.

    What `next` gives may be more than there is room for. The rest waits, and `next` with it.
    """

    def __init__(self, *, max_failures: int, save: Callable[[int, int], None] | None, **common: Any) -> None:
        """`save` saves a task at the end of an epoch; None where nothing is saved."""
        super().__init__(**common)
        self.draining = False
        self._given: Iterator[Any] | None = None
        """What `next` has given and was not emitted so far."""
        self._save = save
        self._epoch_due = 0
        """The epoch that ends when all of that is emitted; 0 if there is none."""
        self._max_failures = 1 if isinstance(self.logic, GeneratorSpout) else max_failures
        self._backoff: Backoff | None = None
        """How often it has failed in a row, and until when it is not asked; None if it has not."""
        self._calls_unlooked = 1
        """After how many calls of `next` it looks at the clock."""
        self._broken_by: str | None = None
        """The last exception, if it has ended a generator within the spout: that is at its end now, not complete."""
        self._trouble: str | None = None
        # What was pushed, and is to come again, is pushed again: nobody goes on from a position.
        pushed = isinstance(self.logic, PushedSpout)
        self._replayable = isinstance(self.logic, Spout) and self.logic.is_replayable() and not pushed

    def run(self, exhausted: set[Channel], most_tuples: int) -> int:
        """Asks for tuples until there are none just now, `most_tuples` came or a target runs out of credit."""
        if self.ended or self.waiting or self.is_silent or self.blocked_by(exhausted):
            return 0
        started_ns = self.clock.now_ns()
        before = self.outputs.emitted
        self.oldest_origin_ns = started_ns
        self._emit_some(most_tuples)
        emitted = self.outputs.emitted - before
        now_ns = self.clock.now_ns()
        self.flush(now_ns)
        if emitted:
            self.processed += emitted
            self.busy_ns += now_ns - started_ns
        if self._epoch_due and self._given is None:
            self._end_epoch_late()
        if self._is_over():
            self.ended = True
            self.outputs.put_marker(Marker(0, ends=True))
            return emitted + 1
        return emitted

    def _emit_some(self, most_tuples: int) -> None:
        self._ask(most_tuples)

    def _is_over(self) -> bool:
        return self.draining and self._given is None

    @property
    def is_in_call(self) -> bool:
        """See RunningTask."""
        return self._given is not None

    def _ask(self, most_tuples: int) -> None:
        outputs, next_output = self.outputs, self.logic.next
        most = outputs.emitted + most_tuples
        if self._given is not None:
            if self._emit_given(self._given, most):
                self._backoff = None
            # Between two calls a turn ends, however busy the spout is: there its position is known, epochs end, and it
            # can move.
            return
        if self.leaving:  # where it goes on is told to who comes after it
            return
        if self._backoff is not None and self._backoff.is_waiting(steady_ns_of(self.clock)()):
            return
        has_worked = False
        calls, look_at = 0, self._calls_unlooked
        began_ns = self.clock.now_ns()
        while outputs.emitted < most and not self.draining:
            if calls == look_at:  # what the last calls gave has waited long enough
                now_ns = self.clock.now_ns()
                self._pace(calls, now_ns - began_ns)
                if now_ns - began_ns >= FLUSH_EVERY_NS:
                    break
                look_at += self._calls_unlooked
            calls += 1
            try:
                out = next_output()
            except StopIteration:
                if self._backoff is not None and not has_worked:
                    self._require_whole()
                self.draining = True
                return
            except USER_ERRORS as error:
                self._next_failed(error, has_worked=has_worked)
                self._broken_by = reason_of(error) if _has_ended_generator(self.logic, error) else None
                return
            if out is None:
                break
            asked, kind = outputs.emitted, out.__class__
            if (
                kind is tuple
                or (kind is list and len(out) <= outputs.piece_tuples)
                or isinstance(out, SINGLE)
                or not isinstance(out, Iterable)
            ):
                self._emit(out)
            else:
                self._given = iter(out)
                if not self._emit_given(self._given, most):
                    return
            has_worked = True
            if outputs.emitted == asked or self._given is not None:  # an empty list: nothing just now
                break
        self._backoff = None

    def _pace(self, calls: int, took_ns: int) -> None:
        """Looks at the clock so often that what was emitted is flushed in time, and no more: a look costs time, too."""
        fitting = calls * FLUSH_EVERY_NS // (4 * max(1, took_ns))
        self._calls_unlooked = max(1, min(MOST_CALLS_UNLOOKED, fitting))

    def _emit_given(self, given: Iterator[Any], most: int) -> bool:
        """Emits what `next` gave, until so many are emitted; False if it raises, which is the spout's failure."""
        outputs = self.outputs
        while (room := most - outputs.emitted) > 0:
            some: list[Any] = []
            try:
                has_more = _take_some(given, room, some)
            except USER_ERRORS as error:
                self._given = None
                self._emit(some)  # what came before
                self._next_failed(error, has_worked=False)
                return False
            self._emit(some)
            if not has_more:
                self._given = None
                return True
            if outputs.emitted == most - room:  # nothing but None
                return True
        return True

    def _emit(self, out: Any) -> None:
        """Emits what `next` gave. What cannot be emitted is reported."""
        if out.__class__ is list:
            self.outputs.emit_each(out, self.fail)
            return
        try:
            self.outputs.emit(out)
        except USER_ERRORS as error:
            self.fail(error, out)

    # ---- when it fails

    def _next_failed(self, error: BaseException, *, has_worked: bool) -> None:
        """Counts an exception of `next`, which is the fault of nothing that was emitted. RunError if it is the last."""
        self.fail(error, None, UNTRACKED)
        if self._backoff is None or has_worked:
            self._backoff = Backoff(max_failures=self._max_failures)
        backoff, reason = self._backoff, reason_of(error)
        backoff.failed(steady_ns_of(self.clock)())
        self._broken_by = None
        if isinstance(self.logic, GeneratorSpout):
            message = f"{self._name} raised {reason}; a generator cannot go on after that"
            raise RunError(message) from error
        if backoff.is_hopeless:
            message = f"{self._name} has failed {backoff.failures} times in a row, the last time with {reason}"
            raise RunError(message) from error
        if backoff.failures == TOLD_AT_FAILURES:
            self._trouble = f"fails again and again: {reason}; after {self._max_failures} times in a row the run fails"

    def _require_whole(self) -> None:
        """RunError if the end comes right after an exception that has ended a generator within the spout."""
        if self._broken_by is not None:
            message = (
                f"{self._name} ended right after a generator in it had raised {self._broken_by}: "
                "a generator cannot go on after that, so this is not taken for its end"
            )
            raise RunError(message)

    @property
    def _name(self) -> str:
        return f"spout {self.component!r} (task {self.task})"

    def take_trouble(self) -> str | None:
        """What people should be told about its failures; each row of them is told once."""
        trouble, self._trouble = self._trouble, None
        return trouble

    def track_singly(self) -> None:
        """A worker is gone. What is emitted from now on should not be emitted again because of what was beside it."""

    @property
    def pending(self) -> int:
        """How many of its outputs are not known to be processed, where that is known at all."""
        return 0

    def begin_epoch(self, epoch: int) -> None:
        """Sends a marker behind everything that was emitted so far.

        Where the spout's position is saved with it, that is after what `next` has given, so the marker is, too.

        One that is silent has sent its last from here. What was emitted there is before what its new place sends, so
        that may send a marker before the spout has come.
        """
        if self.ended or self.is_silent or epoch <= self.passed_epoch:
            return
        if self._given is not None and self._save is not None:
            self._epoch_due = epoch
            return
        self.passed_epoch = epoch
        self._mark(epoch)
        self.outputs.put_marker(Marker(epoch, ends=False, newest_roots=self._newest_roots()))

    def _end_epoch_late(self) -> None:
        assert self._save is not None
        epoch, self._epoch_due = self._epoch_due, 0
        self._save(self.task, epoch)
        self.begin_epoch(epoch)

    def _mark(self, epoch: int) -> None:
        """A marker of this epoch follows."""

    def begin_trial(self) -> None:
        """Emits again some of what was lost: the coordinator lets this task find out whether it is lost again."""

    def take_trial_stages(self) -> Sequence[TrialStage]:
        """What the coordinator is to be told of such trials."""
        return ()

    def _newest_roots(self) -> Mapping[int, int]:
        """What its markers tell of the trees before them."""
        return EMPTY

    def progress(self) -> SpoutProgress:
        """How far it has come, for whoever comes after it."""
        return SpoutProgress(task=self.task, position=None if self.ended else self._position(), ended=self.ended)

    def _position(self) -> bytes | None:
        if not self._replayable:
            return None
        try:
            return encode_value(self.logic.position())
        except USER_ERRORS as error:
            self.fail(error, None, UNTRACKED)
            self._replayable = False
            return None

    def resume(self, progress: SpoutProgress) -> None:
        """Goes on where its predecessor was; after `open`."""
        if progress.ended:
            self.restore_end()
        elif progress.position is not None:
            self.logic.seek(decode_value(progress.position))

    def restore_end(self) -> None:
        """It had ended: whoever it feeds is told so again."""
        self.ended = self.draining = True
        self.outputs.put_marker(Marker(0, ends=True))

    def drain(self) -> None:
        """No more tuples: the end marker follows what was emitted."""
        self.draining = True


def _take_some(outputs: Iterator[Any], most: int, into: list[Any]) -> bool:
    """Takes the next of what a spout gives; whether there may be more. What it raises comes through.

    A loop in C, which takes a record batch by itself: it may be many rows.
    """
    for first in outputs:
        into.append(first)
        if first.__class__ is not tuple and is_record_batch(first.values if isinstance(first, Emit) else first):
            return True
        most = min(most, TAKEN_TOGETHER)
        into.extend(islice(outputs, most - 1))
        return len(into) == most
    return False


def _has_ended_generator(logic: Any, error: BaseException) -> bool:
    """Whether it came out of a generator that the spout still has, and not of one that was made for this call alone."""
    frames = traceback.walk_tb(error.__traceback__)
    ended = {frame.f_code for frame, _ in frames if frame.f_code.co_flags & inspect.CO_GENERATOR}
    return bool(ended) and any(
        held.gi_frame is None and held.gi_code in ended for held in _held_by(logic) if inspect.isgenerator(held)
    )


def _held_by(logic: Any) -> Iterator[Any]:
    """What it refers to, nearest first, up to a number; not through modules and classes, which all refer to."""
    found, seen = deque([logic]), {id(logic)}
    while found and len(seen) < MOST_HELD:
        held = found.popleft()
        yield held
        # Of a function only what it closes over: its globals are the module's.
        inside = [held.__closure__] if inspect.isfunction(held) else gc.get_referents(held)
        new = [one for one in inside if id(one) not in seen and not isinstance(one, type | ModuleType)]
        seen.update(map(id, new))
        found.extend(new)
