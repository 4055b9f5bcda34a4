"""Micro-batches of Spark's: whatever fails on either side, each counts as often as was promised."""

from __future__ import annotations

from collections import Counter
from typing import Any, ClassVar

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from penstock.checkpoint.manifest import FeedMark
from penstock.control.feed import Feed, FeedState
from penstock.flow.delivery import Delivery
from tests.tries import tried

TASKS = (10, 11)
QUERY = "query"


class SparkFeedsARun(RuleBasedStateMachine):
    """Spark with its retries on one side, and a run with its losses and epochs on the other.

    A row is known by its micro-batch and partition; rows that are inside are at a task.
    """

    delivery: ClassVar[Delivery]

    @initialize()
    def begin(self) -> None:
        self.batch = 0
        self.query_run = 0
        self.grants = 0
        self.epoch = 0
        self.written: dict[int, int] = {}
        self.inside: list[tuple[tuple[int, int], int]] = []
        self.done: Counter[tuple[int, int]] = Counter()
        self.saved: list[tuple[tuple[int, int], int]] = []
        self.saved_mark: FeedMark | None = None
        self.feed = Feed("events", TASKS, self.delivery, None)

    # ---- Spark

    def _asked(self) -> dict[str, Any]:
        return {"query": QUERY, "query_run": f"run {self.query_run}", "batch": self.batch, "may_open": True}

    def _partitions(self) -> int:
        return self.batch % 4  # some have no rows at all

    def _start_query_again(self) -> None:
        self.query_run += 1
        self.written = {}

    @rule(partition=st.integers(0, 2), task=st.sampled_from(TASKS), dies=st.booleans())
    def a_task_of_spark_pushes(self, partition: int, task: int, dies: bool) -> None:
        if partition >= self._partitions() or partition in self.written:
            return
        verdict = self.feed.may_push(**self._asked(), partition=partition)
        if verdict.answer == "go":
            self.grants += 1
            self.feed.granted(self.grants, partition=partition, task=task)
            assert self.feed.holds(self.grants)
            self.inside.append(((self.batch, partition), task))
            if self.delivery == "at_most_once":
                self.done[self.batch, partition] += 1
        if verdict.answer == "no":
            self._start_query_again()
        elif verdict.answer != "wait" and not dies:
            self.written[partition] = self.grants if verdict.answer == "go" else 0

    @precondition(lambda self: len(self.written) == self._partitions())
    @rule()
    def the_query_asks_whether_it_is_taken(self) -> None:
        grants = [grant for grant in self.written.values() if grant]
        verdict, _ = self.feed.may_close(**self._asked(), grants=grants)
        if verdict.answer == "no":
            self._start_query_again()
        elif verdict.answer == "taken":
            self._require_kept(self.batch)
            self.batch += 1
            self.written = {}

    @rule()
    def the_query_is_killed(self) -> None:
        self._start_query_again()

    # ---- the run

    @rule()
    def a_tuple_is_processed(self) -> None:
        if self.delivery == "at_least_once" and self.inside:
            self.done[self.inside.pop(0)[0]] += 1

    @rule(task=st.sampled_from(TASKS))
    def a_task_has_all(self, task: int) -> None:
        if self.feed.state is not FeedState.CLOSING:
            return
        if self.delivery == "at_least_once":
            for row, _ in [one for one in self.inside if one[1] == task]:
                self.done[row] += 1
            self.inside = [one for one in self.inside if one[1] != task]
        self.feed.has_all(task, self.feed.closing)

    @rule(task=st.sampled_from(TASKS))
    def what_a_task_said_before_comes_late(self, task: int) -> None:
        self.feed.has_all(task, self.feed.closing - 1)

    @rule(task=st.sampled_from(TASKS))
    def a_worker_is_lost(self, task: int) -> None:
        self.inside = [one for one in self.inside if one[1] != task]
        self.feed.lost({task})
        if self.delivery == "exactly_once":
            self.everything_is_set_back()

    @precondition(lambda self: self.feed.needs_rewind)
    @rule()
    def everything_is_set_back(self) -> None:
        self.inside = [*self.saved]
        self.feed.was_set_back()

    @precondition(lambda self: self.delivery == "exactly_once" and not self.feed.is_in_the_middle)
    @rule(is_committed=st.booleans())
    def an_epoch_ends(self, is_committed: bool) -> None:
        self.epoch += 1
        self.feed.epoch_begun(self.epoch)
        mark = self.feed.mark_at(self.epoch)
        if is_committed:
            self.saved, self.saved_mark = [*self.inside], mark
            self.feed.epoch_committed(self.epoch)

    @precondition(lambda self: self.delivery == "exactly_once")
    @rule()
    def the_driver_is_killed_and_the_run_goes_on_from_its_checkpoint(self) -> None:
        self.feed = Feed("events", TASKS, self.delivery, self.saved_mark)
        self.inside = [*self.saved]
        self._start_query_again()

    # ---- what was promised

    def _require_kept(self, batch: int) -> None:
        """Spark forgets the micro-batch: from here on the run answers for it."""
        kept = Counter(row for row, _ in self.saved) if self.delivery == "exactly_once" else self.done
        for partition in range(batch % 4):
            if self.delivery == "exactly_once":
                assert kept[batch, partition] == 1
            elif self.delivery == "at_least_once":
                assert kept[batch, partition] >= 1

    @invariant()
    def nothing_is_there_twice(self) -> None:
        if self.delivery == "exactly_once":
            assert all(count == 1 for count in Counter(row for row, _ in self.saved).values())
        if self.delivery == "at_most_once":
            assert all(count <= 1 for count in self.done.values())

    def teardown(self) -> None:
        """And it always comes to an end: a few last blows, and then three more micro-batches are taken."""
        goal = self.batch + 3
        for turn in range(200):
            self.nothing_is_there_twice()
            if self.batch >= goal:
                return
            if self.feed.needs_rewind:
                self.everything_is_set_back()
            for partition in range(self._partitions()):
                self.a_task_of_spark_pushes(partition, TASKS[0], dies=False)
                self._end_epoch_if_possible()
            if turn in (2, 3):
                self.a_worker_is_lost(TASKS[0])
            if len(self.written) == self._partitions():
                self.the_query_asks_whether_it_is_taken()
            for task in TASKS:
                self.a_task_has_all(task)
            self._end_epoch_if_possible()
            if self.delivery == "exactly_once" and turn in (4, 8):
                self.the_driver_is_killed_and_the_run_goes_on_from_its_checkpoint()
        message = f"micro-batch {self.batch} is never taken: {self.feed.state}"
        raise AssertionError(message)

    def _end_epoch_if_possible(self) -> None:
        if self.delivery == "exactly_once" and not self.feed.is_in_the_middle:
            self.an_epoch_ends(is_committed=True)


