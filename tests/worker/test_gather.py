"""Gather: one tuple when all tasks have answered, whatever they are, wherever they are, and whatever dies."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from penstock.connectors.collect import Collect
from penstock.connectors.lines import Lines
from penstock.flow.delivery import Delivery
from penstock.testing import CapturedSink, FedSpout, LocalCluster, Result, run_topology
from penstock.topology.bolts import Bolt, StatefulBolt
from penstock.topology.context import TaskContext
from penstock.topology.emit import Emit
from penstock.topology.topology import Topology
from penstock.topology.tuples import Tuple
from penstock.worker.settings import WorkerSettings
from tests.worker.scatter_gather import COUNT, BatchShard, ByKey, Shard, every_question, gathered, scattered, told

DELIVERIES: tuple[Delivery, ...] = ("at_most_once", "at_least_once", "exactly_once")

deliveries = pytest.mark.parametrize("delivery", DELIVERIES)
worker_counts = pytest.mark.parametrize("workers", [1, 3])


def missing_of(result: Result) -> set[str]:
    return {failure.message for failure in result.failures if failure.kind == "NotAllAnsweredError"}


@deliveries
@worker_counts
@pytest.mark.parametrize("shards", [1, 4, 50])
def test_one_tuple_when_all_have_answered(delivery: Delivery, workers: int, shards: int) -> None:
    topo, answers = scattered(shards=shards)
    topo.bolt("all", Collect(), topo.bolt("told", told, answers, tasks=2, fields=("question", "by")).shuffle())
    result = run_topology(topo, workers=workers, delivery=delivery)
    assert not result.failures
    assert gathered(result) == every_question(shards)
    assert result.counts["told"].processed == COUNT * shards, "it was given so many answers"


def test_the_tuple_has_the_key_and_the_answers_by_name() -> None:
    class Wide(Shard):
        fields = ("note", "question", "by", "of")  # type: ignore[assignment]

        def process(self, tup: Tuple) -> Any:
            return "aside", tup.n, self.index, "shard"

    topo = Topology("named")
    asked = topo.spout("questions", Lines([5], fields=("n",)))
    answers = topo.bolt("shard", Wide(), asked.broadcast(), tasks=2)
    sink = CapturedSink()
    topo.bolt("sink", sink, answers.gather("question", "of"))
    run_topology(topo, workers=2)
    [tup] = sink.tuples
    assert (tup.fields, tup.source, tup.stream) == (("question", "of", "answers"), "shard", "default")
    assert (tup.question, tup.of) == (5, "shard")
    assert tup.answers == (("aside", 5, 0, "shard"), ("aside", 5, 1, "shard"))
    assert [answer.by for answer in tup.answers] == [0, 1]


class Kept(StatefulBolt):
    """Keeps everything until the end."""

    fields = ("question", "by")

    def open(self, context: TaskContext) -> None:  # noqa: ARG002
        self.kept: list[Any] = []

    def process(self, tup: Tuple) -> None:
        self.kept.append(list(told(tup)))

    def finish(self) -> Any:
        return [tuple(one) for one in self.kept]

    def snapshot(self) -> Any:
        return [*self.kept]

    def restore(self, state: Any) -> None:
        self.kept = state


@deliveries
@pytest.mark.parametrize("kind", [ByKey, Kept])
def test_any_bolt_of_tuples_can_gather(delivery: Delivery, kind: Any) -> None:
    topo, answers = scattered()
    topo.bolt("all", Collect(), topo.bolt("kind", kind(), answers, tasks=2).shuffle())
    result = run_topology(topo, workers=2, delivery=delivery)
    assert not result.failures
    assert gathered(result) == every_question()


@deliveries
@worker_counts
def test_a_sink_can_gather(delivery: Delivery, workers: int) -> None:
    topo, answers = scattered()
    topo.bolt("all", Collect(), answers)
    result = run_topology(topo, workers=workers, delivery=delivery)
    assert not result.failures
    rows = result.collected("all")
    assert sorted(row.question for row in rows) == [*range(COUNT)]
    assert all(row.answers == tuple((row.question, by) for by in range(3)) for row in rows)


@deliveries
@worker_counts
@pytest.mark.parametrize("batches", [False, True])
def test_tasks_may_answer_by_record_batches(delivery: Delivery, workers: int, batches: bool) -> None:
    topo, answers = scattered(BatchShard(), batches=batches)
    topo.bolt("all", Collect(), topo.bolt("told", told, answers, tasks=2, fields=("question", "by")).shuffle())
    sized = WorkerSettings(singly_tuples=0)
    result = run_topology(topo, workers=workers, delivery=delivery, settings=sized)
    assert not result.failures
    assert gathered(result) == every_question()


@deliveries
def test_one_gather_after_the_other_and_an_ordinary_input_beside_it(delivery: Delivery) -> None:
    topo, answers = scattered()
    first = topo.bolt("first", told, answers, tasks=2, fields=("n", "by"))
    again = topo.bolt("again", Shard(), first.broadcast(), tasks=2)

    def both(tup: Tuple) -> Any:
        if tup.source == "first":
            return tup.n, tup.by
        return tup.question, [answer.by for answer in tup.answers]

    last = topo.bolt("both", both, again.gather("question"), first.by("n"), tasks=2, fields=("question", "by"))
    topo.bolt("all", Collect(), last.shuffle())
    result = run_topology(topo, workers=3, delivery=delivery)
    assert not result.failures
    assert gathered(result) == every_question() + every_question(2)


# ---- tasks that do not answer as they should


class Lazy(Shard):
    """Of some questions: task 1 does not answer the first, answers the second twice, and fails on the third."""

    def process(self, tup: Tuple) -> Any:
        if self.index != 1 or tup.n > 2:
            return tup.n, self.index
        if tup.n == 2:
            message = "two is too much"
            raise ValueError(message)
        return [(tup.n, self.index)] * (0 if tup.n == 0 else 2)


@deliveries
@worker_counts
def test_who_does_not_answer_as_it_should_is_told_of(delivery: Delivery, workers: int) -> None:
    topo, answers = scattered(Lazy())
    topo.bolt("all", Collect(), topo.bolt("told", told, answers, tasks=2, fields=("question", "by")).shuffle())
    result = run_topology(topo, workers=workers, delivery=delivery)
    assert {*gathered(result)} == {*every_question()} - {(0, (0, 1, 2)), (2, (0, 1, 2))}

    failures = {failure.kind: failure for failure in result.failures if failure.component == "told"}
    absent = failures["NotAllAnsweredError"]
    assert absent.message.startswith("given up: wanted an answer of each of the 3 tasks of 'shard', got ")
    assert absent.culprit in ("{'question': 0}", "{'question': 1}", "{'question': 2}")
    counted = absent.count
    # A second answer that comes when all are there looks like the first one to another question.
    if "AnsweredTwiceError" in failures:
        twice = failures["AnsweredTwiceError"]
        wanted = "wanted one answer to each question of each task of 'shard', got a second one of task 1"
        assert (twice.message, twice.culprit) == (wanted, "Answer(question=1, by=1)")
        counted += twice.count
    if delivery == "at_least_once":
        assert counted >= 8, "those of two questions, four times each"
    else:
        assert counted == 3
        assert {*gathered(result).values()} == {1}


def test_a_question_that_nobody_answers_whole_becomes_a_dead_letter_with_the_reason() -> None:
    topo = Topology("letters")
    questions = topo.spout("questions", Lines(range(COUNT), fields=("n",)))
    answers = topo.bolt("shard", Lazy(), questions.broadcast(), tasks=3)
    topo.bolt("all", Collect(), answers.gather("question"))
    topo.bolt("letters", Collect(), questions.dead_letters().shuffle())
    result = run_topology(topo, workers=2)
    letters = {letter.values[0]: letter for letter in result.collected("letters")}
    assert sorted(letters) == [0, 1, 2]
    assert (letters[0].bolt, letters[0].tries) == ("all", 5), "the first time it might have been lost at the start"
    assert letters[0].reason.startswith("NotAllAnsweredError: given up: wanted an answer of each of the 3 tasks")
    assert (letters[1].bolt, letters[2].bolt) == ("all", "shard")


@deliveries
@pytest.mark.parametrize("tasks", [1, 2])
def test_what_cannot_be_hashed_is_refused_by_name(delivery: Delivery, tasks: int) -> None:
    topo, answers = scattered(Shard(), questions=Lines([{1, 2}, {3}], fields=("n",)))
    topo.bolt("all", Collect(), answers, tasks=tasks)
    result = run_topology(topo, workers=2, delivery=delivery)
    assert result.collected("all") == []
    wanted = [failure.message for failure in result.failures if failure.kind.startswith("TypeError")]
    assert wanted
    assert all("set cannot be a key" in message for message in wanted)


@deliveries
@pytest.mark.parametrize("tasks", [1, 2])
def test_lists_are_gathered_as_tuples(delivery: Delivery, tasks: int) -> None:
    for shard in (Shard(), BatchShard()):
        topo, answers = scattered(shard, questions=Lines([[1, 2], [3]], fields=("n",)))
        topo.bolt("all", Collect(), answers, tasks=tasks)
        result = run_topology(topo, workers=2, delivery=delivery)
        assert not result.failures
        assert sorted(row.question for row in result.collected("all")) == [(1, 2), (3,)]


def test_at_most_once_answers_are_waited_for_as_long_as_was_said() -> None:
    spout = FedSpout(fields=("n",))
    topo, answers = scattered(Lazy(), questions=spout, timeout_s=10.0)
    topo.bolt("all", Collect(), answers)
    with LocalCluster(topo, workers=2, delivery="at_most_once") as cluster:
        spout.feed((0,))
        cluster.advance(9.9)
        assert not missing_of(cluster.result())
        cluster.advance(5.0)
        assert missing_of(cluster.result())
        spout.feed((5,))
        spout.end()
        cluster.run_to_end()
        assert [row.question for row in cluster.result().collected("all")] == [5]


def test_at_least_once_answers_that_belong_to_no_tree_are_waited_for_by_the_clock() -> None:
    class AtTheEnd(Shard):
        def process(self, tup: Tuple) -> None: ...

        def finish(self) -> Any:
            return "end", self.index

    topo, answers = scattered(AtTheEnd())
    topo.bolt("all", Collect(), answers)
    result = run_topology(topo, workers=2)
    assert [len(row.answers) for row in result.collected("all")] == [3]


class Scattering(Bolt):
    """Sends a part of the question to each task by itself, instead of the same to all."""

    fields = ("n",)

    def process(self, tup: Tuple) -> Iterator[Any]:
        for task in range(3):
            yield Emit((tup.n,), task=task)


@deliveries
def test_the_question_need_not_be_a_broadcast(delivery: Delivery) -> None:
    topo = Topology("parts")
    asked = topo.spout("questions", Lines(range(COUNT), fields=("n",)))
    parts = topo.bolt("parts", Scattering(), asked.shuffle(), tasks=2)
    answers = topo.bolt("shard", Shard(), parts.direct(), tasks=3)
    topo.bolt("all", Collect(), answers.gather("question"))
    result = run_topology(topo, workers=2, delivery=delivery)
    assert not result.failures
    assert len(result.collected("all")) == COUNT
