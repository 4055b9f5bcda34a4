"""Readings of a task's queue: what its gauge is told (see flow/watermarks)."""

from __future__ import annotations

from penstock.flow.watermarks import Gauge, Marks
from penstock.worker.bolt_task import BoltTask

__all__ = ["Reading"]

MOST_BETWEEN_READINGS_NS = 1_000_000_000
"""Who was read longer ago was not read because there was no need."""


class Reading:
    """A task's gauge, and how far it was when it was last read.

    The time in which a task could not work counts, too: what waits for it waits as long. Else a quick task before a
    slow one would pile up thousands of tuples, which take minutes to get through and are as large as they are.
    """

    __slots__ = ("busy_ns", "gauge", "high_ns", "processed", "read_at_ns", "stalled_ns")

    def __init__(self, marks: Marks) -> None:
        self.gauge = Gauge(marks)
        self.high_ns = marks.high_ns
        self.processed = self.busy_ns = self.stalled_ns = 0
        self.read_at_ns = 1 << 62

    def is_high(self, bolt: BoltTask) -> bool:
        """Whether too much waits for it."""
        now_ns = bolt.clock.now_ns()
        tuples = bolt.processed - self.processed
        # Who had next to nothing waiting was not read meanwhile, and did not have to wait.
        if not tuples and self.read_at_ns <= bolt.blocked_at_ns and now_ns - self.read_at_ns < MOST_BETWEEN_READINGS_NS:
            self.stalled_ns += now_ns - self.read_at_ns
        self.read_at_ns = now_ns
        if tuples or self.stalled_ns > self.high_ns:
            self.gauge.worked(max(1, tuples), bolt.busy_ns - self.busy_ns + self.stalled_ns)
            self.processed, self.busy_ns, self.stalled_ns = bolt.processed, bolt.busy_ns, 0
        return self.gauge.read(bolt.queue.ready_tuples)
