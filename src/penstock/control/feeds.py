"""All spouts that Spark feeds: what its processes ask, and what workers are told. What is decided is in feed."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING, assert_never

from penstock.checkpoint.manifest import FeedMark
from penstock.control.asking import Answer, NotNow
from penstock.control.feed import Feed, FeedState, Verdict
from penstock.control.feeding import (
    AskGrant,
    AskHolds,
    AskTaken,
    BatchIn,
    CloseBatch,
    EndFeed,
    FeedBroken,
    FeedPlace,
    FeedQuestion,
    Grant,
    Taken,
    Wait,
)
from penstock.control.membership import Member, Membership
from penstock.control.notices import Notices
from penstock.control.settings import ControlSettings, RunPlan
from penstock.control.status import Phase
from penstock.errors import RunError

if TYPE_CHECKING:
    from penstock.control.lifecycle import Lifecycle

__all__ = ["Feeds"]


class Feeds:
    """Answers Spark, and tells workers where a micro-batch ends."""

    def __init__(
        self,
        plan: RunPlan,
        settings: ControlSettings,
        membership: Membership,
        lifecycle: Lifecycle,
        notices: Notices,
    ) -> None:
        self._membership = membership
        self._lifecycle = lifecycle
        self._notices = notices
        marks = {} if plan.start is None else plan.start.feeds
        self._feeds = {
            name: Feed(
                name,
                [task.id for task in plan.tasks if task.component == name],
                settings.delivery,
                marks.get(name),
            )
            for name in plan.feeds
        }
        self._places: dict[int, FeedPlace] = {}
        self._grants = 0

    @property
    def are_in_the_middle(self) -> bool:
        """Whether no epoch may be begun, because it would have a part of a micro-batch."""
        return any(feed.is_in_the_middle for feed in self._feeds.values())

    @property
    def are_idle(self) -> bool:
        """Whether no micro-batch is under way."""
        return all(feed.state is FeedState.IDLE and not feed.needs_rewind for feed in self._feeds.values())

    @property
    def are_closing(self) -> bool:
        """Whether all of a micro-batch is pushed, and not all of it done with: some sinks have to commit first."""
        return any(feed.state is FeedState.CLOSING for feed in self._feeds.values())

    @property
    def wait_for_epoch(self) -> bool:
        """Whether a micro-batch is inside and waits for an epoch, so that one should be begun."""
        return any(feed.state is FeedState.IN for feed in self._feeds.values())

    @property
    def need_rewind(self) -> bool:
        """Whether everything has to be set back, because of rows that will come again."""
        return any(feed.needs_rewind for feed in self._feeds.values())

    # ---- questions

    def answer(self, question: FeedQuestion, now_s: float) -> Answer:
        """What a process of Spark's is told. If no start of its query can ever feed this run, the run fails."""
        feed = self._feeds.get(question.component)
        phase = self._lifecycle.phase
        if feed is None:
            return NotNow(reason=f"wanted a spout that Spark feeds, got {question.component!r}")
        if phase is Phase.STOPPING or phase.is_over:
            # The query ends, too, and had better do so here than be interrupted at something else: nobody takes rows
            # any more, and the micro-batch is not taken. Its next start brings it again.
            is_refused = isinstance(question, AskTaken) and not feed.has_taken(question.batch)
            return NotNow(reason=f"the run is {phase}") if is_refused else Taken()
        if isinstance(question, AskHolds):
            return Wait() if feed.holds(question.grant) else NotNow(reason="what was pushed is not wanted any more")
        if phase in (Phase.STARTING, Phase.DEPLOYING):
            return Wait()
        answer: Grant | Wait | Verdict
        match question:
            case AskGrant():
                answer = self._granted(feed, question)
            case AskTaken():
                answer = self._closed(feed, question)
            case _:
                assert_never(question)
        if isinstance(answer, Verdict):
            if answer.answer == "never":
                self._lifecycle.fail(RunError(f"StreamingFrame {feed.component!r}: {answer.reason}"), now_s)
            return _answer(answer)
        return answer

    @property
    def _may_open(self) -> bool:
        """Whether a micro-batch may begin: not while an epoch is under way, which it would have a part in."""
        rewinds = self._lifecycle.rewinds
        return self._lifecycle.phase is Phase.RUNNING and (rewinds is None or rewinds.is_at_rest)

    def _granted(self, feed: Feed, asked: AskGrant) -> Grant | Wait | Verdict:
        place = self._place_for(feed, asked.node)
        if place is None:
            return Wait()  # its workers are just being restarted
        verdict = feed.may_push(
            query=asked.query,
            query_run=asked.query_run,
            batch=asked.batch,
            partition=asked.partition,
            may_open=self._may_open,
        )
        if verdict.answer != "go":
            return verdict
        self._grants += 1
        feed.granted(self._grants, partition=asked.partition, task=place.task)
        return Grant(
            grant=self._grants,
            task=place.task,
            same_node=self._node_of(place.task) == asked.node,
            ring_address=place.ring_address,
            link_endpoint=place.link_endpoint,
        )

    def _place_for(self, feed: Feed, node: str) -> FeedPlace | None:
        """A task on the same node if there is one; all in turn."""
        places = [self._places[task] for task in sorted(feed.tasks) if task in self._places]
        near = [place for place in places if self._node_of(place.task) == node] or places
        return near[self._grants % len(near)] if near else None

    def _node_of(self, task: int) -> str | None:
        assignment = self._lifecycle.placement.assignment
        worker = None if assignment is None else assignment.worker_of.get(task)
        seat = None if worker is None else self._membership.seats.get(worker)
        return None if seat is None or seat.member is None else seat.member.about.node

    def _closed(self, feed: Feed, asked: AskTaken) -> Verdict:
        verdict, told = feed.may_close(
            query=asked.query,
            query_run=asked.query_run,
            batch=asked.batch,
            grants=[part.grant for part in asked.parts],
            may_open=self._may_open,
        )
        if told:
            rows = {part.grant: part.rows for part in asked.parts}
            self._close(feed, {task: {grant: rows[grant] for grant in grants} for task, grants in told.items()})
        return verdict

    def _close(self, feed: Feed, rows: dict[int, dict[int, int]]) -> None:
        for member in self._membership.members():
            mine = {task: rows[task] for task in self._tasks_on(member, feed) if task in rows}
            if mine:
                self._lifecycle.send(member, CloseBatch(component=feed.component, closing=feed.closing, rows=mine))
        # One that is just being restarted has lost what it was given.
        feed.lost({task for task in rows if task not in self._places})

    # ---- what happens

    def ready(self, member: Member, places: Collection[FeedPlace]) -> None:
        """A worker has opened its tasks."""
        self._places.update((place.task, place) for place in places)
        for feed in self._feeds.values():
            if feed.is_over and self._tasks_on(member, feed):
                self._lifecycle.send(member, EndFeed(component=feed.component))

    def batch_in(self, message: BatchIn) -> None:
        """A task has all of a micro-batch."""
        feed = self._feeds.get(message.component)
        if feed is not None and self._lifecycle.placement.is_of_now(message.assignment):
            feed.has_all(message.task, message.closing)

    def broken(self, message: FeedBroken) -> None:
        """A task misses something."""
        feed = self._feeds.get(message.component)
        if feed is not None and self._lifecycle.placement.is_of_now(message.assignment):
            self._notices.add(f"{message.component!r} (task {message.task}): {message.reason}")
            feed.lost({message.task})

    def member_lost(self, member: Member) -> None:
        """A worker is gone, with what was pushed to its tasks."""
        for feed in self._feeds.values():
            tasks = self._tasks_on(member, feed)
            for task in tasks:
                self._places.pop(task, None)
            feed.lost(tasks)

    def over(self, component: str) -> None:
        """The query has ended. By itself it does between two micro-batches; if it was stopped, perhaps within one."""
        feed = self._feeds[component]
        feed.is_over = True
        feed.stopped()
        for member in self._membership.members():
            if member.stage in ("ready", "begun") and self._tasks_on(member, feed):
                self._lifecycle.send(member, EndFeed(component=component))

    def tell(self) -> None:
        """Notes what was given up since the last time."""
        for feed in self._feeds.values():
            for batch in feed.untold:
                self._notices.add(f"micro-batch {batch} of {feed.component!r} is given up, and comes again")
            feed.untold.clear()

    # ---- epochs

    def set_back(self) -> None:
        """Everything begins anew from the last epoch, with other rings."""
        self._places.clear()
        for feed in self._feeds.values():
            feed.was_set_back()

    def epoch_begun(self, epoch: int) -> dict[str, FeedMark]:
        """An epoch ends with what is inside now. Returns what it has of each feed."""
        marks = {}
        for name, feed in self._feeds.items():
            feed.epoch_begun(epoch)
            mark = feed.mark_at(epoch)
            if mark is not None:
                marks[name] = mark
        return marks

    def epoch_committed(self, epoch: int) -> None:
        """An epoch is in the checkpoint."""
        for feed in self._feeds.values():
            feed.epoch_committed(epoch)

    # ---- means

    def _tasks_on(self, member: Member, feed: Feed) -> frozenset[int]:
        return feed.tasks.intersection(self._lifecycle.placement.tasks_on(member.worker))


def _answer(verdict: Verdict) -> Answer:
    if verdict.answer in ("no", "never"):
        return NotNow(reason=verdict.reason)
    return Taken() if verdict.answer == "taken" else Wait()
