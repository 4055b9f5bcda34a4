"""So many tuples per second, for trying things and for measuring them.

A tuple is numbered, and says when it was due, so that a sink can tell how long it took:

    >>> clock = [0]
    >>> spout = Rate(1000)
    >>> spout.open(TaskContext(topology="t", component="rate", now_ns=lambda: clock[0]))
    >>> spout.next()
    [(0, 0)]
    >>> clock[0] = 2_500_000
    >>> spout.next()
    [(1, 1000000), (2, 2000000)]
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from penstock.topology.checks.calls import call_problem
from penstock.topology.context import TaskContext
from penstock.topology.emit import Outputs
from penstock.topology.spouts import Spout

__all__ = ["Rate"]

# After a pause much is due at once; a call that returned all of it would take long, and the first would wait.
_AT_ONCE = 256

_SECOND_NS = 1_000_000_000


class Rate(Spout):
    """Emits tuples evenly, so many per second in all tasks together.

    The last two fields are always ``seq``, which numbers the tuples of all tasks from 0, and ``at_ns``, when the tuple
    was due. A spout that is held up makes up for it, and what it emits late says so: the delay counts as latency.

    Args:
        per_second: how many; None is as many as go through, and each is due when it is emitted.
        make: what goes into the fields before the last two. A list, to go through again and again, or a function of
            the number. A tuple has a value for each field, anything else is a value by itself.
        limit: how many in all; None is without end.
        fields: the names of what ``make`` gives; ``("value",)`` if it is not said.
    """

    def __init__(
        self,
        per_second: float | None,
        make: Callable[[int], Any] | Sequence[Any] | None = None,
        *,
        limit: int | None = None,
        fields: tuple[str, ...] | None = None,
    ) -> None:
        self.per_second = per_second
        self.make = make
        self.limit = limit
        self._start: tuple[int, int] | None = None
        made = () if make is None else ("value",)
        self.fields = (*(made if fields is None else fields), "seq", "at_ns")

    def problems(self, tasks: int, fields: tuple[str, ...]) -> Iterator[str]:  # noqa: ARG002
        """What can be seen to be wrong with the numbers, and with a list of values."""
        rate: Any = self.per_second
        limit: Any = self.limit
        if rate is not None and not (isinstance(rate, int | float) and 0 < rate < math.inf):
            yield f"Rate: per_second: wanted a number above 0 or None, got {rate!r}"
        if limit is not None and not (isinstance(limit, int) and limit >= 0):
            yield f"Rate: limit: wanted a number of tuples or None, got {limit!r}"
        made = fields[:-2]
        if len(fields) < 2:
            yield f"Rate: wanted fields for the number and the time at the end, got {fields}"
        elif self.make is None:
            if made:
                yield f"Rate: fields: wanted none but the number and the time, because there is no make, got {made}"
        elif callable(self.make):
            if problem := call_problem(self.make, "seq"):
                yield f"Rate: make: {problem}"
        else:
            yield from _wrong_values(self.make, made)

    def open(self, context: TaskContext) -> None:
        """Takes its share: each number whose rest by the number of tasks is the task's index."""
        self._now_ns = context.now_ns
        self._index, self._step = context.index, context.count
        self._made = _maker(self.make)
        self.seek(self._index)

    def next(self) -> Outputs:
        """What is due by now, and not more than a few hundred."""
        if self.limit is not None and self._seq >= self.limit:
            raise StopIteration
        now_ns = self._now_ns()
        end = self._seq + _AT_ONCE * self._step
        if self.limit is not None:
            end = min(end, self.limit)
        if self.per_second is None:
            made = self._made
            batch = [(*made(seq), seq, now_ns) for seq in range(self._seq, end, self._step)]
        else:
            batch = self._due(now_ns, end, _SECOND_NS / self.per_second)
        self._seq += len(batch) * self._step
        return batch or None

    def _due(self, now_ns: int, end: int, interval_ns: float) -> list[tuple[Any, ...]]:
        if self._start is None:
            # Not in open: others may take long to open, and nothing is due before all have. The tasks take turns.
            self._start = self._seq - self._index, now_ns
        first_seq, start_ns = self._start
        # Each instant is computed from the start, so that rounding does not add up.
        batch = []
        for seq in range(self._seq, end, self._step):
            due_ns = start_ns + round((seq - first_seq) * interval_ns)
            if due_ns > now_ns:
                break
            batch.append((*self._made(seq), seq, due_ns))
        return batch

    def position(self) -> int:
        """The number of the tuple that comes next."""
        return self._seq

    def seek(self, position: int) -> None:
        """Goes on with that number, as if it had just begun."""
        self._seq = position
        self._start = None

    def __repr__(self) -> str:
        rate = "unthrottled" if self.per_second is None else f"{self.per_second:g}/s"
        return f"Rate({rate})" if self.limit is None else f"Rate({rate}, limit={self.limit})"


def _maker(make: Any) -> Callable[[int], tuple[Any, ...]]:
    """What gives the first values of the tuple of a number."""
    if make is None:
        return lambda seq: ()  # noqa: ARG005
    if callable(make):
        return lambda seq: _as_tuple(make(seq))
    values = [_as_tuple(value) for value in make]
    return lambda seq: values[seq % len(values)]


def _as_tuple(value: Any) -> tuple[Any, ...]:
    return value if isinstance(value, tuple) else (value,)


def _wrong_values(values: Any, fields: tuple[str, ...]) -> Iterator[str]:
    if not isinstance(values, Sequence) or isinstance(values, str | bytes):
        yield f"Rate: make: wanted a function or a list of values, got {values!r}"
    elif not values:
        yield "Rate: make: wanted a list with values in it, got an empty one"
    else:
        for position, value in enumerate(values):
            if len(_as_tuple(value)) != len(fields):
                yield f"Rate: make[{position}]: wanted {len(fields)} values, for the fields {fields}, got {value!r}"
                return  # one is enough to see it
