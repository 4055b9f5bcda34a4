"""Shuffles that know how their targets are."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.flow.balance import NODE, OTHER_NODE, OWN_WORKER, Standing
from penstock.flow.delivery import Delivery
from penstock.plan.shape import shape_of
from penstock.plan.tasks import tasks_of
from penstock.testing import CapturedSink, FedSpout, LocalCluster
from penstock.topology.bolts import BatchBolt
from penstock.topology.groupings import Grouping, LocalOrShuffle, Shuffle
from penstock.topology.topology import Topology
from penstock.worker.in_turn import LOOK_EVERY_NS, InTurn
from penstock.worker.lanes import Lane, LocalLane
from penstock.worker.settings import WorkerSettings
from tests.worker.capturing import EMITTER, FIRST_TARGET, Board


class StubWatch:
    """Knows what it is told."""

    def __init__(self, tasks: int) -> None:
        self.loads = [0.0] * tasks
        self.idle = 0.0
        self.looks = 0

    def standing(self, lane: Lane, *, is_full: bool) -> Standing:
        self.looks += 1
        distance = OWN_WORKER if isinstance(lane, LocalLane) else OTHER_NODE if lane.target % 2 else NODE
        return Standing(self.loads[lane.target - FIRST_TARGET], distance, is_full)

    def idle_share(self) -> float:
        return self.idle


class WatchedBoard(Board):
    """A board whose shuffle knows how its targets are."""

    def __init__(self, grouping: Grouping, *, tasks: int, elsewhere: Any = ()) -> None:
        super().__init__(grouping, tasks=tasks, elsewhere=elsewhere)
        self.watch = StubWatch(tasks)
        self.turns = InTurn(grouping, self.lanes, self.watch)

    def put(self, tuples: int) -> list[int]:
        """How many of so many tuples each target was given."""
        before = [len(lane.tuples) for lane in self.lanes]
        for number in range(tuples):
            self.turns.routing.put((str(number),))
        return [len(lane.tuples) - count for lane, count in zip(self.lanes, before, strict=True)]


def channels(*indices: int) -> set[tuple[int, int]]:
    return {(EMITTER, FIRST_TARGET + index) for index in indices}


@given(st.lists(st.sets(st.integers(0, 3), max_size=3), max_size=12))
def test_who_is_full_gets_nothing_and_the_others_get_the_same(rounds: list[set[int]]) -> None:
    board = WatchedBoard(Shuffle(), tasks=4)
    for full in rounds:
        assert board.turns.has_room(channels(*full))
        given_now = board.put(12)
        assert [count == 0 for count in given_now] == [index in full for index in range(4)]
        assert {count for count in given_now if count} == {12 // (4 - len(full))}
    assert not board.turns.has_room(channels(0, 1, 2, 3))


def test_often_changing_targets_do_not_favour_the_first() -> None:
    board = WatchedBoard(Shuffle(), tasks=4)
    total: Counter[int] = Counter()
    for number in range(400):
        board.turns.has_room(channels(*([3] if number % 2 else [])))
        total.update(dict(enumerate(board.put(1))))
    assert max(total[index] for index in range(3)) <= 1.4 * min(total[index] for index in range(3))


def test_who_has_less_room_is_given_less_from_the_next_look_on() -> None:
    board = WatchedBoard(Shuffle(), tasks=3, elsewhere=[1, 2])
    board.turns.look(1)
    assert board.put(12) == [4, 4, 4]
    board.watch.loads = [0.2, 0.1, 0.9]
    board.turns.look(2)
    assert board.put(12) == [4, 4, 4], "not more often than is needed"
    board.turns.look(2 + LOOK_EVERY_NS)
    assert board.put(18) == [8, 8, 2]
    looks = board.watch.looks
    board.put(10_000)
    assert board.watch.looks == looks, "nothing is asked per tuple"


def test_a_clock_that_is_set_back_does_not_stop_the_looks() -> None:
    board = WatchedBoard(Shuffle(), tasks=2)
    board.turns.look(10**18)
    board.watch.loads = [0.0, 0.9]
    board.turns.look(1)
    assert board.put(10) == [8, 2]


def test_the_nearer_is_preferred_in_a_worker_with_time_to_spare() -> None:
    board = WatchedBoard(Shuffle(), tasks=4, elsewhere=[1, 2, 3])
    board.watch.idle = 0.9
    board.turns.look(1)
    assert board.put(11) == [4, 2, 3, 2]


def test_local_or_shuffle_stays_in_its_worker_and_needs_room_only_there() -> None:
    board = WatchedBoard(LocalOrShuffle(), tasks=4, elsewhere=[0, 3])
    assert board.turns.has_room(channels(0, 3))
    assert board.put(10) == [0, 5, 5, 0]
    assert board.turns.has_room(channels(1))
    assert board.put(10) == [0, 0, 10, 0]
    assert not board.turns.has_room(channels(1, 2))


def test_record_batches_are_shared_out_by_the_same_weights() -> None:
    board = WatchedBoard(Shuffle(), tasks=3)

    def put_batches(count: int) -> list[int]:
        before = [sum(part.batch.num_rows for part in lane.before) for lane in board.lanes]  # type: ignore[union-attr]
        for _ in range(count):
            board.turns.put_batch(pa.record_batch({"word": ["a"] * 5}))
        after = [sum(part.batch.num_rows for part in lane.before) for lane in board.lanes]  # type: ignore[union-attr]
        return [now - then for now, then in zip(after, before, strict=True)]

    assert put_batches(6) == [10, 10, 10]
    board.turns.has_room(channels(1))
    assert put_batches(6) == [15, 0, 15]
    board.turns.has_room(set())
    assert put_batches(6) == [10, 10, 10], "who had nothing for a while is not given everything after that"


def test_a_task_with_another_edge_to_the_full_target_stops() -> None:
    """A key has to go where it belongs: there is no other place for it."""
    topo, sink = Topology("both"), CapturedSink()
    words = topo.spout("words", FedSpout([(str(n),) for n in range(1000)], fields=("word",)))
    topo.bolt("sink", sink, words.shuffle(), words.by("word"), tasks=2)
    sized = WorkerSettings(credit_window_bytes=200, spout_turn_tuples=10)
    with LocalCluster(topo, settings=sized, delivery="at_most_once", worker_of={0: 0, 1: 1, 2: 2}) as cluster:
        for _ in range(100):
            cluster.workers[0].do_work()
            cluster.workers[1].do_work()
        assert cluster.workers[0].spouts[0].processed < 200
        cluster.run_to_end()
    assert len(sink.tuples) == 2000


def placed(topo: Topology, workers: dict[str, Any]) -> dict[int, int]:
    """The worker of each task, by the workers of each component's."""

    def worker(component: str, index: int) -> int:
        at = workers[component]
        return int(at[index] if isinstance(at, list) else at)

    return {task.id: worker(task.component, task.index) for task in tasks_of(shape_of(topo))}


