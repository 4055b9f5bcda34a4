"""How a batch bolt works through arrivals where what it emits has to belong to the very tree of what it was given.

So it is on the way from a broadcast to a gather: answers of several tasks belong together if they are of one tree. The
bolt is given the rows of each tree by themselves. As a tree of a spout that has no failures holds 64 tuples, most
batches are still batches.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import msgspec

from penstock.worker.arrival import Arrival
from penstock.worker.runners import BatchRunner, InputEdge
from penstock.worker.tracking import Tracking

if TYPE_CHECKING:
    from penstock.worker.tasks import RunningTask

__all__ = ["TreeByTreeRunner"]


class TreeByTreeRunner(BatchRunner):
    """Calls `process_batch` for what has piled up of each tree."""

    def __init__(self, task: RunningTask, inputs: dict[int, InputEdge], tracking: Tracking) -> None:
        super().__init__(task, inputs)
        self._tracking = tracking

    def run_all(self, arrivals: Sequence[Arrival]) -> Iterator[None]:
        """See Runner."""
        pieces_of: dict[int, list[Arrival]] = defaultdict(list)
        for arrival in arrivals:
            for root, piece in _pieces(arrival):
                pieces_of[root].append(piece)
        for root, pieces in pieces_of.items():
            self._tracking.work_on(root)
            yield from super().run_all(pieces)
        self._tracking.leave()
        for arrival in arrivals:
            self._tracking.book.processed(arrival.runs, arrival.frame)


def _pieces(arrival: Arrival) -> Iterator[tuple[int, Arrival]]:
    """What an arrival holds of each tree. A record batch belongs to one."""
    if arrival.batch is not None:
        ((root, _),) = arrival.runs
        yield root, arrival
        return
    start = 0
    for root, count in arrival.runs:
        yield root, msgspec.structs.replace(arrival, tuples=arrival.tuples[start : start + count])
        start += count