@pytest.mark.parametrize("delivery", ["at_most_once", "at_least_once", "exactly_once"])
def test_each_micro_batch_counts_as_often_as_promised(delivery: Delivery) -> None:
    machine = type(f"With{delivery}", (SparkFeedsARun,), {"delivery": delivery})
    run_state_machine_as_test(machine, settings=tried(150, steps=40))


def _asked(batch: int, *, query: str = QUERY, run: str = "a") -> dict[str, Any]:
    return {"query": query, "query_run": run, "batch": batch, "may_open": True}


def test_a_query_with_another_checkpoint_is_refused() -> None:
    feed = Feed("events", TASKS, "exactly_once", FeedMark(query="first", batch=7))

    verdict = feed.may_push(**_asked(0, query="second"), partition=0)

    assert verdict.answer == "never"
    assert "micro-batches of query first, and this is query second" in verdict.reason


def test_a_gap_between_checkpoints_is_refused() -> None:
    feed = Feed("events", TASKS, "exactly_once", FeedMark(query=QUERY, batch=7))

    assert feed.may_push(**_asked(7), partition=0).answer == "taken"
    verdict = feed.may_push(**_asked(9), partition=0)

    assert verdict.answer == "never"
    assert "wanted micro-batch 8 of query query, got 9" in verdict.reason


def test_no_micro_batch_begins_while_an_epoch_is_under_way() -> None:
    feed = Feed("events", TASKS, "exactly_once", None)

    assert feed.may_push(**_asked(0) | {"may_open": False}, partition=0).answer == "wait"
    assert feed.state is FeedState.IDLE


def test_a_zombie_of_a_start_that_was_given_up_is_sent_away() -> None:
    feed = Feed("events", TASKS, "at_least_once", None)
    assert feed.may_push(**_asked(3), partition=0).answer == "go"
    feed.granted(1, partition=0, task=TASKS[0])

    feed.lost({TASKS[0]})

    assert not feed.holds(1)
    assert feed.may_push(**_asked(3), partition=1).answer == "no"
    assert feed.may_push(**_asked(3, run="b"), partition=0).answer == "go"


def test_a_task_that_was_given_nothing_may_be_gone() -> None:
    feed = Feed("events", TASKS, "at_least_once", None)
    assert feed.may_push(**_asked(3), partition=0).answer == "go"
    feed.granted(1, partition=0, task=TASKS[0])

    feed.lost({TASKS[1]})
    assert feed.holds(1)

    assert feed.may_close(**_asked(3), grants=[1])[1] == {TASKS[0]: {1}}
    feed.lost({TASKS[1]})
    feed.has_all(TASKS[0], feed.closing)
    assert feed.has_taken(3)


def test_at_most_once_nobody_goes_on_pushing_to_a_task_that_is_gone() -> None:
    feed = Feed("events", TASKS, "at_most_once", None)
    assert feed.may_push(**_asked(3), partition=0).answer == "go"
    feed.granted(1, partition=0, task=TASKS[0])
    feed.granted(2, partition=1, task=TASKS[1])

    feed.lost({TASKS[0]})

    assert (feed.holds(1), feed.holds(2)) == (False, True)
