"""What is saved of a task: in few parts, of types that come back, and shared out anew over another number of tasks."""

from __future__ import annotations

from collections import Counter, OrderedDict
from datetime import UTC, datetime
from itertools import chain
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from penstock.checkpoint.compatibility import differences
from penstock.checkpoint.manifest import Manifest, PartRef, SavedTask
from penstock.checkpoint.shape import SavedShape, saved_shape
from penstock.connectors.collect import Collect
from penstock.connectors.lines import Lines
from penstock.control.checkpointing import Checkpointing
from penstock.errors import RunError
from penstock.plan.shape import shape_of
from penstock.plan.tasks import Task, tasks_of
from penstock.testing import LocalCluster
from penstock.testing.part_memory import PartMemory
from penstock.topology.bolts import KeyedBolt, StatefulBolt
from penstock.topology.topology import Topology
from penstock.topology.tuples import Tuple, tuple_class
from penstock.worker.state_savers import Piece, saver_for
from penstock.worker.task_checkpoints import TaskCheckpoint

Row = tuple_class("lines", "default", ("n",))


def collecting(tasks: int) -> Topology:
    topo = Topology("collecting")
    topo.bolt("all", Collect(), topo.spout("lines", Lines(range(3), fields=("n",))).shuffle(), tasks=tasks)
    return topo


def sink_tasks(tasks: int) -> list[Task]:
    return [task for task in tasks_of(shape_of(collecting(tasks))) if task.component == "all"]


class OneSink:
    """A task of the sink, and its part in checkpoints."""

    def __init__(self, task: Task) -> None:
        self.logic = Collect()
        running: Any = SimpleNamespace(logic=self.logic, component="all", task=task.id, ended=False)
        self.checkpoint = TaskCheckpoint(running, index=task.index)

    def given(self, numbers: list[int]) -> None:
        for n in numbers:
            self.logic.process(Row(n))

    def saved(self, store: PartMemory, *, epoch: int, committed: int) -> SavedTask:
        """Takes a snapshot, and writes it as a worker does."""
        snapshot = self.checkpoint.snapshot(epoch, committed)
        parts: tuple[PartRef, ...] = snapshot.before
        if snapshot.piece is not None:
            part = store.write_part(epoch=epoch, task=snapshot.task, payload=snapshot.piece.payload)
            parts = (part,) if snapshot.piece.is_full else (*parts, part)
        self.checkpoint.wrote(parts)
        return replace(snapshot.saved, parts=parts)


def manifest(shape: SavedShape, tasks: list[SavedTask]) -> Manifest:
    return Manifest(epoch=1, run="r", created_at=datetime.now(UTC), shape=shape, tasks=tuple(tasks))


def going_on(store: PartMemory, start: Manifest, tasks: int) -> list[OneSink]:
    """The tasks of the sink, when a topology with so many goes on from there."""
    topo = collecting(tasks)
    assert differences(start.shape, saved_shape(topo)) == []
    checkpointing = Checkpointing(
        run="s", tasks=tasks_of(shape_of(topo)), shape=saved_shape(topo), every_s=1.0, start=start
    )
    restores = {restore.task: restore for restore in checkpointing.restores()}
    sinks = []
    for task in sink_tasks(tasks):
        sink = OneSink(task)
        sink.checkpoint.restore(restores[task.id], store.read_part, 1)
        sinks.append(sink)
    return sinks


@given(st.lists(st.lists(st.integers(0, 9), max_size=4), min_size=1, max_size=5), st.integers(1, 5), st.integers(1, 5))
def test_rows_of_a_collect_go_to_other_tasks_each_row_once(rows: list[list[int]], now: int, later: int) -> None:
    store = PartMemory()
    old = [OneSink(task) for task in sink_tasks(len(rows))]
    for sink, numbers in zip(old, rows, strict=True):
        sink.given(numbers)
    saved = [sink.saved(store, epoch=1, committed=0) for sink in old]
    first = manifest(saved_shape(collecting(len(rows))), saved)

    sinks = going_on(store, first, now)
    again = going_on(store, first, now)

    assert [sink.logic.rows for sink in again] == [sink.logic.rows for sink in sinks], "the driver goes by row numbers"
    assert sorted(n for sink in sinks for (n,) in sink.logic.drain_collected()) == sorted(chain(*rows))
    # What they save is all that they have taken over, and what came since.
    sinks[0].given([10])
    second = manifest(saved_shape(collecting(now)), [sink.saved(store, epoch=2, committed=1) for sink in sinks])
    last = going_on(store, second, later)
    assert sorted(n for sink in last for (n,) in sink.logic.rows) == sorted(chain(*rows, [10]))


