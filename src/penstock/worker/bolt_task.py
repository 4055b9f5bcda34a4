"""A bolt's instance: a bounded queue of arrivals, and the loop that runs user code over them."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from inspect import isgeneratorfunction
from itertools import chain, starmap
from operator import attrgetter, length_hint
from typing import Any

from penstock._native import Histogram, call_each
from penstock.topology.bolts import BatchBolt, KeyedBolt
from penstock.topology.functions import FunctionBolt
from penstock.worker.alignment import Alignment
from penstock.worker.arrival import Arrival, Marker
from penstock.worker.batches import rows_of, to_batch
from penstock.worker.failures import USER_ERRORS
from penstock.worker.tasks import RunningTask

__all__ = ["BoltTask", "InputEdge"]


class InputEdge:
    """What a task must know about an edge into it."""

    def __init__(self, *, fields: tuple[str, ...], make: type[Any], key_fields: tuple[str, ...]) -> None:
        self.fields = fields
        self.make = make
        self.key_of: Callable[[Any], Any] | None = attrgetter(*key_fields) if key_fields else None


class BoltTask(RunningTask):
    """Runs one bolt. `processed_arrival` is told of each arrival that is done with, so that credit can go back."""

    def __init__(
        self,
        *,
        inputs: dict[int, InputEdge],
        channels: Iterable[tuple[int, int]],
        processed_arrival: Callable[[int, Arrival], None],
        tick_every_s: float | None,
        **common: Any,
    ) -> None:
        super().__init__(**common)
        self._inputs = inputs
        self._alignment = Alignment(channels)
        self._processed_arrival = processed_arrival
        self.tick_every_ns = 0 if tick_every_s is None else int(tick_every_s * 1e9)
        self.tick_is_due = False
        self._queue: deque[Arrival] = deque()
        self.hops = {edge: Histogram() for edge in inputs}
        self.latency = Histogram()
        self._keyed = isinstance(self.logic, KeyedBolt)
        self._process: Callable[..., Any]
        if isinstance(self.logic, BatchBolt):
            self._run_arrival = self._run_batch
        else:
            self._run_arrival = self._run_tuples
            self._process = self.logic.function if isinstance(self.logic, FunctionBolt) else self.logic.process
            self._yields = isgeneratorfunction(self._process)

    def accept(self, arrival: Arrival) -> None:
        """Puts an arrival at the end of the queue."""
        self._queue.append(arrival)
        self.queued_tuples += len(arrival)

    @property
    def has_work(self) -> bool:
        """Whether anything waits to be done: arrivals, markers included, or a tick."""
        return self.tick_is_due or bool(self._queue)

    def run(self, exhausted: set[int], most_tuples: int) -> int:
        """Works through the queue until it is empty or `most_tuples` are done, then ticks if that is due.

        Does nothing while a target has no credit left, so that what it emits is bounded.
        """
        if self.blocked_by(exhausted):
            return 0
        queue = self._queue
        started_ns = self.clock.now_ns()
        done = 0
        while queue and done < most_tuples:
            arrival = queue.popleft()
            if arrival.marker is not None:
                done += 1
                self._act_on(arrival, arrival.marker)
                continue
            self.hops[arrival.edge].record(max(0, started_ns - arrival.sent_ns))
            if not self.oldest_origin_ns or arrival.origin_ns < self.oldest_origin_ns:
                self.oldest_origin_ns = arrival.origin_ns
            count = len(arrival)
            self._run_arrival(arrival)
            done += count
            self.processed += count
            self.queued_tuples -= count
            self.latency.record(max(0, self.clock.now_ns() - arrival.origin_ns), count)
            self._processed_arrival(self.task, arrival)
        if self.tick_is_due:
            self.tick_is_due = False
            if not self.ended:
                self.guarded(self.logic.tick)
                done += 1
        now_ns = self.clock.now_ns()
        self.flush(now_ns)
        self.busy_ns += now_ns - started_ns
        return done

    def _run_tuples(self, arrival: Arrival) -> None:
        tuples = arrival.tuples if arrival.batch is None else self._tuples_of(arrival)
        remaining = iter(tuples)
        key_of = self._inputs[arrival.edge].key_of if self._keyed else None
        # Calling a generator function runs none of its code, so that the loop over tuples can be one in C. After an
        # exception it goes on with the next tuple.
        process = self._process
        keys = map(key_of, tuples) if key_of is not None else None
        results = map(process, remaining) if keys is None else map(process, keys, remaining)
        while True:
            try:
                if self._yields:
                    self.outputs.emit_all(chain.from_iterable(results))
                else:
                    self._run_calls(remaining, keys)
                break
            except USER_ERRORS as error:  # user code
                self.fail(error, tuples[len(tuples) - length_hint(remaining) - 1])

    def _run_calls(self, remaining: Iterator[Any], keys: Iterator[Any] | None) -> None:
        returned: list[Any] = []
        try:
            while (other := call_each(self._process, remaining, keys, returned)) is not None:
                self._emit_returned(returned)
                self.outputs.emit(other)
        finally:
            self._emit_returned(returned)

    def _emit_returned(self, returned: list[Any]) -> None:
        """Emits plain tuples; one that cannot be routed does not hold up the others."""
        outputs, rest = self.outputs, returned
        while rest:
            before = outputs.emitted
            try:
                outputs.emit_all(rest)
                break
            except USER_ERRORS as error:  # a key or a route of the user's own
                wrong = outputs.emitted - before
                self.fail(error, rest[wrong])
                rest = rest[wrong + 1 :]
        returned.clear()

    def _run_batch(self, arrival: Arrival) -> None:
        batch = arrival.batch
        try:
            if batch is None:
                batch = to_batch(arrival.tuples, self._inputs[arrival.edge].fields)
            out = self.logic.process_batch(batch)
            if out is not None:
                self.outputs.emit(out)
        except USER_ERRORS as error:  # user code: report it, and go on with the next batch
            self.fail(error, arrival.tuples if batch is None else batch.schema)

    def _tuples_of(self, arrival: Arrival) -> Sequence[Any]:
        return list(starmap(self._inputs[arrival.edge].make, rows_of(arrival.batch)))

    def _act_on(self, arrival: Arrival, marker: Marker) -> None:
        for aligned in self._alignment.arrive((arrival.edge, arrival.source), marker):
            if self.ended:  # restarted sources have ended again
                return
            if aligned.ends:
                self.guarded(self.logic.finish)
                self.ended = True
            self.flush(self.clock.now_ns())
            self.outputs.put_marker(aligned)

    def reopen(self, sources: Iterable[int]) -> None:
        """These tasks upstream were restarted."""
        self._alignment.reopen(sources)
