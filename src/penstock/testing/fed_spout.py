"""A source that emits what the test feeds it.

>>> spout = FedSpout(fields=("word",))
>>> spout.feed(("blue",), ("red",))
>>> spout.next(), spout.next(), spout.next()
(('blue',), ('red',), None)
>>> spout.end()
>>> spout.next()
Traceback (most recent call last):
StopIteration
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from typing import Any

from penstock.topology.emit import Output
from penstock.topology.spouts import Spout

__all__ = ["FedSpout"]


class _Feed:
    """What the test and all tasks of the spout share."""

    def __init__(self) -> None:
        self.outputs: deque[Output] = deque()
        self.ended = False


class FedSpout(Spout):
    """Emits what it is fed, one by one, in the order in which its tasks ask.

    Args:
        outputs: the whole feed; the spout ends behind it. Left out, the test feeds by `feed` and ends by `end`.
        fields: the names of the values.
    """

    def __init__(self, outputs: Iterable[Output] | None = None, *, fields: tuple[str, ...]) -> None:
        self.fields = fields
        self._feed = _Feed()
        if outputs is not None:
            self.feed(*outputs)
            self.end()

    def feed(self, *outputs: Output) -> None:
        """Adds tuples, or Emits, to what is waiting to be emitted."""
        if self._feed.ended:
            message = f"this FedSpout has ended, and cannot be fed {outputs!r}"
            raise ValueError(message)
        self._feed.outputs.extend(outputs)

    def end(self) -> None:
        """Nothing more comes: every task ends as soon as all is emitted."""
        self._feed.ended = True

    @property
    def waiting(self) -> int:
        """How much was fed and has not been emitted yet."""
        return len(self._feed.outputs)

    @property
    def is_idle(self) -> bool:
        """Whether it does nothing until it is fed, or ended."""
        return not self._feed.outputs and not self._feed.ended

    def next(self) -> Output | None:
        """The next of what was fed."""
        if self._feed.outputs:
            return self._feed.outputs.popleft()
        if self._feed.ended:
            raise StopIteration
        return None

    def __deepcopy__(self, memo: dict[int, Any]) -> FedSpout:
        # Each task of a real run has a copy to itself; here the copies have to hear the test.
        copied = type(self)(fields=self.fields)
        copied._feed = self._feed
        return copied
