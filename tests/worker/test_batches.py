"""Record batches: on the wire and back, to rows and back, and split by every grouping."""

from collections import Counter
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.topology.emit import Emit
from penstock.topology.groupings import Broadcast, By, Custom, Direct, LocalOrShuffle, PartialKey, Shuffle, ToOne
from penstock.worker.batches import batch_from_payload, batch_to_payload, rows_of, to_batch
from tests.worker.capturing import Board

rows = st.lists(
    st.tuples(
        st.text(st.characters(exclude_categories=["Cs"]), max_size=4) | st.none(), st.integers(-(2**63), 2**63 - 1)
    ),
    min_size=1,
    max_size=50,
)


@given(rows, st.integers(0, 2**62), st.integers(0, 2**62))
def test_a_batch_survives_the_wire(values: list[tuple[Any, ...]], origin_ns: int, sent_ns: int) -> None:
    batch = to_batch(values, ("word", "n"))
    arrived = batch_from_payload(batch_to_payload(batch, origin_ns, sent_ns, 2**64 - 1, 7))

    assert arrived == (batch, origin_ns, sent_ns, 2**64 - 1, 7)
    assert arrived[0].schema == batch.schema


@given(rows)
def test_rows_survive_being_a_batch(values: list[tuple[Any, ...]]) -> None:
    assert list(rows_of(to_batch(values, ("word", "n")))) == values


def test_maps_are_dicts_however_deep_they_are() -> None:
    inner = pa.map_(pa.string(), pa.int64())
    batch = pa.RecordBatch.from_arrays(
        [
            pa.array([[("a", 1)]], inner),
            pa.array([[[("b", 2)]]], pa.list_(inner)),
            pa.array([{"m": [("c", 3)]}], pa.struct({"m": inner})),
        ],
        names=["map", "list", "struct"],
    )

    assert list(rows_of(batch)) == [({"a": 1}, [{"b": 2}], {"m": {"c": 3}})]


