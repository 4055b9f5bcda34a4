"""A streaming DataFrame as a spout."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Literal, get_args

from penstock.connectors.folder import absolute, without_secrets
from penstock.connectors.from_frame import why_no_dataframe
from penstock.topology.pushed_spout import PushedSpout

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

__all__ = ["StreamingFrame"]


OutputMode = Literal["append", "complete"]


class StreamingFrame(PushedSpout):
    """Feeds the rows of a streaming DataFrame to a topology: whatever Structured Streaming can read.

    And whatever it can compute in output mode append or complete.

    ``ps.start`` starts a query that pushes each micro-batch from Spark's executors straight into the tasks of this
    spout, in memory where both are on one node. Columns are fields. Spark takes a micro-batch for done when the
    topology has taken charge of it: at most once when it has all rows, at least once when it has processed them,
    exactly once when they are in an epoch of the checkpoint. A micro-batch that comes again is dropped. When the
    topology is slow, the query waits.

    Args:
        frame: a streaming DataFrame, as ``spark.readStream`` gives.
        checkpoint: where Spark remembers how far the query has come: a path or URL for its ``checkpointLocation``. It
            belongs to this spout of this topology alone.
        available_now: end when all that is there at the start has been read, and not wait for more.
        every_s: how long from the beginning of one micro-batch to the next; None: as soon as the last one is done.
        output_mode: ``append``: a micro-batch is the rows that are new. ``complete``: it is all rows of an aggregation
            as they are now, each time. Spark has no ``update`` for sinks in Python.
    """

    def __init__(
        self,
        frame: DataFrame,
        *,
        checkpoint: str | os.PathLike[str],
        available_now: bool = False,
        every_s: float | None = None,
        output_mode: OutputMode = "append",
    ) -> None:
        self.frame = frame
        self.fields = tuple(getattr(frame, "columns", ()))
        self.checkpoint = absolute(checkpoint)
        self.available_now = available_now
        self.every_s = every_s
        self.output_mode = output_mode

    def problems(self, tasks: int, fields: tuple[str, ...]) -> Iterator[str]:  # noqa: ARG002
        """Whether it is a stream, and when its micro-batches begin."""
        complaint = why_no_dataframe(self.frame)
        if complaint is not None:
            yield f"StreamingFrame: wanted a streaming DataFrame, as spark.readStream gives, {complaint}"
        elif not self.frame.isStreaming:
            yield (
                "StreamingFrame: wanted a streaming DataFrame, as spark.readStream gives, got a table; ps.transform "
                "takes tables"
            )
        if fields != self.fields:
            yield f"StreamingFrame: wanted the columns as fields ({', '.join(self.fields)}), got {', '.join(fields)}"
        if self.every_s is not None and (isinstance(self.every_s, bool) or not self.every_s > 0):
            yield f"StreamingFrame: every_s: wanted a number above 0, got {self.every_s!r}"
        if self.output_mode not in get_args(OutputMode):
            yield (
                f"StreamingFrame: output_mode: wanted 'append' or 'complete', got {self.output_mode!r}: its query "
                f"writes to a sink in Python, and Spark has no other modes for those"
            )
        if self.every_s is not None and self.available_now:
            yield f"StreamingFrame: wanted available_now or every_s, got both (every_s={self.every_s!r})"

    def __getstate__(self) -> dict[str, Any]:
        """What travels to the workers. A DataFrame cannot, and they have no use for it."""
        return {name: value for name, value in self.__dict__.items() if name not in ("frame", "source")}

    def __repr__(self) -> str:
        return f"StreamingFrame({', '.join(self.fields)}, checkpoint={without_secrets(self.checkpoint)!r})"
