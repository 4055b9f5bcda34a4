"""How a bolt works through an arrival after a worker has died: so that it can be told afterwards what has killed it.

Before each piece of an arrival it is noted elsewhere what is about to be worked on. Suspects are pieces of their own,
and tuples that were given up are left out. What this task has survived since everything was set back needs no note.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from penstock.topology.emit import DEAD_LETTERS, Emit
from penstock.worker.arrival import Arrival
from penstock.worker.batches import rows_of
from penstock.worker.care import Care, Notes, digest_of
from penstock.worker.runners import Runner

if TYPE_CHECKING:
    from penstock.worker.tasks import RunningTask

__all__ = ["CarefulRunner", "KilledWorkersError"]


class KilledWorkersError(Exception):
    """The worker that worked on a tuple died each time. Reported, never raised."""


class CarefulRunner:
    """Has another runner do the work, piece by piece."""

    merges = False

    def __init__(self, task: RunningTask, runner: Runner, care: Care, notes: Notes) -> None:
        self.runner = runner
        self._task = task
        self._notes = notes
        self._suspects = frozenset(care.suspects.get(task.component, ()))
        self._given_up = care.given_up.get(task.component, {})
        self._survived: set[int] = set()

    def run_all(self, arrivals: Sequence[Arrival]) -> Iterator[None]:
        """See Runner."""
        for arrival in arrivals:
            yield from self._run(arrival)

    def _run(self, arrival: Arrival) -> Iterator[None]:
        rows = arrival.tuples if arrival.batch is None else [*rows_of(arrival.batch)]
        digests = [*map(digest_of, rows)]
        start = 0
        for position, digest in enumerate(digests):
            if digest in self._given_up:
                yield from self._try(arrival, digests, start, position)
                self._leave_out(rows[position], self._given_up[digest])
            elif digest in self._suspects and digest not in self._survived:
                yield from self._try(arrival, digests, start, position)
                yield from self._try(arrival, digests, position, position + 1)
            else:
                continue
            start = position + 1
        yield from self._try(arrival, digests, start, len(digests))

    def _try(self, arrival: Arrival, digests: Sequence[int], start: int, end: int) -> Iterator[None]:
        if start == end:
            return
        fresh = {*digests[start:end]} - self._survived
        piece = _piece(arrival, start, end)
        if not fresh:
            yield from self.runner.run_all([piece])
            return
        # Without waiting in between: a worker notes one thing at a time, and has survived it only when it is done.
        self._notes.trying(self._task.suspected, fresh, alone=end - start == 1)
        for _ in self.runner.run_all([piece]):
            self._task.flush_piece()
        self._notes.tried()
        self._survived |= fresh

    def _leave_out(self, row: Any, deaths: int) -> None:
        task = self._task
        reason = "the worker that worked on it died each time"
        task.failed += 1
        task.failures.add(task.component, task.task, KilledWorkersError(f"given up: {reason}"), row)
        if task.outputs.has_stream(DEAD_LETTERS):
            task.outputs.emit(Emit(([*row], task.component, reason, deaths), stream=DEAD_LETTERS))


def _piece(arrival: Arrival, start: int, end: int) -> Arrival:
    if arrival.batch is None:
        return msgspec.structs.replace(arrival, tuples=arrival.tuples[start:end])
    return msgspec.structs.replace(arrival, batch=arrival.batch.slice(start, end - start))
