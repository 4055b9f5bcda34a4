"""A spout's instance: asked for tuples as long as what it feeds has room."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from penstock.flow.credit import Channel
from penstock.topology.pushed_spout import PushedSpout
from penstock.topology.spouts import Spout
from penstock.transport.values import decode_value, encode_value
from penstock.worker.arrival import EMPTY, Marker
from penstock.worker.failures import USER_ERRORS
from penstock.worker.resume import SpoutProgress
from penstock.worker.tasks import RunningTask
from penstock.worker.tracking import Keeper

__all__ = ["SpoutTask"]


class SpoutTask(RunningTask):
    """Runs one spout. It ends when the spout raises StopIteration, or when the run is drained."""

    def __init__(self, **common: Any) -> None:
        super().__init__(**common)
        self.draining = False
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
        if self._is_over():
            self.ended = True
            self.outputs.put_marker(Marker(0, ends=True))
            return emitted + 1
        return emitted

    def _emit_some(self, most_tuples: int) -> None:
        self._ask(most_tuples)

    def _is_over(self) -> bool:
        return self.draining

    def _ask(self, most_tuples: int) -> None:
        if self.leaving:  # where it goes on is told to who comes after it
            return
        outputs, next_output = self.outputs, self.logic.next
        most = outputs.emitted + most_tuples
        try:
            while outputs.emitted < most and not self.draining:
                out = next_output()
                if out is None:
                    break
                asked = outputs.emitted
                self._emit(out)
                if outputs.emitted == asked:  # an empty list: nothing just now
                    break
        except StopIteration:
            self.draining = True
        except USER_ERRORS as error:  # report it and ask again next turn
            self.fail(error, None)

    def _emit(self, out: Any) -> None:
        self.outputs.emit(out)

    @property
    def keeper(self) -> Keeper | None:
        """What keeps trees here, if anything does."""
        return None

    @property
    def pending(self) -> int:
        """How many of its outputs are not known to be processed, where that is known at all."""
        return 0

    def begin_epoch(self, epoch: int) -> None:
        """Sends a marker behind everything that was emitted so far."""
        if not self.ended and not self.waiting:
            self.passed_epoch = epoch
            self.outputs.put_marker(Marker(epoch, ends=False, newest_roots=self._newest_roots()))

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
            self.fail(error, None)
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
