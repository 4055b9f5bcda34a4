"""One spout that Spark feeds: which micro-batch is under way, and who is in charge of it. Pure.

    IDLE ──a task of Spark's has rows──► OPEN ──all is pushed──► CLOSING ──all tasks have all of it──► IN
      ▲                                   │                        │                                    │
      ├──────── given up: Spark starts the query again ────────────┴────────────────────────────────────┤
      └──────── taken: at once, or exactly once, when an epoch that was begun in IN is committed ────────┘

A micro-batch counts whole or not at all, because Spark promises the same rows for the same number, and nothing about
their order or partitions. So exactly once no epoch is begun while one is OPEN or CLOSING, and when everything is set
back it is given up, and pushed again whole. That a number was taken is in the checkpoint, with the epoch.

Given up is a start of the query: whoever comes of it later is sent away, and the query's next start brings the batch
again. At most once nothing is given up: what was lost is lost, and what comes again is not wanted.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Collection
from enum import Enum
from typing import Literal, NamedTuple

import msgspec

from penstock.checkpoint.manifest import FeedMark
from penstock.flow.delivery import Delivery

__all__ = ["Feed", "FeedState", "Verdict"]

_MOST_GIVEN_UP = 16
"""How many starts of the query are remembered as given up. Those before have no processes left."""


class FeedState(Enum):
    """How far the micro-batch is."""

    IDLE = "idle"
    OPEN = "open"
    CLOSING = "closing"
    IN = "in"


class Verdict(msgspec.Struct, frozen=True):
    """What comes of a question."""

    answer: Literal["go", "wait", "taken", "no", "never"]
    """`no`: this start of the query is over, and its next one may be welcome. `never`: no start of it will be."""
    reason: str = ""
    """Why not."""


_GO, _WAIT, _TAKEN = Verdict("go"), Verdict("wait"), Verdict("taken")


class _Granted(NamedTuple):
    """What comes by a grant."""

    partition: int
    task: int | None
    """None: it is gone."""


class Feed:
    """What is decided about the micro-batches of one spout.

    Args:
        component: the spout.
        tasks: the numbers of its tasks.
        delivery: what the run promises.
        mark: the last micro-batch that the checkpoint knows of; None if there is none.
    """

    def __init__(self, component: str, tasks: Collection[int], delivery: Delivery, mark: FeedMark | None) -> None:
        self.component = component
        self.tasks = frozenset(tasks)
        self._delivery = delivery
        self.mark = mark
        self.state = FeedState.IDLE
        self.needs_rewind = False
        """Exactly once: rows of a micro-batch that was given up are inside. Everything has to be set back first."""
        self.is_over = False
        """Whether the query has ended, and nothing more will come."""
        self.batch = 0
        self._query = ""
        self._query_run = ""
        self.closing = 0
        """Counts how often tasks were told that all is pushed: what they say of an earlier time does not count."""
        self._grants: dict[int, _Granted] = {}
        """By number. Only while OPEN."""
        self._missing: set[int] = set()
        """The tasks that do not have everything yet. Only while CLOSING."""
        self._epoch: int | None = None
        """The epoch that it will be in. Only while IN."""
        self._given_up: deque[str] = deque(maxlen=_MOST_GIVEN_UP)
        self.untold: list[int] = []
        """Micro-batches that were given up, for somebody to tell people of."""

    @property
    def is_in_the_middle(self) -> bool:
        """Whether some of a micro-batch's rows are inside and others are not, or may not be."""
        return self.state in (FeedState.OPEN, FeedState.CLOSING) or self.needs_rewind

    # ---- questions

    def may_push(self, *, query: str, query_run: str, batch: int, partition: int, may_open: bool) -> Verdict:
        """Somebody has rows. `may_open` says whether a new micro-batch may begin just now."""
        verdict = self._known(query, query_run, batch)
        if verdict is not None:
            return verdict
        if self.state is FeedState.IDLE:
            if not may_open or self.needs_rewind:
                return _WAIT
            self._open(query, query_run, batch)
        elif query_run != self._query_run:
            return self._another_start(query, query_run, batch, may_open=may_open)
        if self.state is not FeedState.OPEN or batch != self.batch:
            return Verdict("no", f"micro-batch {self.batch} is complete, and {batch} has rows before it is taken")
        if any(granted.partition == partition for granted in self._grants.values()):
            return self._again(partition)
        return _GO

    def _known(self, query: str, query_run: str, batch: int) -> Verdict | None:
        """What can be said of a micro-batch by its number alone."""
        mark = self.mark
        if mark is not None and query and mark.query not in ("", query):
            reason = (
                f"the run's checkpoint has micro-batches of query {mark.query}, and this is query {query}: wanted the "
                f"checkpoint of the StreamingFrame that the run was begun with. To begin anew, give both anew"
            )
            return Verdict("never", reason)
        if query_run in self._given_up:
            return Verdict("no", f"micro-batch {batch} was given up; the query starts again")
        if mark is not None and batch <= mark.batch:
            return _TAKEN
        if mark is not None and batch > mark.batch + 1 and self._delivery == "exactly_once":
            reason = (
                f"wanted micro-batch {mark.batch + 1} of query {query}, got {batch}: those between were fed to another "
                f"run, or the run's checkpoint is older than the query's"
            )
            return Verdict("never", reason)
        return None

    def _another_start(self, query: str, query_run: str, batch: int, *, may_open: bool) -> Verdict:
        """The query was started again, with a micro-batch of its former start under way."""
        if self.state is not FeedState.OPEN:
            return _WAIT  # all is pushed: it will be taken, or given up
        if self._delivery == "at_most_once":
            self._taken()
            return _TAKEN if batch <= self.batch else _WAIT
        self.give_up()
        if self.needs_rewind or not may_open:
            return _WAIT
        self._open(query, query_run, batch)
        return _GO

    def _again(self, partition: int) -> Verdict:
        """A task of Spark's comes with rows of which some were pushed by one that failed."""
        if self._delivery == "at_most_once":
            return _TAKEN
        if self._delivery == "at_least_once":
            return _GO
        self.give_up()
        return Verdict("no", f"partition {partition} of micro-batch {self.batch} comes again; the query starts again")

    def has_taken(self, batch: int) -> bool:
        """Whether the run is in charge of it."""
        return self.mark is not None and batch <= self.mark.batch

    def granted(self, grant: int, *, partition: int, task: int) -> None:
        """After a `go`: rows of this partition will come to this task, by this number."""
        self._grants[grant] = _Granted(partition, task)

    def holds(self, grant: int) -> bool:
        """Whether rows by this number are still wanted."""
        return self.state is FeedState.OPEN and grant in self._grants and self._grants[grant].task is not None

    def may_close(
        self, *, query: str, query_run: str, batch: int, grants: Collection[int], may_open: bool
    ) -> tuple[Verdict, dict[int, set[int]]]:
        """All rows are pushed, by these grants. Returns the verdict, and which tasks are to be told now of which."""
        verdict = self._known(query, query_run, batch)
        if verdict is not None:
            return verdict, {}
        if self.state is FeedState.IDLE:  # it had no rows at all
            if not may_open or self.needs_rewind:
                return _WAIT, {}
            self._open(query, query_run, batch)
        if self.state is not FeedState.OPEN:
            return _WAIT, {}
        if query_run != self._query_run or batch != self.batch or not set(grants) <= self._grants.keys():
            return Verdict("no", f"micro-batch {batch} was given up; the query starts again"), {}
        told: dict[int, set[int]] = {}
        for grant in grants:
            task = self._grants[grant].task
            if task is not None:
                told.setdefault(task, set()).add(grant)
        self.state = FeedState.CLOSING
        self.closing += 1
        self._missing = {*told}
        self._look_whether_in()
        return _WAIT, told

    # ---- what happens

    def has_all(self, task: int, closing: int) -> None:
        """A task has everything that it was told of at that closing."""
        if self.state is FeedState.CLOSING and closing == self.closing:
            self._missing.discard(task)
            self._look_whether_in()

    def lost(self, tasks: Collection[int]) -> None:
        """Tasks are gone with whatever had been pushed to them, or some of that did not arrive."""
        if self._delivery == "at_most_once":
            for grant, one in self._grants.items():
                if one.task in tasks:
                    self._grants[grant] = _Granted(one.partition, None)
            self._missing -= {*tasks}
            if self.state is FeedState.CLOSING:
                self._look_whether_in()
            return
        concerned = self._missing if self.state is FeedState.CLOSING else {one.task for one in self._grants.values()}
        if concerned.intersection(tasks):
            self.give_up()

    def give_up(self) -> None:
        """The micro-batch will not be taken: it has to be pushed again whole, by another start of the query."""
        if self.state is not FeedState.IDLE:
            self.needs_rewind = self._delivery == "exactly_once"
            self._given_up.append(self._query_run)
            self.untold.append(self.batch)
            self._leave()

    def stopped(self) -> None:
        """The query is over. If not all of a micro-batch was pushed, nobody will push the rest."""
        if self.state is FeedState.OPEN and self._delivery == "at_most_once":
            self._taken()
        elif self.state is FeedState.OPEN:
            self.give_up()

    def was_set_back(self) -> None:
        """Exactly once: everything is as it was in the last epoch."""
        self.give_up()
        self.needs_rewind = False

    def epoch_begun(self, epoch: int) -> None:
        """An epoch ends with what is inside now."""
        if self.state is FeedState.IN:
            self._epoch = epoch

    def mark_at(self, epoch: int) -> FeedMark | None:
        """What the epoch has of it."""
        if self.state is FeedState.IN and self._epoch == epoch:
            return FeedMark(query=self._query, batch=self.batch)
        return self.mark

    def epoch_committed(self, epoch: int) -> None:
        """An epoch is in the checkpoint."""
        if self.state is FeedState.IN and self._epoch == epoch:
            self._taken()

    # ---- means

    def _open(self, query: str, query_run: str, batch: int) -> None:
        self.state = FeedState.OPEN
        # Who has no rows at all does not know of which query it is.
        self._query = query or (self.mark.query if self.mark else "")
        self._query_run, self.batch = query_run, batch

    def _look_whether_in(self) -> None:
        if self._missing:
            return
        self.state = FeedState.IN
        if self._delivery != "exactly_once":
            self._taken()

    def _taken(self) -> None:
        self.mark = FeedMark(query=self._query, batch=self.batch)
        self._leave()

    def _leave(self) -> None:
        self.state = FeedState.IDLE
        self._grants = {}
        self._missing = set()
        self._epoch = None
