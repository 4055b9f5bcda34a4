"""The way in: what Spark hands to a task, as spouts of that task's worker ask for it."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING

from penstock.spark.frame_partitions import without_placeholders
from penstock.spark.frame_union import batches_by_frame
from penstock.topology.spouts import Spout

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["FrameInput", "FrameSpout"]

MOST_WAITING_BATCHES = 8
"""What may wait for one spout while another is looked for in the same partition."""


class FrameInput:
    """The record batches of one Spark task, by the spout that they are for.

    Reading waits for Spark, which has the whole partition already or is just fetching it. The rows of several frames
    come in one stream: what is read for one spout may have to wait for another's turn, and only so much of it may.
    """

    def __init__(self, batches: Iterable[pa.RecordBatch], spouts: Sequence[str]) -> None:
        self._batches = iter(batches)
        self._spouts = spouts
        self._waiting: dict[str, deque[pa.RecordBatch]] = {name: deque() for name in spouts}
        self._ended = False

    def next_for(self, spout: str) -> pa.RecordBatch | None:
        """The next batch of a spout, None if another has to take its own first; StopIteration behind the last."""
        own = self._waiting[spout]
        while not own and not self._ended:
            if max(map(len, self._waiting.values())) >= MOST_WAITING_BATCHES:
                return None
            self._read()
        if own:
            return own.popleft()
        raise StopIteration

    def read_ahead(self, most_bytes: int, enough: Callable[[], bool]) -> None:
        """Reads some already, so that Spark has something to do while there is something else to wait for."""
        read_bytes = 0
        while read_bytes < most_bytes and not self._ended and not enough():
            read_bytes += self._read()

    def _read(self) -> int:
        batch = next(self._batches, None)
        if batch is None:
            self._ended = True
            return 0
        for name, part in batches_by_frame(without_placeholders(batch), self._spouts):
            self._waiting[name].append(part)
        return int(batch.nbytes)


class FrameSpout(Spout):
    """Stands for a DataFrame in the topology that is shipped; each worker gives it its own part of the rows."""

    input: FrameInput
    """Given by the worker, before it begins."""

    def __init__(self, name: str) -> None:
        self._name = name

    def next(self) -> pa.RecordBatch | None:
        """The next record batch, untouched."""
        return self.input.next_for(self._name)
