"""Runs a sink that makes Arrow of what arrives: a call per arrival, and none per tuple."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from penstock.topology.arrow_sink import ArrowSink
from penstock.worker.arrival import Arrival
from penstock.worker.failures import USER_ERRORS

if TYPE_CHECKING:
    from penstock.worker.tasks import RunningTask

__all__ = ["ArrowSinkRunner"]


class ArrowSinkRunner:
    """Hands arrivals over as they are. See Runner."""

    merges = False

    def __init__(self, task: RunningTask, sink: ArrowSink) -> None:
        self._task = task
        self._sink = sink

    def _run(self, arrival: Arrival) -> None:
        try:
            if arrival.batch is None:
                self._sink.take_tuples(arrival.tuples)
            else:
                self._sink.take_batch(arrival.batch)
        except USER_ERRORS as error:  # which say themselves on what
            self._task.fail(error, None)

    def run_all(self, arrivals: Sequence[Arrival]) -> Iterable[None]:
        """See Runner. It emits nothing, so there is one step."""
        for arrival in arrivals:
            self._run(arrival)
        return ()
