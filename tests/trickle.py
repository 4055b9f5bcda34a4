"""A spout for tests on virtual time."""

from collections.abc import Sequence
from typing import Any

from penstock.topology.context import TaskContext
from penstock.topology.spouts import Spout


class Trickle(Spout):
    """One item at a time, shared out over its tasks, so that faults and epochs come between any two of them."""

    def __init__(self, items: Sequence[Any], *, field: str) -> None:
        self.items = items
        self.fields = (field,)

    def open(self, context: TaskContext) -> None:
        self.share = self.items[context.index :: context.count]
        self.given = 0

    def next(self) -> tuple[Any]:
        if self.given == len(self.share):
            raise StopIteration
        self.given += 1
        return (self.share[self.given - 1],)

    def position(self) -> int:
        return self.given

    def seek(self, position: int) -> None:
        self.given = position
