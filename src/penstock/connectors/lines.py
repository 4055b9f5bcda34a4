"""Lines from a list or an iterator, for trying things.

Each task takes its share of a list:

    >>> spout = Lines(["a rose", "is a rose", "is a rose"])
    >>> spout.open(TaskContext(topology="t", component="lines", index=0, count=2))
    >>> spout.next()
    [('a rose',), ('is a rose',)]
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Any

from penstock.topology.context import TaskContext
from penstock.topology.emit import Outputs
from penstock.topology.spouts import Spout

__all__ = ["Lines"]

# Enough for the cost of a call to vanish, and few enough for the first to be on its way at once.
_AT_ONCE = 64


class Lines(Spout):
    """Emits the items of a list, shared out over its tasks, or of an iterator, by one task.

    Args:
        items: what to emit. An item that is a tuple has a value for each field, any other is a value by itself.
        repeat: how many times to go through a list; None is for ever.
        fields: the names of the values.
    """

    def __init__(self, items: Iterable[Any], *, repeat: int | None = 1, fields: tuple[str, ...] = ("line",)) -> None:
        self.items = items
        self.repeat = repeat
        self.fields = fields

    def problems(self, tasks: int, fields: tuple[str, ...]) -> Iterator[str]:
        """What can be seen to be wrong with the items, and with their number of tasks."""
        items: Any = self.items
        repeat: Any = self.repeat
        if isinstance(items, str | bytes):
            kind = type(items).__name__
            yield f"Lines: wanted a list or an iterator, got one {kind}: split it into lines, with .splitlines()"
        elif not isinstance(items, Iterable):
            yield f"Lines: wanted a list or an iterator, got {items!r}"
        elif isinstance(items, Sequence):
            yield from _wrong_items(items, fields)
        else:
            if tasks != 1:
                yield f"Lines: wanted tasks=1, because only a list can be shared out, got an iterator and tasks={tasks}"
            if repeat != 1:
                yield f"Lines: wanted repeat=1, because only a list can be repeated, got repeat={repeat!r}"
        if repeat is not None and not (isinstance(repeat, int) and repeat >= 0):
            yield f"Lines: repeat: wanted a number of times or None, got {repeat!r}"

    def open(self, context: TaskContext) -> None:
        """Finds its share."""
        # Made into tuples once, so that emitting some of them is taking a slice.
        self._share: list[tuple[Any, ...]] | None = None
        if isinstance(self.items, Sequence):
            self._share = [_as_tuple(item) for item in self.items[context.index :: context.count]]
        self.seek(0)

    def next(self) -> Outputs:
        """The next few items."""
        if self._share is None:
            batch = [_as_tuple(item) for item in islice(self._rest, _AT_ONCE)]
        else:
            rounds, start = divmod(self._position, len(self._share) or 1)
            batch = self._share[start : start + _AT_ONCE] if self.repeat is None or rounds < self.repeat else []
        if not batch:
            raise StopIteration
        self._position += len(batch)
        return batch

    def position(self) -> int:
        """How many items this task has emitted."""
        return self._position

    def seek(self, position: int) -> None:
        """Goes on behind so many items."""
        self._position = position
        if self._share is None:
            self._rest = islice(self.items, position, None)

    def __repr__(self) -> str:
        return f"Lines({len(self.items)} items)" if isinstance(self.items, Sequence) else "Lines(iterator)"


def _as_tuple(item: Any) -> tuple[Any, ...]:
    return item if isinstance(item, tuple) else (item,)


def _wrong_items(items: Sequence[Any], fields: tuple[str, ...]) -> Iterator[str]:
    for position, item in enumerate(items):
        if len(_as_tuple(item)) != len(fields):
            yield f"Lines: item {position}: wanted {len(fields)} values, for the fields {fields}, got {item!r}"
            return  # one is enough to see it