def test_a_task_that_has_taken_over_more_rows_than_it_may_keep_takes_no_more() -> None:
    sink = Collect(limit_rows=3)
    sink.take_back([(n,) for n in range(5)])
    with pytest.raises(RunError, match="limit_rows=3"):
        sink.process(Row(5))


def test_rows_of_many_epochs_are_in_few_parts() -> None:
    store, sink = PartMemory(), OneSink(sink_tasks(1)[0])
    epochs = []
    for epoch in range(1, 200):
        sink.given([epoch])
        epochs.append(sink.saved(store, epoch=epoch, committed=epoch - 1))
    assert 2 < max(len(saved.parts) for saved in epochs) < 20
    [last] = going_on(store, manifest(saved_shape(collecting(1)), epochs[-1:]), 1)
    assert last.logic.rows == [(epoch,) for epoch in range(1, 200)]


def test_rows_of_an_epoch_that_was_not_committed_are_saved_again() -> None:
    store, sink = PartMemory(), OneSink(sink_tasks(1)[0])
    sink.given([1, 2, 3])
    sink.saved(store, epoch=1, committed=0)
    sink.given([4])
    sink.saved(store, epoch=2, committed=1)
    saved = sink.saved(store, epoch=3, committed=1)  # nothing has come, and the second is not in the checkpoint
    [last] = going_on(store, manifest(saved_shape(collecting(1)), [saved]), 1)
    assert last.logic.rows == [(1,), (2,), (3,), (4,)]


class Kept(StatefulBolt):
    """Its state is what it was told."""

    def __init__(self, state: Any) -> None:
        self.kept = state

    def process(self, tup: Tuple) -> None:
        pass

    def snapshot(self) -> Any:
        return self.kept

    def restore(self, state: Any) -> None:
        self.kept = state


class KeptByKey(KeyedBolt):
    """The state of each key is what it was told."""

    def __init__(self, state: Any) -> None:
        self.kept = state

    def process(self, key: Any, tup: Tuple) -> None:  # noqa: ARG002
        self.state[key] = self.kept


def test_a_snapshot_of_plain_values_is_saved() -> None:
    piece = saver_for(Kept({"blue": [1, (2.5, None)]})).piece()
    assert isinstance(piece, Piece)
    anew = Kept(None)
    saver_for(anew).restore([[piece.payload]], None)
    assert anew.kept == {"blue": [1, (2.5, None)]}


@pytest.mark.parametrize(
    ("logic", "complaint"),
    [
        (
            KeptByKey(Counter("ab")),
            r"'bolt' \(task 1\) could not be saved: TypeError: keyed state, key 0: wanted values that come back as the "
            r"same type, got one of type collections\.Counter, which would come back as dict: keep a plain dict, or be "
            r"a StatefulBolt and define snapshot\(\) and restore\(\)",
        ),
        (
            Kept([OrderedDict()]),
            r"'bolt' \(task 1\) could not be saved: TypeError: snapshot\(\): wanted values that come back as the same "
            r"type, got one of type collections\.OrderedDict, which would come back as dict: keep a plain dict there, "
            r"and make what you need of it in restore\(\)",
        ),
    ],
)
def test_state_that_would_come_back_as_another_type_ends_the_run_before_it_is_saved(logic: Any, complaint: str) -> None:
    topo = Topology("subclasses")
    topo.bolt("bolt", logic, topo.spout("lines", Lines(range(1), fields=("n",))).by("n"))
    with LocalCluster(topo, delivery="exactly_once") as cluster:
        with pytest.raises(RunError, match=complaint):
            cluster.run_to_end()
        assert cluster.committed_epoch == 0
