"""How a bolt works through an arrival: tuple by tuple, or batch by batch.

Exceptions of user code are reported, and the rest goes on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from inspect import isgeneratorfunction
from itertools import chain, starmap
from operator import attrgetter, length_hint
from typing import TYPE_CHECKING, Any, Protocol

from penstock._native import call_each
from penstock.topology.bolts import KeyedBolt
from penstock.topology.functions import FunctionBolt
from penstock.worker.arrival import Arrival
from penstock.worker.batches import merged, rows_of, to_batch
from penstock.worker.failures import USER_ERRORS

if TYPE_CHECKING:
    import pyarrow as pa

    from penstock.worker.tasks import RunningTask

__all__ = ["BatchRunner", "InputEdge", "RecordRunner", "Runner"]


class InputEdge:
    """What a task must know about an edge into it."""

    def __init__(
        self, *, fields: tuple[str, ...], make: type[Any], key_fields: tuple[str, ...], combined: bool = False
    ) -> None:
        self.fields = fields
        self.combined = combined
        """Whether one of its tuples may stand for several."""
        self.make = make
        self.key_of: Callable[[Any], Any] | None = attrgetter(*key_fields) if key_fields else None


class Runner(Protocol):
    """Works through arrivals."""

    merges: bool
    """Whether it would rather have several arrivals at once."""

    def run(self, arrival: Arrival) -> None:
        """Runs user code over all of it, and emits what comes of it."""

    def run_all(self, arrivals: Sequence[Arrival]) -> None:
        """Runs user code over all of them."""


class RecordRunner:
    """Calls `process` for each tuple."""

    merges = False

    def __init__(self, task: RunningTask, inputs: dict[int, InputEdge]) -> None:
        self._task = task
        self._inputs = inputs
        self._keyed = isinstance(task.logic, KeyedBolt)
        logic = task.logic
        self._process: Callable[..., Any] = logic.function if isinstance(logic, FunctionBolt) else logic.process
        self._yields = isgeneratorfunction(self._process)
        self.touch: Callable[[Sequence[Any]], None] | None = None
        """What is told the keys whose state may change, where that is saved."""

    def run(self, arrival: Arrival) -> None:
        """See Runner."""
        self._run_tuples(self._tuples_of(arrival), arrival.edge)

    def run_answered(self, arrival: Arrival, answers: Iterable[list[Any] | None]) -> None:
        """As `run`, of an arrival that was worked on elsewhere: with what came of each tuple, or None to do it here."""
        process, answer_of = self._process, iter(answers)

        def answered(tup: Any) -> Any:
            answer = next(answer_of)
            if answer is None:
                return process(tup)
            return answer if answer or self._yields else None

        self._process = answered
        try:
            self.run(arrival)
        finally:
            self._process = process

    def _run_tuples(self, tuples: Sequence[Any], edge: int) -> None:
        remaining = iter(tuples)
        key_of = self._inputs[edge].key_of if self._keyed else None
        keys: Iterator[Any] | None = map(key_of, tuples) if key_of is not None else None
        if self.touch is not None and keys is not None:
            touched = [*keys]
            self.touch(touched)
            keys = iter(touched)
        # Calling a generator function runs none of its code, so that the loop over tuples can be one in C. After an
        # exception it goes on with the next tuple.
        process = self._process
        results = map(process, remaining) if keys is None else map(process, keys, remaining)
        while True:
            try:
                if self._yields:
                    self._task.outputs.emit_all(chain.from_iterable(results))
                else:
                    self._run_calls(remaining, keys)
                break
            except USER_ERRORS as error:
                self._task.fail(error, tuples[len(tuples) - length_hint(remaining) - 1])

    def run_all(self, arrivals: Sequence[Arrival]) -> None:
        """See Runner."""
        for arrival in arrivals:
            self.run(arrival)

    def _run_calls(self, remaining: Iterator[Any], keys: Iterator[Any] | None) -> None:
        returned: list[Any] = []
        try:
            while (other := call_each(self._process, remaining, keys, returned)) is not None:
                self._emit_returned(returned)
                self._task.outputs.emit(other)
        finally:
            self._emit_returned(returned)

    def _emit_returned(self, returned: list[Any]) -> None:
        """Emits plain tuples; one that cannot be routed does not hold up the others."""
        outputs, rest = self._task.outputs, returned
        while rest:
            before = outputs.emitted
            try:
                outputs.emit_all(rest)
                break
            except USER_ERRORS as error:  # a key or a route of the user's own
                wrong = outputs.emitted - before
                self._task.fail(error, rest[wrong])
                rest = rest[wrong + 1 :]
        returned.clear()

    def _tuples_of(self, arrival: Arrival) -> Sequence[Any]:
        if arrival.batch is None:
            return arrival.tuples
        return list(starmap(self._inputs[arrival.edge].make, rows_of(arrival.batch)))


class BatchRunner:
    """Calls `process_batch` for all that has piled up: a call costs the same for one row and for a thousand."""

    merges = True

    def __init__(self, task: RunningTask, inputs: dict[int, InputEdge]) -> None:
        self._task = task
        self._inputs = inputs

    def run(self, arrival: Arrival) -> None:
        """See Runner."""
        self.run_all([arrival])

    def run_all(self, arrivals: Sequence[Arrival]) -> None:
        """See Runner. All arrivals are of one edge, and all of tuples, or all of record batches."""
        batch = None
        try:
            batch = self._merged(arrivals)
            out = self._task.logic.process_batch(batch)
            if out is not None:
                self._task.outputs.emit(out)
        except USER_ERRORS as error:  # report it, and go on with the next batch
            self._failed(error, arrivals[0].tuples if batch is None else batch.schema)

    def _merged(self, arrivals: Sequence[Arrival]) -> pa.RecordBatch:
        first = arrivals[0]
        if first.batch is None:
            tuples = chain.from_iterable(arrival.tuples for arrival in arrivals)
            return to_batch(tuples, self._inputs[first.edge].fields)
        return first.batch if len(arrivals) == 1 else merged([arrival.batch for arrival in arrivals])

    def _failed(self, error: BaseException, culprit: Any) -> None:
        self._task.fail(error, culprit)
