"""Pieces of a queue that are worked on elsewhere: every tuple counts once."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pyarrow as pa
import pytest

from penstock.flow.delivery import Delivery
from penstock.flow.spare_time import SpareTime
from penstock.plan.shape import shape_of
from penstock.plan.tasks import tasks_of
from penstock.testing import CapturedSink, FedSpout, LocalCluster, VirtualClock
from penstock.topology.bolts import Bolt
from penstock.topology.context import TaskContext
from penstock.topology.emit import Emit
from penstock.topology.topology import Topology
from penstock.topology.tuples import Tuple
from penstock.transport.frames import FrameKind
from penstock.worker.early_frames import EarlyFrame
from penstock.worker.loan_frames import encode_loan
from tests.worker.lending_stage import DELIVERIES, NUMBERS, SMALL, Doubled, Stage, doubles, give_everybody_time


@pytest.fixture(autouse=True)
def _everybody_has_time(monkeypatch: pytest.MonkeyPatch) -> None:
    give_everybody_time(monkeypatch)


@pytest.mark.parametrize("delivery", DELIVERIES)
def test_others_work_on_a_part_and_everything_counts_once(delivery: Delivery) -> None:
    with Stage(delivery=delivery, seed=5) as stage:
        stage.call()
        stage.cluster.run_to_end()
        assert stage.repaid() > NUMBERS / 4
        assert set(stage.calls) > {1}
        assert sum(stage.calls.values()) == NUMBERS
    result = stage.cluster.result()
    assert (result.failures, result.lost) == ([], 0)
    assert Counter(double for (double,) in stage.sink.values) == doubles(range(NUMBERS))
    assert Counter(n for n, _ in stage.odd.values) == Counter(n for n in range(NUMBERS) if n % 2 and n % 10 != 9)
    assert result.counts["slow"].processed == NUMBERS


def test_a_generator_is_lent_as_well() -> None:
    def both(tup: Tuple) -> Any:
        yield (tup.n,)
        yield (-tup.n,)

    class Both(Bolt):
        fields = ("n",)
        process = staticmethod(both)

    with Stage(Both()) as stage:
        stage.call()
        stage.cluster.run_to_end()
        assert stage.repaid() > 0
    assert Counter(n for (n,) in stage.sink.values) == Counter([*range(NUMBERS), *(-n for n in range(NUMBERS))])


def test_what_fails_elsewhere_is_told_as_a_failure_of_the_task() -> None:
    class Picky(Bolt):
        fields = ("n",)

        def process(self, tup: Tuple) -> Any:
            if tup.n % 100 == 50:
                message = "not this one"
                raise ValueError(message)
            return (tup.n,)

    with Stage(Picky(), delivery="at_most_once") as stage:
        stage.call()
        stage.cluster.run_to_end()
        assert stage.repaid() > 0
    result = stage.cluster.result()
    [failure] = result.failures
    assert (failure.component, failure.message, failure.count) == ("slow", "not this one", 4)
    assert Counter(n for (n,) in stage.sink.values) == Counter(n for n in range(NUMBERS) if n % 100 != 50)


class Everything(Bolt):
    """Returns outputs of every kind that there is."""

    fields = ("n",)

    def process(self, tup: Tuple) -> Any:
        kinds = [tup, [tup], (tup.n,), Emit(tup), Emit([tup.n]), pa.record_batch({"n": [tup.n]})]
        return kinds[tup.n % len(kinds)]


def test_outputs_of_every_kind_come_back() -> None:
    with Stage(Everything(), delivery="at_most_once") as stage:
        stage.call()
        stage.cluster.run_to_end()
        assert stage.repaid() > 0
    assert stage.cluster.result().failures == []
    assert Counter(n for (n,) in stage.sink.values) == Counter(range(NUMBERS))


class NotElsewhere(Doubled):
    """Cannot be opened anywhere but where it belongs."""

    def open(self, context: TaskContext) -> None:
        super().open(context)
        if context.worker != 1:
            message = "only there"
            raise OSError(message)

    def __deepcopy__(self, memo: Any) -> NotElsewhere:
        return NotElsewhere(self.on_call)


def test_who_cannot_open_the_bolt_gives_back_what_it_was_lent() -> None:
    with Stage(NotElsewhere(), delivery="at_most_once") as stage:
        stage.call()
        stage.cluster.run_to_end()
    assert [failure.message for failure in stage.cluster.result().failures] == ["only there"]
    assert Counter(double for (double,) in stage.sink.values) == doubles(range(NUMBERS))


def test_what_cannot_travel_stays() -> None:
    class Anything:
        """Made here, and of no use elsewhere."""

    class Strange(Bolt):
        fields = ("n", "what")

        def process(self, tup: Tuple) -> Any:
            return tup.n, Anything() if tup.n % 7 == 0 else None

    topo, sink = Topology("strange"), CapturedSink()
    numbers = topo.spout("numbers", FedSpout([(n,) for n in range(NUMBERS)], fields=("n",)))
    topo.bolt("sink", sink, topo.bolt("slow", Strange(), numbers.shuffle()).shuffle())
    topo.bolt("void", CapturedSink(), topo.spout("nothing", FedSpout([], fields=("n",))).shuffle())
    workers = {task.id: 1 if task.component in ("nothing", "void") else 0 for task in tasks_of(shape_of(topo))}
    with LocalCluster(topo, worker_of=workers, settings=SMALL) as cluster:
        cluster.workers[0].redirection.lending.call(cluster.tasks_of("slow")[0])
        cluster.run_to_end()
        assert cluster.workers[0].redirection.lending.repaid_tuples > 0
    assert cluster.result().failures == []
    assert sorted(n for n, _ in sink.values) == [*range(NUMBERS)]
    assert all(isinstance(what, Anything) == (n % 7 == 0) for n, what in sink.values)


class Keeping(Bolt):
    fields = ("n",)
    side_effects = True

    def process(self, tup: Tuple) -> Any:
        return (tup.n,)


class Ticking(Keeping):
    side_effects = False

    def tick(self) -> None:
        pass


@pytest.mark.parametrize("logic", [Keeping(), Ticking()])
def test_a_bolt_that_must_not_be_elsewhere_is_not(logic: Bolt) -> None:
    with Stage(logic) as stage:
        stage.call()
        stage.cluster.run_to_end()
        assert stage.repaid() == 0
    assert len(stage.sink.values) == NUMBERS


def test_nothing_is_lent_before_it_is_called_for_or_to_who_has_no_time(monkeypatch: pytest.MonkeyPatch) -> None:
    with Stage() as stage:
        stage.cluster.run_to_end()
        assert stage.repaid() == 0
    monkeypatch.setattr(SpareTime, "share", lambda *_: 0.4)
    with Stage() as stage:
        stage.call()
        stage.cluster.run_to_end()
        assert stage.repaid() == 0
        assert set(stage.calls) == {1}


def lend_some(stage: Stage) -> None:
    """Until something is lent, and nobody has worked on it yet."""
    lending = stage.cluster.workers[1].redirection.lending
    stage.call()
    for _ in range(50):
        for worker in (0, 1):
            stage.cluster.workers[worker].do_work()
        if not lending._pieces:
            for worker in (2, 3):  # they hear that time is wanted, and offer some
                stage.cluster.workers[worker].do_work()
        else:
            return
    pytest.fail("nothing was lent")


@pytest.mark.parametrize("delivery", DELIVERIES)
def test_a_marker_waits_for_what_was_lent_before_it(delivery: Delivery) -> None:
    with Stage(delivery=delivery) as stage:
        lend_some(stage)
        slow = stage.slow
        for _ in range(300):
            for worker in (0, 1):
                stage.cluster.workers[worker].do_work()
        assert slow.processed < NUMBERS, "all but what is lent"
        assert not slow.ended
        assert slow.queued_tuples == 0
        stage.cluster.run_to_end()
    assert Counter(double for (double,) in stage.sink.values) == doubles(range(NUMBERS))


def test_a_borrower_that_is_late_costs_nothing_but_time() -> None:
    clock = VirtualClock()
    with Stage(clock=clock, delivery="at_most_once") as stage:
        lend_some(stage)
        first = stage.cluster.workers[1].redirection.lending
        lent = len(first._pieces)
        assert lent > 0
        first.recall(99)  # somebody else's: nothing comes back by that
        assert len(first._pieces) == lent
        for _ in range(300):
            clock._now_ns += 1_000_000_000
            for worker in (0, 1):
                stage.cluster.workers[worker].do_work()
        assert stage.slow.processed == NUMBERS
        assert stage.slow.ended
        in_time = first.repaid_tuples
        assert stage.calls[2] + stage.calls[3] == 0
        stage.cluster.run_to_end()
        assert stage.calls[2] + stage.calls[3] > 0
        assert first.repaid_tuples == in_time, "what comes late counts for nothing"
    assert Counter(double for (double,) in stage.sink.values) == doubles(range(NUMBERS))


def test_recalled_pieces_are_done_at_home_and_in_order() -> None:
    with Stage(delivery="at_most_once") as stage:
        lend_some(stage)
        lending = stage.cluster.workers[1].redirection.lending
        lending.recall(stage.slow.task)
        assert not lending._pieces
        queued = [tup.n for arrival in stage.slow.queue._ready for tup in arrival.tuples]
        assert queued == sorted(queued)
        stage.cluster.run_to_end()
        assert lending.repaid_tuples == 0
    assert Counter(double for (double,) in stage.sink.values) == doubles(range(NUMBERS))


@pytest.mark.parametrize("delivery", DELIVERIES)
def test_a_task_that_moves_takes_everything_back_first(delivery: Delivery) -> None:
    with Stage(delivery=delivery, seed=3) as stage:
        lend_some(stage)
        stage.cluster.move({stage.slow.task: 3})
        stage.cluster.settle()
        stage.call()
        stage.cluster.run_to_end()
        assert stage.cluster.worker_of[stage.slow.task] == 3
    result = stage.cluster.result()
    assert (result.failures, result.lost) == ([], 0)
    assert Counter(double for (double,) in stage.sink.values) == doubles(range(NUMBERS))


def test_nobody_offers_to_take_more_before_it_is_done_with_what_it_was_lent() -> None:
    with Stage() as stage:
        borrowing, inbox = stage.cluster.workers[2].redirection.borrowing, stage.cluster._inboxes[1]
        about = {"target": 2, "source": 1, "assignment": 1}
        loan = encode_loan(7, stage.slow.task, [(3,)])
        borrowing.lent(EarlyFrame(stream=0, flags=FrameKind.LOAN, payload=loan, **about))
        wanted = EarlyFrame(stream=0, flags=FrameKind.WANTED, payload=b"", **about)
        for _ in range(9):  # the lender has taken back what was late, and would lend as much again each time
            borrowing.wanted(wanted)
        assert [record.flags for record in inbox.read_many(99, 0)] == []
        borrowing.work()
        borrowing.wanted(wanted)
        assert [record.flags for record in inbox.read_many(99, 0)] == [FrameKind.REPAID, FrameKind.OFFER]
