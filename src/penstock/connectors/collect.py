"""Keeping what arrives, to be fetched when the run has ended.

>>> from penstock.topology.tuples import tuple_class
>>> sink = Collect()
>>> sink.process(tuple_class("count", "default", ("word", "count"))("blue", 3))
>>> sink.drain_collected(), sink.drain_collected()
([('blue', 3)], [])
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from penstock.errors import RunError
from penstock.topology.collecting import CollectingBolt
from penstock.topology.context import TaskContext
from penstock.topology.tuples import Tuple

__all__ = ["Collect"]


class Collect(CollectingBolt):
    """A sink that keeps the tuples that it is given, for ``summary.collected(name)``.

    Args:
        limit_rows: how many each task may keep; more than that is an error, because a driver has to hold them all.
    """

    def __init__(self, *, limit_rows: int = 1_000_000) -> None:
        super().__init__()
        self.limit_rows = limit_rows
        self._name = "collect"
        self._left = limit_rows

    def problems(self, tasks: int, fields: tuple[str, ...]) -> Iterator[str]:  # noqa: ARG002
        """Whether the limit is one."""
        limit: Any = self.limit_rows
        if not isinstance(limit, int) or limit < 1:
            yield f"Collect: limit_rows: wanted a whole number above 0, got {limit!r}"

    def open(self, context: TaskContext) -> None:
        """Learns its name, for errors."""
        self._name = context.component

    def process(self, tup: Tuple) -> None:
        """Keeps it."""
        if self._left <= 0:  # less than none is left to one of fewer tasks than there were
            message = (
                f"sink {self._name!r} holds limit_rows={self.limit_rows} rows and got one more; raise the limit, "
                "or write so much to a place that is made for it"
            )
            raise RunError(message)
        self._left -= 1
        self.rows.append(tuple(tup))

    def take_back(self, rows: Sequence[tuple[Any, ...]]) -> None:
        """See CollectingBolt."""
        super().take_back(rows)
        self._left -= len(rows)

    def __repr__(self) -> str:
        return "Collect()"