class PassedOn(BatchBolt):
    fields = ("n",)

    def process_batch(self, batch: pa.RecordBatch) -> Any:
        return batch


@pytest.mark.parametrize("delivery", ["at_most_once", "at_least_once", "exactly_once"])
@pytest.mark.parametrize("batches", [False, True])
def test_one_stopped_task_of_four_does_not_stop_the_others(delivery: Delivery, *, batches: bool) -> None:
    numbers = 3000
    topo, sink = Topology("one-is-stopped"), CapturedSink()
    spout = topo.spout("numbers", FedSpout([(n,) for n in range(numbers)], fields=("n",)))
    passed = topo.bolt("pass", PassedOn() if batches else (lambda tup: tup), spout.shuffle(), fields=("n",))
    four = topo.bolt("four", lambda tup: tup, passed.shuffle(), tasks=4, fields=("n",))
    topo.bolt("sink", sink, four.shuffle())
    sized = WorkerSettings(credit_window_bytes=4000, spout_turn_tuples=50, turn_tuples=50)
    ids = {"numbers": 0, "pass": 0, "four": [0, 1, 2, 3], "sink": 0}
    with LocalCluster(topo, settings=sized, delivery=delivery, worker_of=placed(topo, ids)) as cluster:
        for _ in range(300):
            for worker in (0, 1, 2):
                cluster.workers[worker].do_work()
        window = sized.credit_window_bytes // (1 if batches else 5) + 100
        assert cluster.workers[0].spouts[0].processed == numbers
        bolts = [bolt for number in (0, 1, 2) for bolt in cluster.workers[number].bolts]
        assert sum(bolt.processed for bolt in bolts if bolt.component == "four") >= numbers - window
        cluster.run_to_end()
    result = cluster.result()
    assert result.failures == []
    assert result.lost == 0
    assert sorted(n for (n,) in sink.values) == [*range(numbers)]


def test_a_target_that_had_no_room_is_used_again_when_it_has() -> None:
    board = Board(Shuffle(), tasks=2, elsewhere=[0, 1])
    first, second = (EMITTER, FIRST_TARGET), (EMITTER, FIRST_TARGET + 1)

    def used() -> list[int]:
        before = [len(sender.frames) for sender in board.senders]
        for number in range(4):
            board.emit((number,))
        return [len(sender.frames) - count for sender, count in zip(board.senders, before, strict=True)]

    for full, blocked, share in (
        (set(), False, [2, 2]),
        ({first}, False, [0, 4]),
        ({first}, False, [0, 4]),
        (set(), False, [2, 2]),
        ({second}, False, [4, 0]),
        ({first}, False, [0, 4]),
        (set(), False, [2, 2]),
        (set(), False, [2, 2]),
    ):
        assert board.outputs.blocked_by(full) == blocked
        assert sorted(used()) == sorted(share) if not full else used() == share
    assert board.outputs.blocked_by({first, second})
    assert not board.outputs.blocked_by(set())
    assert sorted(used()) == [2, 2]
