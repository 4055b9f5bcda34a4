"""What was measured of a run in one period, or is estimated of it now."""

from __future__ import annotations

import msgspec

from penstock.plan.load import Load, Traffic

__all__ = ["LoadSample", "PairRate", "TaskShare"]


class TaskShare(msgspec.Struct, frozen=True):
    """Which part of one core a task takes."""

    cpu: float
    """By the CPU time of its worker's process."""
    busy: float
    """By the clock: what it waited for within a call counts too."""


class PairRate(msgspec.Struct, frozen=True):
    """What one task sends to another over one edge in a second."""

    tuples: float
    bytes: float


class LoadSample(msgspec.Struct, frozen=True, kw_only=True):
    """Tasks by id, pairs by (edge id, source task id, target task id), workers by number."""

    tasks: dict[int, TaskShare] = msgspec.field(default_factory=dict)
    pairs: dict[tuple[int, int, int], PairRate] = msgspec.field(default_factory=dict)
    workers: dict[int, float] = msgspec.field(default_factory=dict)
    """Which part of one core the process of a worker takes, all its threads together."""

    def load(self) -> Load:
        """As schedulers take it."""
        return Load(busy_share={task: share.cpu for task, share in self.tasks.items()})

    def traffic(self) -> Traffic:
        """As schedulers take it: the edges between two tasks together."""
        tuples: dict[tuple[int, int], float] = {}
        size: dict[tuple[int, int], float] = {}
        for (_, source, target), rate in self.pairs.items():
            tuples[source, target] = tuples.get((source, target), 0.0) + rate.tuples
            size[source, target] = size.get((source, target), 0.0) + rate.bytes
        return Traffic(tuples_per_s=tuples, bytes_per_s=size)
