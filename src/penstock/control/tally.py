"""Counts of tasks and of pairs of tasks that can be added, subtracted and scaled: totals and rates are both tallies."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping
from typing import NamedTuple, Self, TypeVar

from penstock.control.protocol import Report

__all__ = ["PairTally", "StopTally", "Tally", "TaskTally"]


class TaskTally(NamedTuple):
    """What one task did."""

    processed: float = 0
    emitted: float = 0
    failed: float = 0
    busy_ns: float = 0
    asked_ns: float = 0
    stopping_ns: float = 0
    episodes: float = 0
    redirected: float = 0

    def plus(self, other: TaskTally) -> TaskTally:
        """What both did."""
        return TaskTally(*(mine + theirs for mine, theirs in zip(self, other, strict=True)))


class PairTally(NamedTuple):
    """What one task sent to another over one edge."""

    tuples: float = 0
    bytes: float = 0


class StopTally(NamedTuple):
    """How long one task was stopped by another."""

    time_ns: float = 0


_Row = TypeVar("_Row", TaskTally, PairTally, StopTally)
_Key = TypeVar("_Key")


class Tally:
    """Rows by task id, by (edge id, source task id, target task id), and of helpers by (edge id, task id).

    A row that is missing is zeros. Immutable.
    """

    def __init__(
        self,
        tasks: Mapping[int, TaskTally] | None = None,
        pairs: Mapping[tuple[int, int, int], PairTally] | None = None,
        lost: float = 0,
        helps: Mapping[tuple[int, int], TaskTally] | None = None,
        stops: Mapping[tuple[int, int], StopTally] | None = None,
    ) -> None:
        self.tasks = tasks or {}
        self.helps = helps or {}
        self.pairs = pairs or {}
        self.lost = lost
        self.stops = stops or {}
        """By the task that was stopped, and the one that it was stopped by."""

    @classmethod
    def of(cls, report: Report) -> Self:
        """What a report says."""
        return cls(
            tasks={
                counts.task: TaskTally(
                    counts.processed,
                    counts.emitted,
                    counts.failed,
                    counts.busy_ns,
                    counts.asked_ns,
                    counts.stopping_ns,
                    counts.episodes,
                    counts.redirected,
                )
                for counts in report.tasks
            },
            pairs={
                (counts.edge, counts.source, counts.target): PairTally(counts.tuples, counts.bytes)
                for counts in report.pairs
            },
            lost=report.lost,
            helps={
                (counts.edge, counts.task): TaskTally(counts.processed, counts.emitted, counts.failed, counts.busy_ns)
                for counts in report.helps
            },
            stops={
                (counts.task, target): StopTally(time_ns)
                for counts in report.tasks
                for target, time_ns in counts.stopped_by.items()
            },
        )

    def plus(self, other: Tally, times: float = 1) -> Tally:
        """This, and so many times the other."""
        return Tally(
            tasks=_plus(self.tasks, other.tasks, times, TaskTally()),
            pairs=_plus(self.pairs, other.pairs, times, PairTally()),
            lost=self.lost + times * other.lost,
            helps=_plus(self.helps, other.helps, times, TaskTally()),
            stops=_plus(self.stops, other.stops, times, StopTally()),
        )

    def without(self, other: Tally) -> Tally:
        """The rows that the other does not have."""
        return Tally(
            tasks={key: row for key, row in self.tasks.items() if key not in other.tasks},
            pairs={key: row for key, row in self.pairs.items() if key not in other.pairs},
            helps={key: row for key, row in self.helps.items() if key not in other.helps},
            stops={key: row for key, row in self.stops.items() if key[0] not in other.tasks},
        )

    def task(self, task: int) -> TaskTally:
        """The row of a task."""
        return self.tasks.get(task, TaskTally())

    def by_edge(self) -> defaultdict[int, PairTally]:
        """The sums of each edge's rows."""
        sums: defaultdict[int, PairTally] = defaultdict(PairTally)
        for (edge, _, _), row in self.pairs.items():
            known = sums[edge]
            sums[edge] = PairTally(known.tuples + row.tuples, known.bytes + row.bytes)
        return sums

    def help_on(self, edges: Collection[int]) -> TaskTally:
        """What helpers on these edges did."""
        total = TaskTally()
        for (edge, _), row in self.helps.items():
            if edge in edges:
                total = total.plus(row)
        return total

    def unaccounted(self) -> int:
        """How many tuples were sent to tasks that have not processed them."""
        sent: dict[int, float] = {}
        for (_, _, target), row in self.pairs.items():
            sent[target] = sent.get(target, 0) + row.tuples
        return int(sum(max(0, tuples - self.task(target).processed) for target, tuples in sent.items()))


def _plus(left: Mapping[_Key, _Row], right: Mapping[_Key, _Row], times: float, zero: _Row) -> dict[_Key, _Row]:
    total = dict(left)
    for key, row in right.items():
        known = total.get(key, zero)
        total[key] = type(zero)(*(mine + times * theirs for mine, theirs in zip(known, row, strict=True)))
    return total
