"""Every grouping: which task gets a tuple."""

from collections import Counter
from collections.abc import Sequence
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.topology.emit import Emit
from penstock.topology.groupings import (
    Broadcast,
    By,
    Custom,
    Direct,
    Gather,
    Grouping,
    LocalOrShuffle,
    PartialKey,
    Shuffle,
    ToOne,
)
from penstock.topology.tuples import tuple_class
from penstock.transport.stable_hash import stable_hash
from penstock.worker import routing
from penstock.worker.outputs import Outputs, Subscriber
from tests.worker.capturing import Board, CapturingReceiver, local_lane

words = st.lists(st.tuples(st.text(max_size=3)), max_size=60)
task_counts = st.integers(1, 5)


@given(words, task_counts)
def test_shuffle_shares_out_evenly_and_keeps_the_order(rows: list[tuple[str]], tasks: int) -> None:
    board = Board(Shuffle(), tasks=tasks)
    half = len(rows) // 2
    board.emit(*rows[:half])
    arrived = board.emit(*rows[half:])

    assert [arrived[position % tasks][position // tasks] for position in range(len(rows))] == rows
    assert sum(map(len, arrived)) == len(rows)


@pytest.mark.parametrize("grouping", [By(("word",)), Gather(("word",))])
@given(words, task_counts)
def test_by_sends_each_key_to_the_task_of_its_hash(grouping: Grouping, rows: list[tuple[str]], tasks: int) -> None:
    arrived = Board(grouping, tasks=tasks).emit(*rows)

    for index, got in enumerate(arrived):
        assert got == [row for row in rows if stable_hash(row[0]) % tasks == index or tasks == 1]


@pytest.mark.parametrize("grouping", [By(("c", "a")), Gather(("c", "a"))])
@given(st.lists(st.tuples(st.integers(0, 3), st.text(max_size=2), st.integers(0, 3)), max_size=60), task_counts)
def test_by_several_fields_hashes_them_together(
    grouping: Grouping, rows: list[tuple[int, str, int]], tasks: int
) -> None:
    arrived = Board(grouping, tasks=tasks, fields=("a", "b", "c")).emit(*rows)

    for index, got in enumerate(arrived):
        assert got == [row for row in rows if stable_hash((row[2], row[0])) % tasks == index or tasks == 1]


@given(words, task_counts)
def test_partial_key_sends_a_key_to_two_tasks_at_most_and_loses_none(rows: list[tuple[str]], tasks: int) -> None:
    arrived = Board(PartialKey(("word",)), tasks=tasks).emit(*rows)

    places: dict[str, set[int]] = {}
    for index, got in enumerate(arrived):
        for (word,) in got:
            places.setdefault(word, set()).add(index)
    assert all(len(indices) <= 2 for indices in places.values())
    assert Counter(row for got in arrived for row in got) == Counter(rows)


def test_partial_key_splits_a_hot_key() -> None:
    for hot in ("the", "of", "and"):
        arrived = Board(PartialKey(("word",)), tasks=4).emit(*[(hot,)] * 100)

        assert sorted(map(len, arrived)) == [0, 0, 50, 50]


def test_partial_key_counts_tuples_and_rows_of_record_batches_together() -> None:
    board = Board(PartialKey(("word",)), tasks=4)
    board.emit(*[("hot",)] * 10)
    board.emit(pa.record_batch({"word": ["hot"] * 9}))
    arrived = board.emit(*[("hot",)] * 11)

    assert sorted(map(len, arrived)) == [0, 0, 15, 15]


@given(words, task_counts)
def test_broadcast_sends_everything_to_everyone(rows: list[tuple[str]], tasks: int) -> None:
    assert Board(Broadcast(), tasks=tasks).emit(*rows) == [rows] * tasks


def test_to_one_sends_everything_to_the_first() -> None:
    assert Board(ToOne()).emit(("a",), ("b",)) == [[("a",), ("b",)], [], []]


def test_local_or_shuffle_prefers_tasks_of_the_same_worker() -> None:
    board = Board(LocalOrShuffle(), tasks=3, elsewhere=[0])
    arrived = board.emit(*[(str(number),) for number in range(6)])

    assert list(map(len, arrived)) == [0, 3, 3]
    assert board.senders[0].frames == []


def test_local_or_shuffle_is_a_shuffle_where_no_task_is_local() -> None:
    board = Board(LocalOrShuffle(), tasks=3, elsewhere=[0, 1, 2])
    board.emit(*[(str(number),) for number in range(6)])

    assert [tuples for sender in board.senders for _, _, tuples in sender.frames] == [2, 2, 2]


def test_custom_chooses_one_task() -> None:
    board = Board(Custom(lambda values, count: len(values[0]) % count))
    assert board.emit(("",), ("a",), ("bb",), ("ccc",)) == [[("",), ("ccc",)], [("a",)], [("bb",)]]


def test_custom_chooses_several_tasks_or_none() -> None:
    choices: dict[str, Sequence[int]] = {"none": [], "both": (0, 2)}
    board = Board(Custom(lambda values, _: choices[values[0]]))
    assert board.emit(("none",), ("both",)) == [[("both",)], [], [("both",)]]


@pytest.mark.parametrize("chosen", [3, -1, [0, 3], "first"], ids=repr)
def test_custom_that_chooses_no_task_delivers_nothing_and_is_named(chosen: Any) -> None:
    def my_route(values: tuple[Any, ...], count: int) -> Any:  # noqa: ARG001
        return chosen

    board = Board(Custom(my_route))
    with pytest.raises((ValueError, TypeError), match=r"my_route.*wanted.*below 3.*got"):
        board.emit(("a",))
    assert board.flush() == [[], [], []]


def test_custom_may_choose_with_a_numpy_integer() -> None:
    np = pytest.importorskip("numpy")
    assert Board(Custom(lambda _, __: np.int64(1))).emit(("a",)) == [[], [("a",)], []]


def test_direct_sends_to_the_task_that_is_named() -> None:
    board = Board(Direct())
    assert board.emit(Emit(("a",), task=2), Emit(("b",), task=0), Emit(("c",), task=2)) == [
        [("b",)],
        [],
        [("a",), ("c",)],
    ]


@pytest.mark.parametrize("task", [3, -1])
def test_direct_to_a_task_that_is_not_there_is_refused(task: int) -> None:
    with pytest.raises(ValueError, match=rf"task={task}.*3 tasks"):
        Board(Direct()).emit(Emit(("a",), task=task))


def test_direct_without_a_task_is_refused() -> None:
    with pytest.raises(ValueError, match="task=index"):
        Board(Direct()).emit(("a",))


def test_an_unhashable_key_is_refused_by_name_and_what_came_before_it_goes() -> None:
    board = Board(By(("word",)))
    with pytest.raises(TypeError, match=r"a key must be made of .*; got \{1\} \(set cannot be a key\)"):
        board.emit(("a",), ({1},))
    assert [("a",)] in board.flush()


def test_the_memory_of_keys_is_bounded_and_routes_the_same_after_it_was_emptied(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(routing, "MOST_CACHED_KEYS", 4)
    rows = [(number % 10,) for number in range(100)]

    assert Board(By(("word",))).emit(*rows) == [
        [row for row in rows if stable_hash(row[0]) % 3 == index] for index in range(3)
    ]


def test_named_tuples_and_tuples_passed_on_travel_as_plain_values() -> None:
    passed_on = tuple_class("before", "default", ("word",))("b")
    assert Board(ToOne()).emit(("a",), passed_on, Emit(["c"])) == [[("a",), ("b",), ("c",)], [], []]


@pytest.mark.parametrize("wrong", ["blue", b"blue", 7, {"a": 1}, [["nested"]]], ids=repr)
def test_what_is_no_output_is_refused(wrong: Any) -> None:
    board = Board(ToOne())
    with pytest.raises(TypeError, match="wanted a tuple, an Emit"):
        board.outputs.emit(wrong)
    assert board.outputs.emitted == 0


@pytest.mark.parametrize("values", ["blue", b"blue", 7, None], ids=repr)
def test_an_emit_without_a_sequence_of_values_is_refused(values: Any) -> None:
    with pytest.raises(TypeError, match="wanted"):
        Board(ToOne(), fields=("a", "b", "c", "d")).emit(Emit(values))


def test_emitting_counts_outputs_and_not_nothings() -> None:
    board = Board(Broadcast())
    board.emit(("a",), None, Emit(("b",)))
    board.outputs.emit(("c",))

    assert board.outputs.emitted == 3


def test_outputs_before_a_wrong_one_count_and_go() -> None:
    board = Board(ToOne())
    with pytest.raises(TypeError):
        board.emit(("a",), ("b",), "wrong", ("c",))

    assert board.outputs.emitted == 2
    assert board.flush()[0] == [("a",), ("b",)]


def test_every_subscriber_of_a_stream_gets_everything_and_other_streams_nothing() -> None:
    first, second, other = CapturingReceiver(), CapturingReceiver(), CapturingReceiver()

    def subscriber(receiver: CapturingReceiver) -> Subscriber:
        return Subscriber(Shuffle(), [local_lane(receiver, fields=("word",))], ("word",))

    outputs = Outputs(
        "emitter",
        {"default": ("word",), "errors": ("word",), "unheard": ("word",)},
        {"default": [subscriber(first), subscriber(second)], "errors": [subscriber(other)]},
    )
    outputs.emit([("a",), Emit(("b",), stream="errors"), ("c",), Emit(("d",), stream="unheard")])
    outputs.flush(1, 2)

    assert first.rows == second.rows == [("a",), ("c",)]
    assert other.rows == [("b",)]
    assert outputs.emitted == 4
    with pytest.raises(ValueError, match=r"no stream 'missing'.*'errors'"):
        outputs.emit(Emit(("e",), stream="missing"))


def test_a_component_without_fields_cannot_emit() -> None:
    with pytest.raises(ValueError, match="'sink' declares no fields"):
        Outputs("sink", {}, {}).emit(("a",))
