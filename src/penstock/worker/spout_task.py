"""A spout's instance: asked for tuples as long as what it feeds has room."""

from __future__ import annotations

from typing import Any

from penstock.worker.arrival import Marker
from penstock.worker.failures import USER_ERRORS
from penstock.worker.tasks import RunningTask

__all__ = ["SpoutTask"]


class SpoutTask(RunningTask):
    """Runs one spout. It ends when the spout raises StopIteration, or when the run is drained."""

    def __init__(self, **common: Any) -> None:
        super().__init__(**common)
        self.draining = False

    def run(self, exhausted: set[int], most_tuples: int) -> int:
        """Asks for tuples until there are none just now, `most_tuples` came or a target runs out of credit."""
        if self.ended or self.blocked_by(exhausted):
            return 0
        started_ns = self.clock.now_ns()
        outputs = self.outputs
        before = outputs.emitted
        next_output, emit = self.logic.next, outputs.emit
        self.oldest_origin_ns = started_ns
        try:
            while outputs.emitted - before < most_tuples and not self.draining:
                out = next_output()
                if out is None:
                    break
                asked = outputs.emitted
                emit(out)
                if outputs.emitted == asked:  # an empty list: nothing just now
                    break
        except StopIteration:
            self.draining = True
        except USER_ERRORS as error:  # user code: report it and ask again next turn
            self.fail(error, None)
        emitted = outputs.emitted - before
        now_ns = self.clock.now_ns()
        self.flush(now_ns)
        if emitted:
            self.processed += emitted
            self.busy_ns += now_ns - started_ns
        if self.draining:
            self.ended = True
            self.outputs.put_marker(Marker(0, ends=True))
            return emitted + 1
        return emitted

    def drain(self) -> None:
        """No more tuples: the end marker follows what was emitted."""
        self.draining = True
