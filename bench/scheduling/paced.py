"""What all spouts of this benchmark have in common: a pace, and a place to go on from."""

import time
from typing import Any

import penstock as ps
from bench.scheduling.tap import Pace


class PacedSpout(ps.Spout):
    """Emits `tuple_at(0)`, `tuple_at(1)` … as fast as the tap says; `limit` of them, if it is to end."""

    def __init__(self, tap_file: str, limit: int | None = None) -> None:
        self.tap_file = tap_file
        self.limit = limit

    def open(self, context: ps.TaskContext) -> None:
        self.index = context.index
        self.pace = Pace(self.tap_file)
        self.emitted = 0

    def tuple_at(self, number: int) -> tuple[Any, ...]:
        """The tuple of that number; the same each time."""
        raise NotImplementedError

    def next(self) -> list[tuple[Any, ...]] | None:
        if self.emitted == self.limit:
            raise StopIteration
        first = self.emitted
        self.emitted += self.pace.due(time.monotonic_ns())
        if self.limit is not None:
            self.emitted = min(self.emitted, self.limit)
        return [self.tuple_at(number) for number in range(first, self.emitted)] or None

    def position(self) -> int:
        return self.emitted

    def seek(self, position: int) -> None:
        self.emitted = position
