"""Working through arrivals after a worker has died: everything is done as ever, and it is known what is being done."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.connectors.collect import Collect
from penstock.connectors.lines import Lines
from penstock.testing import LocalCluster
from penstock.topology.bolts import BatchBolt
from penstock.topology.topology import Topology
from penstock.topology.tuples import Tuple
from penstock.worker.care import Care, digest_of
from penstock.worker.settings import WorkerSettings
from tests.worker.scatter_gather import every_question, gathered, scattered, told

NUMBERS = [0, 1, 2, 3, 2, 4, 5, 2, 6, 1]


class Notebook:
    """Remembers what was noted, and what is not survived yet."""

    def __init__(self) -> None:
        self.tried_alone: list[int] = []
        self.pieces: list[set[int]] = []
        self.now: set[int] | None = None

    def trying(self, task: int, tuples: Collection[int], *, alone: bool) -> None:
        assert self.now is None, "nothing is tried before the last is survived"
        assert task >= 0
        self.now = {*tuples}
        self.pieces.append(self.now)
        if alone:
            self.tried_alone += tuples

    def tried(self) -> None:
        assert self.now is not None
        self.now = None


class PassBatches(BatchBolt):
    fields = ("n",)

    def process_batch(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        return batch


class Pass:
    """Passes tuples on, each by itself."""

    def __call__(self, tup: Tuple) -> Any:
        return (tup.n,)


def outcome(numbers: Sequence[int], care: Care, *, batches: bool = False) -> tuple[Any, Notebook]:
    topo = Topology("careful")
    lines = topo.spout("lines", Lines(numbers, fields=("n",)))
    if batches:
        lines = topo.bolt("batch", PassBatches(), lines.shuffle())
    passed = topo.bolt("pass", PassBatches() if batches else Pass(), lines.shuffle(), fields=("n",))
    topo.bolt("rows", Collect(), passed.shuffle())
    topo.bolt("letters", Collect(), passed.dead_letters().shuffle())
    notes = Notebook()
    with LocalCluster(topo, delivery="exactly_once") as cluster:
        (bolt,) = (bolt for bolt in cluster.workers[0].bolts if bolt.component == "pass")
        bolt.be_careful(care, notes)
        cluster.run_to_end()
        return cluster.result(), notes


def digests(*numbers: int) -> list[int]:
    return [digest_of((number,)) for number in numbers]


@pytest.mark.parametrize("batches", [False, True])
@given(
    numbers=st.lists(st.integers(0, 9), max_size=40),
    suspects=st.sets(st.integers(0, 9)),
    given_up=st.sets(st.integers(0, 9)),
)
def test_all_is_done_in_order_but_what_was_given_up(
    batches: bool, numbers: list[int], suspects: set[int], given_up: set[int]
) -> None:
    care = Care(
        epochs=100,
        suspects={"pass": tuple(digests(*suspects)), "rows": tuple(digests(*range(10)))},
        given_up={"pass": dict.fromkeys(digests(*given_up), 5)},
    )
    result, notes = outcome(numbers, care, batches=batches)
    assert result.collected("rows") == [(n,) for n in numbers if n not in given_up]
    assert [letter.values for letter in result.collected("letters")] == [[n] for n in numbers if n in given_up]
    assert all(letter.tries == 5 and letter.bolt == "pass" for letter in result.collected("letters"))
    assert {*notes.tried_alone} >= {*digests(*(suspects & {*numbers} - given_up))}
    noted = [digest for piece in notes.pieces for digest in piece]
    assert sorted(noted) == sorted(digests(*({*numbers} - given_up))), "each once, the first time"


def test_what_was_given_up_is_reported_with_its_values() -> None:
    care = Care(epochs=10, given_up={"pass": dict.fromkeys(digests(3), 5)})
    result, _ = outcome(NUMBERS, care)
    [failure] = result.failures
    assert (failure.component, failure.count) == ("pass", 1)
    assert "KilledWorkersError" in failure.kind
    assert "n=3" in failure.culprit


def test_what_was_gathered_is_one_tuple_to_be_tried_or_left_out() -> None:
    topo, answers = scattered()
    topo.bolt("all", Collect(), topo.bolt("told", told, answers, fields=("question", "by")).shuffle())
    suspect, given_up = (digest_of((n, tuple((n, by) for by in range(3)))) for n in (5, 7))
    notes = Notebook()
    with LocalCluster(topo, delivery="exactly_once") as cluster:
        (bolt,) = (bolt for bolt in cluster.workers[0].bolts if bolt.component == "told")
        bolt.be_careful(Care(epochs=10, suspects={"told": (suspect,)}, given_up={"told": {given_up: 5}}), notes)
        cluster.run_to_end()
        result = cluster.result()
    assert notes.tried_alone.count(suspect) == 1
    assert gathered(result) == every_question() - Counter({(7, (0, 1, 2)): 1})
    [failure] = result.failures
    assert (failure.component, failure.count) == ("told", 1)
    assert "question=7" in failure.culprit


def test_care_ends_with_the_last_of_its_epochs() -> None:
    topo = Topology("careful")
    lines = topo.spout("lines", Lines(range(1000), fields=("n",)))
    topo.bolt("rows", Collect(), topo.bolt("pass", Pass(), lines.shuffle(), fields=("n",)).shuffle())
    notes = Notebook()
    with LocalCluster(topo, delivery="exactly_once") as cluster:
        worker = cluster.workers[0]
        worker.be_careful(Care(epochs=2), notes)
        for _ in range(2):
            cluster.step()
            before = len(notes.pieces)
            assert before
            cluster.begin_epoch()
            while cluster.checkpoint_under_way:
                cluster.step()
        before = len(notes.pieces)
        cluster.run_to_end()
        assert len(notes.pieces) == before
        assert len(cluster.result().collected("rows")) == 1000


def test_values_are_known_by_the_same_number_in_every_process() -> None:
    assert digest_of(("blue", 1, None)) == digest_of(["blue", 1, None]) == 0x74A35DA506AA89C1
    assert digest_of(("blue",)) != digest_of(("red",))
    assert digest_of((1,)) != digest_of(("1",))
    assert digest_of((object,)) == digest_of((object,)), "also what cannot travel"


def test_what_kills_a_helper_is_known_as_a_tuple_of_the_bolt_that_it_helps() -> None:
    noted: set[int] = set()

    class Names(Notebook):
        def trying(self, task: int, tuples: Collection[int], *, alone: bool) -> None:
            super().trying(task, tuples, alone=alone)
            noted.add(task)

    topo = Topology("helped")
    first = topo.bolt("first", Pass(), topo.spout("n", Lines(NUMBERS, fields=("n",))).shuffle(), fields=("n",))
    second = topo.bolt("second", lambda tup: (tup.n,), first.shuffle(), fields=("n",))
    topo.bolt("all", Collect(), second.shuffle())
    with LocalCluster(topo, delivery="exactly_once") as cluster:
        worker = cluster.workers[0]
        [on_first] = [helper for helper in worker.roster.helpers if helper.component == "second"]
        worker.helpers.set_share(on_first.edge, 1.0)
        on_first.be_careful(Care(epochs=1), Names())
        cluster.run_to_end()
        assert on_first.processed
        assert noted == {*cluster.tasks_of("second")}


@pytest.mark.parametrize("yields", [False, True])
def test_a_tuple_is_noted_before_user_code_sees_it_and_until_the_call_has_ended(yields: bool) -> None:
    notes = Notebook()
    is_noted: list[bool] = []

    def note(tup: Tuple) -> Any:
        is_noted.append(notes.now is not None and digest_of(tup) in notes.now)
        return (tup.n,)

    def note_often(tup: Tuple) -> Iterator[Any]:
        for _ in range(100):  # more than a piece of what is emitted
            yield note(tup)

    topo = Topology("noted")
    lines = topo.spout("lines", Lines([1, 2, 3], fields=("n",)))
    passed = topo.bolt("pass", note_often if yields else note, lines.shuffle(), fields=("n",))
    topo.bolt("rows", Collect(), passed.shuffle())
    sizes = WorkerSettings(high_water_tuples=10)
    with LocalCluster(topo, delivery="exactly_once", settings=sizes) as cluster:
        (bolt,) = (bolt for bolt in cluster.workers[0].bolts if bolt.component == "pass")
        bolt.be_careful(Care(epochs=10), notes)
        cluster.run_to_end()
    assert is_noted == [True] * (300 if yields else 3)
    assert notes.now is None
