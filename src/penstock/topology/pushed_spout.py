"""Spouts whose tuples are pushed to them, from outside of the run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from penstock.errors import RunError
from penstock.topology.spouts import Spout

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["FeedSource", "PushedSpout"]


class FeedSource(Protocol):
    """Where a fed spout finds what was pushed to it."""

    def take(self) -> pa.RecordBatch | None:
        """The next record batch; None if there is none just now. StopIteration if there never will be."""


class PushedSpout(Spout):
    """A spout that gives what it is fed, and nothing else.

    It has no positions of its own: what it was fed is taken charge of batch by batch, see penstock.control.feed, and
    between two epochs that are committed lie whole batches. So whatever it is to emit again, it is fed again.
    """

    source: FeedSource | None = None
    """Given by the worker, before it begins."""

    def next(self) -> pa.RecordBatch | None:
        """What was pushed, untouched."""
        if self.source is None:
            message = f"{type(self).__name__} is fed by Spark: wanted ps.run or ps.start, got a run without Spark"
            raise RunError(message)
        return self.source.take()

    def position(self) -> Any:
        """None: see above."""

    def seek(self, position: Any) -> None:
        """Nothing to do: see above."""
