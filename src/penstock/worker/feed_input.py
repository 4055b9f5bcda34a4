"""What is pushed to one task of a spout that Spark feeds: a ring of its own, and a link from other nodes.

Not the worker's ring: that one is read also when this task must not emit. Here nothing is read then, the ring fills up,
and whoever pushes waits.

A record is a frame of kind BATCH (see penstock.transport.frames), whose number is that of the grant that it came by.
"""

from __future__ import annotations

import contextlib
import time
from collections import Counter
from collections.abc import Mapping
from typing import TYPE_CHECKING

from penstock.topology.pushed_spout import PushedSpout
from penstock.transport.links import LinkKeys, LinkReceiver
from penstock.transport.ring import RingReader, RingSettings
from penstock.worker.batches import batch_from_payload
from penstock.worker.spout_task import SpoutTask

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["FeedInput"]

RING_BYTES = 4 << 20
MISSED_AFTER_NS = 10_000_000_000
"""Whoever has pushed says so when it has done. What has not come so long after that, and nothing else did, is lost."""


class FeedInput:
    """The rows for one task, and how many of them have come.

    Args:
        running: the task.
        host: the address that other nodes reach this worker at.
        keys: the run's own.
        high_water_frames: how many frames ZeroMQ keeps until it says that it is full.
    """

    def __init__(self, running: SpoutTask, *, host: str, keys: LinkKeys, high_water_frames: int) -> None:
        assert isinstance(running.logic, PushedSpout)
        self._running = running
        self._resources = contextlib.ExitStack()
        with self._resources:
            self._ring = self._resources.enter_context(RingReader.create(RingSettings(capacity_bytes=RING_BYTES)))
            self._link = self._resources.enter_context(
                LinkReceiver(host=host, ring_address=self._ring.address, keys=keys, high_water_frames=high_water_frames)
            )
            self._resources = self._resources.pop_all()
        self._rows: Counter[int] = Counter()
        """By grant, since the last batch was complete."""
        self._closing: tuple[int, Mapping[int, int]] | None = None
        self._moved_at_ns = 0
        self._found_empty_at_ns = 0
        self._over = False
        self._told_lost_frames = 0
        self._told_error = False
        running.logic.source = self

    @property
    def task(self) -> int:
        """The number of the task."""
        return self._running.task

    @property
    def component(self) -> str:
        """The spout that it is a task of."""
        return self._running.component

    @property
    def ring_address(self) -> str:
        """What processes of the same node push to."""
        return self._ring.address

    @property
    def link_endpoint(self) -> str:
        """What processes of other nodes push to."""
        return self._link.endpoint

    def take(self) -> pa.RecordBatch | None:
        """See penstock.topology.pushed_spout.FeedSource."""
        record = self._ring.read(0)
        if record is None:
            if self._over:
                raise StopIteration
            self._found_empty_at_ns = time.monotonic_ns()
            return None
        opened = batch_from_payload(record.payload)
        self._rows[opened.frame] += opened.batch.num_rows
        self._moved_at_ns = time.monotonic_ns()
        return opened.batch

    def close_batch(self, closing: int, rows: Mapping[int, int]) -> None:
        """A micro-batch is complete: so many rows have come, or will, by each of these grants."""
        self._closing = closing, rows
        self._moved_at_ns = time.monotonic_ns()

    def end(self) -> None:
        """Nothing more will be pushed."""
        self._over = True

    def complete_batch(self) -> int | None:
        """The closing whose rows have all come, and are done with as far as is known; None if they have not."""
        if self._closing is None:
            return None
        closing, wanted = self._closing
        if self._running.pending or any(self._rows[grant] < rows for grant, rows in wanted.items()):
            return None
        self._closing = None
        # Not of those that are greater: if this one was given up, somebody may be pushing again already.
        newest = max(wanted, default=0)
        self._rows = Counter({grant: rows for grant, rows in self._rows.items() if grant > newest})
        return closing

    def trouble(self) -> str | None:
        """Why some of what was pushed will not come; None if all is well. Told once."""
        if self._link.error is not None and not self._told_error:
            self._told_error = True
            return self._link.error
        lost = self._link.lost_frames - self._told_lost_frames
        if lost:
            self._told_lost_frames += lost
            return f"the link from other nodes broke, and {lost} frames were lost"
        if self._closing is None or self._running.pending:
            return None
        _, wanted = self._closing
        if self._found_empty_at_ns - self._moved_at_ns < MISSED_AFTER_NS:  # by who was let look, and found nothing
            return None
        self._closing = None
        return f"wanted {sum(wanted.values())} rows of a micro-batch, got {sum(self._rows[one] for one in wanted)}"

    def close(self) -> None:
        """Whoever pushes gets an error."""
        self._resources.close()
