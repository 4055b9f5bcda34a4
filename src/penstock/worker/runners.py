"""How a bolt works through an arrival: tuple by tuple, or batch by batch.

Exceptions of user code are reported, and the rest goes on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from inspect import isgeneratorfunction
from itertools import chain
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

from penstock._native import Calls, FastTask, Histogram, KeyReader
from penstock.topology.bolts import KeyedBolt
from penstock.topology.collecting import CollectingBolt
from penstock.topology.functions import FunctionBolt
from penstock.topology.tuples import Tuple
from penstock.transport.canonical_key import canonical_keys
from penstock.worker.arrival import Arrival
from penstock.worker.batches import merged, to_batch
from penstock.worker.column_tuples import ColumnTuples
from penstock.worker.failures import USER_ERRORS

if TYPE_CHECKING:
    import pyarrow as pa

    from penstock.worker.bolt_task import BoltTask
    from penstock.worker.tasks import RunningTask

__all__ = ["BatchRunner", "InputEdge", "RecordRunner", "Runner"]

CHUNK_TUPLES = 512
"""How many tuples are made of a record batch at a time. The next are made in the memory of those that are done with,
which the processor has at hand."""


KeysOf: TypeAlias = Callable[[Sequence[Any]], list[Any]]
"""From tuples to their keys, canonical ones."""


class InputEdge:
    """What a task must know about an edge into it."""

    def __init__(
        self, *, fields: tuple[str, ...], make: type[Any], key_fields: tuple[str, ...], combined: bool = False
    ) -> None:
        self.fields = fields
        self.combined = combined
        """Whether one of its tuples may stand for several."""
        self.column_tuples = ColumnTuples(make, fields)
        """Makes its tuples where they come as record batches."""
        self.keys_of = _key_reader(make, key_fields) if key_fields else None
        """From its tuples to their keys; None if it has none."""


def _key_reader(make: type[Any], key_fields: tuple[str, ...]) -> KeysOf:
    if issubclass(make, Tuple):
        return KeyReader(make, key_fields, canonical_keys)
    key_of = attrgetter(*key_fields)  # what was gathered: many tuples became one, of another class
    return lambda tuples: canonical_keys([*map(key_of, tuples)])


class Runner(Protocol):
    """Works through arrivals."""

    merges: bool
    """Whether it would rather have several arrivals at once."""

    def run_all(self, arrivals: Sequence[Arrival]) -> Iterable[None]:
        """Runs user code over all of them, step by step, and emits what comes of it.

        A step ends when so much was emitted that it should be flushed. The next one may come much later, when those
        that it is for have room; until then the task does nothing else.
        """


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

    def run(self, arrival: Arrival) -> Iterable[None]:
        """As `run_all`, of one arrival."""
        if arrival.batch is None:
            return self._run_tuples(arrival.tuples, arrival.edge)
        chunks = self._inputs[arrival.edge].column_tuples.of(arrival.batch, CHUNK_TUPLES)
        return chain.from_iterable(self._run_tuples(tuples, arrival.edge) for tuples in chunks)

    def run_all(self, arrivals: Sequence[Arrival]) -> Iterable[None]:
        """See Runner."""
        if len(arrivals) == 1:
            return self.run(arrivals[0])
        return chain.from_iterable(map(self.run, arrivals))

    def run_answered(self, arrival: Arrival, answers: Iterable[list[Any] | None]) -> Iterator[None]:
        """As `run`, of an arrival that was worked on elsewhere: with what came of each tuple, or None to do it here."""
        process, answer_of = self._process, iter(answers)

        def answered(tup: Any) -> Any:
            answer = next(answer_of)
            if answer is None:
                return process(tup)
            return answer if answer or self._yields else None

        self._process = answered
        try:
            yield from self.run(arrival)
        finally:
            self._process = process

    def _run_tuples(self, tuples: Sequence[Any], edge: int) -> Iterable[None]:
        """Runs user code over tuples of one tree. If one gives much, what this returns goes on with it in steps."""
        keys_of = self.keys_of(edge)
        keys = None if keys_of is None else keys_of(tuples)
        calls = self._task.outputs.run_calls(self._process, tuples, keys, self._task.fail, self._yields)
        return () if calls is None else self._rest_of(calls, keys)

    def keys_of(self, edge: int) -> KeysOf | None:
        """From tuples of an edge, which are worked on now, to their keys; None if it has none."""
        keys_of = self._inputs[edge].keys_of if self._keyed else None
        return None if keys_of is None else partial(self._touched_keys, keys_of)

    def _touched_keys(self, keys_of: KeysOf, tuples: Sequence[Any]) -> list[Any]:
        keys = keys_of(tuples)
        if self.touch is not None:
            self.touch(keys)
        return keys

    def fast_task(self, bolt: BoltTask, latency: Histogram) -> FastTask | None:
        """How the fast path calls user code; None if it cannot."""
        task = self._task
        return FastTask(
            bolt=bolt,
            outputs=task.outputs,
            process=self._process,
            fail=task.fail,
            latency=latency,
            yields=self._yields,
            has_news=isinstance(task.logic, CollectingBolt),
        )

    def go_on_with(self, arrival: Arrival, calls: Calls, keys: list[Any] | None) -> Iterator[None]:  # noqa: ARG002
        """What is left to do of an arrival whose calls were begun by the fast path."""
        return self._rest_of(calls, keys)

    def _rest_of(self, calls: Calls, keys: list[Any] | None) -> Iterator[None]:
        has_more = True
        while has_more:
            yield
            if self.touch is not None and keys:
                # What was saved or sent ahead meanwhile has to be again: these keys are still worked on.
                self.touch(keys)
            has_more = calls.go_on()

    def _tuples_of(self, arrival: Arrival) -> Sequence[Any]:
        if arrival.batch is None:
            return arrival.tuples
        all_at_once = max(1, arrival.batch.num_rows)
        return [*chain.from_iterable(self._inputs[arrival.edge].column_tuples.of(arrival.batch, all_at_once))]


class BatchRunner:
    """Calls `process_batch` for all that has piled up: a call costs the same for one row and for a thousand."""

    merges = True

    def __init__(self, task: RunningTask, inputs: dict[int, InputEdge]) -> None:
        self._task = task
        self._inputs = inputs

    def run_all(self, arrivals: Sequence[Arrival]) -> Iterator[None]:
        """See Runner. All arrivals are of one edge, and all of tuples, or all of record batches."""
        batch = None
        try:
            batch = self._merged(arrivals)
            out = self._task.logic.process_batch(batch)
            if out is not None:
                yield from self._task.outputs.emit_in_pieces(out, self._task.fail)
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
