"""What Spark hands to a task, shared out over its spouts; and where the tasks of a transform are."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa
import pytest

from penstock.plan.shape import shape_of
from penstock.spark.frame_input import MOST_WAITING_BATCHES, FrameInput
from penstock.spark.frame_union import batches_by_frame
from penstock.spark.transform_plan import plan_transform
from tests.spark import transforms


def tagged(*rows: tuple[int, str]) -> pa.RecordBatch:
    """A batch of the union of two frames, `left` with a number and `right` with a text."""
    return pa.RecordBatch.from_pydict(
        {
            "frame": [tag for tag, _ in rows],
            "of_0": pa.array(
                [{"n": int(text)} if tag == 0 else None for tag, text in rows], pa.struct({"n": pa.int64()})
            ),
            "of_1": pa.array([{"t": text} if tag == 1 else None for tag, text in rows], pa.struct({"t": pa.string()})),
        }
    )


def test_the_batches_of_one_frame_are_not_touched() -> None:
    batch = pa.RecordBatch.from_pydict({"n": [1, 2]})

    [(name, same)] = batches_by_frame(batch, ["numbers"])

    assert name == "numbers"
    assert same is batch
    assert list(batches_by_frame(batch.slice(0, 0), ["numbers"])) == []


def test_rows_of_several_frames_go_to_their_own_spouts_in_order() -> None:
    parts = dict(batches_by_frame(tagged((0, "1"), (1, "a"), (0, "2"), (1, "b")), ["left", "right"]))

    assert parts["left"].to_pydict() == {"n": [1, 2]}
    assert parts["right"].to_pydict() == {"t": ["a", "b"]}


def test_what_was_read_ahead_comes_first_and_nothing_twice() -> None:
    batches = [pa.RecordBatch.from_pydict({"n": [number]}) for number in range(20)]
    source = iter(batches)
    rows = FrameInput(source, ["numbers"])

    rows.read_ahead(3 * batches[0].nbytes, lambda: False)
    rows.read_ahead(1 << 20, lambda: True)

    assert next(source)["n"].to_pylist() == [3]
    rows.read_ahead(1 << 20, lambda: False)
    taken = [rows.next_for("numbers") for _ in range(19)]
    assert [batch["n"][0].as_py() for batch in taken if batch is not None] == [0, 1, 2, *range(4, 20)]
    with pytest.raises(StopIteration):
        rows.next_for("numbers")


def test_each_spout_reads_its_own_rows_to_the_end() -> None:
    rows = FrameInput([tagged((1, "a")), tagged((0, "1"), (1, "b"))], ["left", "right"])

    first = rows.next_for("left")
    assert first is not None
    assert first.to_pydict() == {"n": [1]}
    with pytest.raises(StopIteration):
        rows.next_for("left")
    texts = [batch.to_pydict()["t"] for batch in iter(lambda: _next_or_none(rows, "right"), None)]
    assert texts == [["a"], ["b"]]


def test_no_more_is_read_than_may_wait_for_others() -> None:
    read = 0

    def batches() -> Iterator[pa.RecordBatch]:
        nonlocal read
        for number in range(100):
            read += 1
            yield tagged((1, str(number)))

    rows = FrameInput(batches(), ["left", "right"])
    assert rows.next_for("left") is None
    assert rows.next_for("left") is None
    assert read == MOST_WAITING_BATCHES
    assert rows.next_for("right") is not None
    assert rows.next_for("left") is None
    assert read == MOST_WAITING_BATCHES + 1


def _next_or_none(rows: FrameInput, spout: str) -> pa.RecordBatch | None:
    try:
        return rows.next_for(spout)
    except StopIteration:
        return None


def test_what_is_everywhere_is_on_the_worker_of_its_index_and_the_rest_is_shared_out() -> None:
    topo = transforms.passing_on(("n",), grouping="shuffle", tasks=4)

    plan = plan_transform(shape_of(topo), everywhere={"first"}, nodes=["a", "a", "b", "b"], number=7)

    assert plan.number == 7
    assert [plan.worker_of[task] for task in range(1, 5)] == [0, 1, 2, 3]  # of `first`
    assert sorted(plan.worker_of[task] for task in range(5, 9)) == [0, 1, 2, 3]  # of `second`
