"""A sink that keeps what it is given, for the test to look at.

>>> from penstock.testing.bolt_tester import make_tuple
>>> sink = CapturedSink()
>>> sink.process(make_tuple(word="blue", count=3))
>>> sink.tuples
[Tuple('test', word='blue', count=3)]
>>> sink.values
[('blue', 3)]
"""

from __future__ import annotations

from typing import Any

from penstock.topology.bolts import Bolt
from penstock.topology.tuples import Tuple

__all__ = ["CapturedSink"]


class CapturedSink(Bolt):
    """Keeps every tuple, of all its tasks together, in the order of arrival."""

    def __init__(self) -> None:
        self.tuples: list[Tuple] = []
        """What came, with source, stream and fields."""

    @property
    def values(self) -> list[tuple[Any, ...]]:
        """What came, as plain tuples."""
        return [tuple(tup) for tup in self.tuples]

    def process(self, tup: Tuple) -> None:
        """Keeps it."""
        self.tuples.append(tup)

    def clear(self) -> None:
        """Forgets what came."""
        self.tuples.clear()

    def __deepcopy__(self, memo: dict[int, Any]) -> CapturedSink:
        # Each task of a real run has a copy to itself; here the copies have to tell the test.
        copied = type(self)()
        copied.tuples = self.tuples
        return copied
