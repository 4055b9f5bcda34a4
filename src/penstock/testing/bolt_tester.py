"""One bolt alone, called as the runtime would call it.

>>> def split(tup):
...     for word in tup.line.split():
...         yield (word,)
>>> BoltTester(split, fields=("word",)).process(line="the quick fox")
[('the',), ('quick',), ('fox',)]

A bolt with state by key is told what its input is grouped by:

>>> from penstock.topology.bolts import KeyedBolt
>>> class Count(KeyedBolt):
...     fields = ("word", "count")
...     def process(self, key, tup):
...         n = self.state[key] = self.state.get(key, 0) + 1
...         yield key, n
...     def finish(self):
...         return ("in all", sum(self.state.values()))
>>> tester = BoltTester(Count(), by=("word",))
>>> tester.process(word="blue"), tester.process(word="blue"), tester.finish()
([('blue', 1)], [('blue', 2)], [('in all', 2)])
>>> tester.state
{'blue': 2}

A bolt behind ``gather`` is given what was gathered:

>>> def best(tup):
...     return tup.question, min(answer.distance for answer in tup.answers)
>>> answers = make_tuple(distance=5), make_tuple(distance=3)
>>> BoltTester(best, fields=("question", "distance")).process(question=1, answers=answers)
[(1, 3)]
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Sequence
from operator import attrgetter
from types import TracebackType
from typing import Any, Self

import pyarrow as pa

from penstock.testing.virtual_clock import VirtualClock
from penstock.topology.bolts import BaseBolt, BatchBolt, Bolt, KeyedBolt
from penstock.topology.context import TaskContext
from penstock.topology.emit import DEFAULT_STREAM, Emit, outputs
from penstock.topology.functions import FunctionBolt
from penstock.topology.tuples import Tuple, tuple_class
from penstock.transport.canonical_key import canonical_key

__all__ = ["BoltTester", "make_tuple"]


def make_tuple(*, source: str = "test", stream: str = DEFAULT_STREAM, **values: Any) -> Tuple:
    """A tuple as a bolt gets it, with these fields and values.

    >>> make_tuple(word="blue", source="split").word
    'blue'
    """
    return tuple_class(source, stream, tuple(values))(*values.values())


class BoltTester:
    """Runs one task of one bolt. What it emits is returned, and what it raises is raised.

    Args:
        bolt: a bolt, or a function of a tuple.
        by: for a `KeyedBolt`, the fields that its input is grouped by.
        fields: for a function, the names of the values that it emits, as they are declared in the topology. For a bolt
            whose class does not tell, too.
        index: which of its component's tasks it is to be.
        count: how many tasks its component has.
        clock: the clock that its context shows, else one of its own.
    """

    def __init__(
        self,
        bolt: BaseBolt | Callable[[Tuple], Any],
        *,
        by: Sequence[str] = (),
        fields: Sequence[str] | None = None,
        index: int = 0,
        count: int = 1,
        clock: VirtualClock | None = None,
    ) -> None:
        # A copy, as every task gets: two testers of one bolt do not meet.
        self.bolt = copy.deepcopy(bolt) if isinstance(bolt, BaseBolt) else FunctionBolt(bolt)
        """The bolt that is run."""
        self.clock = clock or VirtualClock()
        declared = self.bolt.fields if fields is None else tuple(fields)
        self._streams = {DEFAULT_STREAM: declared, **self.bolt.streams} if declared else dict(self.bolt.streams)
        self._key_of: Callable[[Tuple], Any] | None = attrgetter(*by) if by else None
        if isinstance(self.bolt, KeyedBolt):
            if not by:
                message = f"{type(self.bolt).__name__} is a KeyedBolt: wanted by=(...), the fields of its key"
                raise ValueError(message)
            self.bolt.state = {}
        self.bolt.open(
            TaskContext(topology="test", component="bolt", index=index, count=count, now_ns=self.clock.now_ns)
        )

    def process(self, tup: Tuple | None = None, /, **values: Any) -> list[Any]:
        """What it emits for one tuple: one with these values, or one that `make_tuple` made."""
        tup = make_tuple(**values) if tup is None else tup
        if isinstance(self.bolt, KeyedBolt):
            assert self._key_of is not None
            return self._checked(self.bolt.process(canonical_key(self._key_of(tup)), tup))
        if isinstance(self.bolt, Bolt):
            return self._checked(self.bolt.process(tup))
        message = f"{type(self.bolt).__name__} takes record batches: wanted process_batch(batch)"
        raise TypeError(message)

    def process_batch(self, batch: pa.RecordBatch) -> list[Any]:
        """What it emits for a record batch."""
        if not isinstance(self.bolt, BatchBolt):
            message = f"{type(self.bolt).__name__} takes tuples, not record batches: wanted process(...)"
            raise TypeError(message)
        return self._checked(self.bolt.process_batch(batch))

    def tick(self) -> list[Any]:
        """What it emits when `tick_every_s` seconds have passed."""
        return self._checked(self.bolt.tick())

    def finish(self) -> list[Any]:
        """What it emits when all its inputs have ended."""
        return self._checked(self.bolt.finish())

    @property
    def state(self) -> dict[Any, Any]:
        """The state of a `KeyedBolt`, by key."""
        if not isinstance(self.bolt, KeyedBolt):
            message = f"{type(self.bolt).__name__} is no KeyedBolt: it has no state by key"
            raise TypeError(message)
        return self.bolt.state

    def close(self) -> None:
        """The end of the task."""
        self.bolt.close()

    def _checked(self, result: Any) -> list[Any]:
        """Each output, if all of them fit what the bolt declares."""
        batches = isinstance(result, pa.RecordBatch)
        return [self._fitting(output) for output in ([result] if batches else _each(result))]

    def _fitting(self, output: Any) -> Any:
        stream, values = (output.stream, output.values) if isinstance(output, Emit) else (DEFAULT_STREAM, output)
        if stream not in self._streams:
            message = f"emitted {output!r}, but it declares no stream {stream!r}; it has {list(self._streams)}"
            raise ValueError(message)
        fields = self._streams[stream]
        got = values.num_columns if isinstance(values, pa.RecordBatch) else len(values)
        if got != len(fields):
            message = f"emitted {got} values for {len(fields)} fields {fields}: {output!r}"
            raise ValueError(message)
        return tuple(output) if isinstance(output, tuple | Tuple) else output

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _each(result: Any) -> Iterable[Any]:
    """Every single output, record batches among them."""
    if isinstance(result, Iterable) and not isinstance(result, tuple | Tuple | str | bytes | dict):
        for one in result:
            yield from [one] if isinstance(one, pa.RecordBatch) else outputs([one])
    else:
        yield from outputs(result)