@given(rows)
def test_a_slice_travels_without_the_rest(values: list[tuple[Any, ...]]) -> None:
    batch = to_batch(values, ("word", "n"))
    part = batch.slice(len(values) // 2)
    assert batch_from_payload(batch_to_payload(part, 1, 2))[0] == part
    assert len(batch_to_payload(part, 1, 2)) <= len(batch_to_payload(batch, 1, 2))


def test_a_batch_that_has_arrived_does_not_need_the_memory_that_it_came_in() -> None:
    """It may have come in a ring, whose space must come back however long somebody keeps the batch."""
    memory = bytearray(batch_to_payload(to_batch([(1,), (2,)], ("n",)), 1, 2))
    arrived = batch_from_payload(memoryview(memory)).batch
    memory[:] = bytes(len(memory))

    assert list(rows_of(arrived)) == [(1,), (2,)]


def emitted(board: Board, batch: pa.RecordBatch, task: int | None = None) -> list[list[tuple[Any, ...]]]:
    board.outputs.emit(Emit(batch, task=task))
    return board.flush()


@given(rows, st.integers(1, 4))
def test_a_batch_is_split_by_key_as_its_rows_would_be(values: list[tuple[Any, ...]], tasks: int) -> None:
    for key in (("word",), ("n",), ("n", "word")):
        as_batch = emitted(Board(By(key), tasks=tasks, fields=("word", "n")), to_batch(values, ("word", "n")))
        as_rows = Board(By(key), tasks=tasks, fields=("word", "n")).emit(*values)
        assert as_batch == as_rows


@pytest.mark.parametrize(
    "values",
    [[1.0, 2.5, 1.0], [True, False, True], [b"a", b"b", b"a"], [[1], [2], [1]], [{"a": 1}, {"a": 2}, {"a": 1}]],
    ids=repr,
)
def test_keys_of_any_type_are_split_as_rows(values: list[Any]) -> None:
    board = Board(By(("key",)), tasks=2, fields=("key",))
    as_rows = Board(By(("key",)), tasks=2, fields=("key",)).emit(*[(value,) for value in values])
    assert emitted(board, pa.record_batch({"key": values})) == as_rows


def test_shuffle_gives_whole_batches_to_who_was_given_least() -> None:
    board = Board(Shuffle(), tasks=3, fields=("n",))
    sizes = [10, 1, 1, 5, 5, 1]
    for size in sizes:
        board.outputs.emit(pa.record_batch({"n": [size] * size}))

    assert sorted(map(len, board.flush())) == [6, 7, 10]


def test_local_or_shuffle_keeps_batches_in_the_worker() -> None:
    board = Board(LocalOrShuffle(), tasks=3, fields=("n",), elsewhere=[0, 2])
    assert emitted(board, pa.record_batch({"n": [1, 2]})) == [[], [(1,), (2,)], []]
    assert board.senders[0].frames == board.senders[2].frames == []


def test_broadcast_to_one_and_direct_give_whole_batches() -> None:
    batch, all_rows = pa.record_batch({"n": [1, 2]}), [(1,), (2,)]
    assert emitted(Board(Broadcast(), tasks=2, fields=("n",)), batch) == [all_rows, all_rows]
    assert emitted(Board(ToOne(), tasks=2, fields=("n",)), batch) == [all_rows, []]
    assert emitted(Board(Direct(), tasks=2, fields=("n",)), batch, task=1) == [[], all_rows]


def test_direct_needs_a_task_for_a_batch_too() -> None:
    with pytest.raises(ValueError, match="task=index"):
        emitted(Board(Direct(), tasks=2, fields=("n",)), pa.record_batch({"n": [1]}))


@given(rows)
def test_groupings_that_decide_by_row_send_rows(values: list[tuple[Any, ...]]) -> None:
    batch = to_batch(values, ("word", "n"))
    by_sign = Custom(lambda row, _: 0 if row[1] < 0 else 1)

    assert emitted(Board(by_sign, tasks=2, fields=("word", "n")), batch) == [
        [row for row in values if row[1] < 0],
        [row for row in values if row[1] >= 0],
    ]
    spread = emitted(Board(PartialKey(("word",)), tasks=3, fields=("word", "n")), batch)
    assert Counter(row for part in spread for row in part) == Counter(values)


@pytest.mark.parametrize("grouping", [PartialKey(("n",)), Custom(lambda row, tasks: row[0] % tasks)])
def test_groupings_that_decide_by_row_keep_types(grouping: Any) -> None:
    pairs = pa.array([[("a", 1)], [], None, [("b", None)]], pa.map_(pa.string(), pa.int64()))
    batch = pa.RecordBatch.from_arrays([pa.array([0, 1, 2, 3]), pairs], names=["n", "pairs"])
    board = Board(grouping, tasks=2, fields=("n", "pairs"))
    board.outputs.emit(batch)
    board.flush()

    arrived = [arrival.batch for receiver in board.receivers for arrival in receiver.arrivals]
    assert {part.schema for part in arrived} == {batch.schema}
    assert sorted(row["n"] for part in arrived for row in part.to_pylist()) == [0, 1, 2, 3]


@pytest.mark.parametrize("columns", [{"m": [1]}, {"n": [1], "m": [1]}, {}], ids=repr)
def test_a_batch_with_other_columns_is_refused(columns: dict[str, list[int]]) -> None:
    board = Board(ToOne(), fields=("n",))
    with pytest.raises(ValueError, match=r"columns .*, wanted \['n'\]"):
        emitted(board, pa.RecordBatch.from_pydict(columns))
    assert board.flush()[0] == []


def test_an_empty_batch_is_not_sent() -> None:
    board = Board(ToOne(), fields=("n",))
    emitted(board, pa.record_batch({"n": pa.array([], pa.int64())}))

    assert board.receivers[0].arrivals == []
    assert board.outputs.emitted == 0


def test_emitted_rows_are_counted() -> None:
    board = Board(Broadcast(), fields=("n",))
    emitted(board, pa.record_batch({"n": [1, 2, 3]}))
    assert board.outputs.emitted == 3
