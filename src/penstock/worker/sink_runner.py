"""Sinks that make good on what they were given only later, where trees are tracked.

A tuple in a sink's memory is lost with its worker. So it counts as processed only when the sink has put it where it
lasts: a transactional sink when it has committed, which it is made to at every marker; a sink whose rows the driver
fetches when the driver has them. A marker has passed such a sink only then, too.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from typing import Any

import msgspec

from penstock.errors import RunError
from penstock.flow.ledger import UNTRACKED
from penstock.flow.runs import Runs
from penstock.topology.transactional import TransactionalSink
from penstock.worker.arrival import Arrival
from penstock.worker.failures import USER_ERRORS, reason_of
from penstock.worker.tracked_runners import TrackedRecordRunner

__all__ = ["TrackedSinkRunner"]


class TrackedSinkRunner(TrackedRecordRunner):
    """Calls `process` for each tuple, and counts them as processed when they last."""

    def __init__(self, *common: Any) -> None:
        super().__init__(*common)
        self.arrivals = 0
        """How many arrivals were worked through so far."""
        self._lasting = 0
        self._open: deque[tuple[int, Runs, int]] = deque()
        self._markers: deque[tuple[int, int]] = deque()

    @property
    def unsettled(self) -> int:
        """How many arrivals do not last yet."""
        return len(self._open)

    def _run_one_of_many(self, arrival: Arrival) -> Iterator[None]:
        # Its tree is there for it to fail, and says nothing of whether it lasts: for that its frame counts.
        yield from super()._run_one_of_many(msgspec.structs.replace(arrival, frame=UNTRACKED))
        self._count_processed(arrival.runs, arrival.frame)

    def _count_processed(self, runs: Runs, frame: int) -> None:
        self.arrivals += 1
        self._open.append((self.arrivals, runs, frame))

    def marker(self, epoch: int) -> None:
        """A marker has come behind all arrivals so far."""
        self._markers.append((self.arrivals, epoch))
        if isinstance(self._task.logic, TransactionalSink):
            self.commit()
        self.made_good(self._lasting)

    def commit(self) -> None:
        """Has a transactional sink commit what it was given."""
        sink = self._task.logic
        assert isinstance(sink, TransactionalSink)
        try:
            token = sink.prepare()
            if token is not None:
                sink.commit(token)
        except USER_ERRORS as error:
            message = f"sink {self._task.component!r} (task {self._task.task}) could not commit: {reason_of(error)}"
            raise RunError(message) from error
        self.made_good(self.arrivals)

    def made_good(self, arrivals: int) -> None:
        """So many arrivals last by now."""
        self._lasting = max(arrivals, self._lasting)
        while self._open and self._open[0][0] <= self._lasting:
            _, runs, frame = self._open.popleft()
            self._tracking.book.processed(runs, frame)
        while self._markers and self._markers[0][0] <= self._lasting:
            self._task.passed_epoch = self._markers.popleft()[1]
