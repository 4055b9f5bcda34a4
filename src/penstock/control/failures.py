"""Exceptions in user code, counted by kind."""

from __future__ import annotations

from penstock.control.metrics import FailureMetrics
from penstock.control.protocol import TaskFailure

__all__ = ["FailureLog"]

# A kind holds a traceback, and its name comes from user code: without a bound the driver could fill up.
_MOST_KINDS = 200
_THE_REST = "further kinds"


class FailureLog:
    """One entry for each kind of failure of each component: the first of it, and how many there were."""

    def __init__(self) -> None:
        self._kinds: dict[tuple[str, str], FailureMetrics] = {}

    def add(self, failure: TaskFailure) -> None:
        """Counts what a worker tells."""
        key = (failure.component, failure.kind)
        if key not in self._kinds and len(self._kinds) >= _MOST_KINDS:
            key = (failure.component, _THE_REST)
        known = self._kinds.get(key)
        self._kinds[key] = FailureMetrics(
            component=failure.component,
            kind=key[1],
            count=failure.count + (known.count if known else 0),
            message=known.message if known else failure.message,
            traceback=known.traceback if known else failure.traceback,
            task=known.task if known else failure.task,
        )

    def all(self) -> tuple[FailureMetrics, ...]:
        """All kinds, the most frequent first."""
        return tuple(sorted(self._kinds.values(), key=lambda kind: -kind.count))
