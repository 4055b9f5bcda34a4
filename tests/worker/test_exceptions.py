"""Exceptions of user code: reported once per kind with a count and a traceback, while the rest goes on."""

import asyncio
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from penstock.errors import RunError
from penstock.testing import CapturedSink, FedSpout, Result, run_topology
from penstock.topology.bolts import BatchBolt, Bolt, KeyedBolt
from penstock.topology.context import TaskContext
from penstock.topology.emit import Emit
from penstock.topology.spouts import Spout
from penstock.topology.topology import Topology
from penstock.topology.tuples import Tuple

GOOD = [n for n in range(50) if n % 5]
"""What passes a bolt that fails on every fifth number."""


def run_bolt(
    bolt: Any, feed: list[tuple[Any, ...]] | None = None, *, workers: int = 1, fields: tuple[str, ...] = ("n",)
) -> tuple[Result, list[tuple[Any, ...]]]:
    topo, sink = Topology("failing"), CapturedSink()
    numbers = topo.spout("numbers", FedSpout([(n,) for n in range(50)] if feed is None else feed, fields=("n",)))
    taken = numbers.by("n") if isinstance(bolt, KeyedBolt) else numbers.shuffle()
    topo.bolt("sink", sink, topo.bolt("bolt", bolt, taken, fields=fields).shuffle())
    return run_topology(topo, workers=workers, delivery="at_most_once"), sink.values


def check(n: int) -> None:
    if n % 5 == 0:
        message = f"{n} is a multiple of five"
        raise ValueError(message)


def returning(tup: Tuple) -> Any:
    check(tup.n)
    return (tup.n,)


def yielding(tup: Tuple) -> Iterator[Any]:
    check(tup.n)
    yield (tup.n,)


class Keyed(KeyedBolt):
    fields = ("n",)

    def process(self, key: Any, tup: Tuple) -> Iterator[Any]:
        assert key == tup.n
        check(key)
        yield (key,)


class KeyedReturning(KeyedBolt):
    fields = ("n",)

    def process(self, key: Any, tup: Tuple) -> Any:
        assert key == tup.n
        check(key)
        return (key,)


@pytest.mark.parametrize("workers", [1, 3])
@pytest.mark.parametrize("bolt", [returning, yielding, Keyed(), KeyedReturning()], ids=lambda bolt: repr(bolt)[:20])
def test_a_tuple_that_fails_is_reported_and_the_others_pass(bolt: Any, workers: int) -> None:
    result, values = run_bolt(bolt, workers=workers)

    assert sorted(values) == [(n,) for n in GOOD]
    [failure] = result.failures
    assert (failure.component, failure.count) == ("bolt", 10)
    assert failure.message == "0 is a multiple of five"
    assert failure.kind.startswith("ValueError at ")
    assert "n=0" in failure.culprit
    assert "in check" in failure.trace
    assert result.counts["bolt"].failed == 10
    assert result.counts["bolt"].processed == 50


def test_what_was_emitted_before_the_exception_stays_emitted() -> None:
    def one_then_fail(tup: Tuple) -> Iterator[Any]:
        yield (tup.n,)
        check(tup.n)
        yield (-tup.n,)

    _, values = run_bolt(one_then_fail)
    assert sorted(values) == sorted([(n,) for n in range(50)] + [(-n,) for n in GOOD])


@pytest.mark.parametrize("position", [0, 25, 49])
def test_a_stop_iteration_in_a_bolt_is_an_exception_like_any_other(position: int) -> None:
    def stopping(tup: Tuple) -> Any:
        if tup.n == position:
            next(iter(()))
        return (tup.n,)

    result, values = run_bolt(stopping)
    assert values == [(n,) for n in range(50) if n != position]
    [failure] = result.failures
    assert failure.kind.startswith("StopIteration at ")
    assert f"n={position}" in failure.culprit


def test_several_kinds_are_reported_each() -> None:
    def failing(tup: Tuple) -> Any:
        if tup.n % 2:
            raise KeyError(tup.n)
        return (1 / (tup.n % 4),)

    result, values = run_bolt(failing)
    counts = {failure.kind.split(" at ")[0]: failure.count for failure in result.failures}
    assert counts == {"KeyError": 25, "ZeroDivisionError": 13}
    assert len(values) == 12


@pytest.mark.parametrize("workers", [1, 3])
@pytest.mark.parametrize(
    ("out", "kind", "text"),
    [
        ((1, 2), "ValueError", "emitted 2 values for the 1 fields ('n',)"),
        ((), "ValueError", "emitted 0 values for the 1 fields"),
        ("blue", "TypeError", "wanted a tuple"),
        (7, "TypeError", "wanted a tuple"),
        ([(1,), "blue"], "TypeError", "wanted a tuple"),
        (Emit((1,), stream="missing"), "ValueError", "no stream 'missing'"),
        (Emit((1,), task=0), "ValueError", "wants a subscriber by direct()"),
    ],
    ids=repr,
)
def test_wrong_outputs_are_reported_and_the_others_pass(out: Any, kind: str, text: str, workers: int) -> None:
    def wrong(tup: Tuple) -> Any:
        return (tup.n,) if tup.n % 5 else out

    result, values = run_bolt(wrong, workers=workers)
    assert [value for value in values if value[0] in GOOD and value != (1,)] == [(n,) for n in GOOD if n != 1]
    [failure] = result.failures
    assert failure.count == 10
    assert failure.kind.split(" at ")[0] == kind
    assert text in failure.message


def test_a_value_that_cannot_travel_is_reported_and_the_others_travel() -> None:
    class Own:
        pass

    def wrapping(tup: Tuple) -> Any:
        return (tup.n if tup.n % 5 else Own(),)

    result, values = run_bolt(wrapping, workers=3)
    assert values == [(n,) for n in GOOD]
    [failure] = result.failures
    assert failure.count == 10
    assert "cannot travel to another worker" in failure.message
    assert "Own object" in failure.culprit


def test_a_key_that_cannot_be_one_is_reported_and_the_others_are_routed() -> None:
    topo, sink = Topology("keys"), CapturedSink()
    numbers = topo.spout("numbers", FedSpout([(n if n % 5 else {n},) for n in range(50)], fields=("n",)))
    topo.bolt("sink", sink, numbers.by("n"), tasks=2)
    result = run_topology(topo, delivery="at_most_once")

    assert sorted(sink.values) == [(n,) for n in GOOD]
    assert sum(failure.count for failure in result.failures) == 10
    assert {failure.component for failure in result.failures} == {"numbers"}


@pytest.mark.parametrize("workers", [1, 3])
def test_values_have_the_same_types_wherever_they_arrive(workers: int) -> None:
    sent = [((1, 2), {3}, Decimal("0.1"), n) for n in (1, 1 << 80)]
    topo, sink = Topology("types"), CapturedSink()
    topo.bolt("sink", sink, topo.spout("values", FedSpout(sent, fields=("a", "b", "c", "n"))).shuffle())

    assert not run_topology(topo, workers=workers).failures
    assert [tuple(values) for values in sink.values] == sent
    assert [type(value) for value in sink.values[0]] == [tuple, set, Decimal, int]


@pytest.mark.parametrize("raised", [SystemExit(3), asyncio.CancelledError()])
@pytest.mark.parametrize("yields", [True, False])
def test_an_exit_or_a_cancelled_coroutine_fails_a_tuple_and_nothing_else(yields: bool, raised: BaseException) -> None:
    def returning(tup: Tuple) -> Any:
        if tup.n % 5 == 0:
            raise raised
        return (tup.n,)

    def yielding(tup: Tuple) -> Iterator[Any]:
        yield returning(tup)

    result, values = run_bolt(yielding if yields else returning)
    assert values == [(n,) for n in GOOD]
    [failure] = result.failures
    assert failure.kind.startswith(f"{type(raised).__name__} at ")
    assert failure.count == 10


def test_a_run_error_ends_the_run() -> None:
    def giving_up(tup: Tuple) -> Any:
        message = f"the table for {tup.n} is gone"
        raise RunError(message)

    with pytest.raises(RunError, match="the table for 0 is gone"):
        run_bolt(giving_up)


def test_tasks_that_were_opened_are_closed_when_another_cannot_be() -> None:
    opened: list[str] = []

    class Opening(Bolt):
        fields = ("n",)

        def __deepcopy__(self, memo: Any) -> "Opening":
            return self

        def open(self, context: TaskContext) -> None:
            if context.component == "first":
                message = "no connection"
                raise OSError(message)
            opened.append(context.component)
            self.name = context.component

        def process(self, tup: Tuple) -> Any:
            return (tup.n,)

        def close(self) -> None:
            opened.remove(self.name)

    topo = Topology("opening")
    first = topo.bolt("first", Opening(), topo.spout("numbers", FedSpout([(1,)], fields=("n",))).shuffle())
    topo.bolt("second", Opening(), first.shuffle())
    with pytest.raises(OSError, match="no connection"):
        run_topology(topo)
    assert opened == []


class FailingBatches(BatchBolt):
    fields = ("n",)

    def process_batch(self, batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
        if 0 in batch.column("n").to_pylist():
            message = "a zero"
            raise ValueError(message)
        yield batch


def test_a_batch_that_fails_is_reported_and_the_next_passes() -> None:
    topo, spout, sink = Topology("batches"), FedSpout([(n % 10,) for n in range(30)], fields=("n",)), CapturedSink()
    topo.bolt(
        "sink", sink, topo.bolt("bolt", FailingBatches(), topo.spout("numbers", spout).by("n"), tasks=4).shuffle()
    )
    result = run_topology(topo, workers=2, delivery="at_most_once")

    [failure] = result.failures
    assert failure.message == "a zero"
    assert "n: int64" in failure.culprit
    assert 0 < len(sink.values) < 30
    assert (0,) not in sink.values


def test_tuples_that_are_no_batch_are_reported() -> None:
    result, values = run_bolt(FailingBatches(), [(1,), ("one",)])
    assert values == []
    [failure] = result.failures
    assert failure.component == "bolt"
    assert "one" in failure.culprit


class FailingSpout(Spout):
    fields = ("n",)

    def __init__(self) -> None:
        self.n = 0

    def next(self) -> Any:
        self.n += 1
        if self.n > 50:
            raise StopIteration
        check(self.n - 1)
        return (self.n - 1,)


def test_a_spout_that_raises_is_asked_again() -> None:
    topo, sink = Topology("spout"), CapturedSink()
    topo.bolt("sink", sink, topo.spout("numbers", FailingSpout()).shuffle())
    result = run_topology(topo, delivery="at_most_once")

    assert sink.values == [(n,) for n in GOOD]
    assert [(failure.component, failure.count) for failure in result.failures] == [("numbers", 10)]


def test_what_a_spout_emitted_beside_a_wrong_output_arrives_before_the_end() -> None:
    outputs: list[Any] = [(1,), (2,), "wrong", (3,)]

    def numbers() -> Iterator[Any]:
        yield outputs

    topo, sink = Topology("spout"), CapturedSink()
    topo.bolt("sink", sink, topo.spout("numbers", numbers, fields=("n",)).shuffle())
    result = run_topology(topo, workers=2, delivery="at_most_once")

    assert sink.values == [(1,), (2,), (3,)]
    [failure] = result.failures
    assert failure.culprit == "'wrong'"


class FailingAtTheEnd(Bolt):
    fields = ("n",)

    def process(self, tup: Tuple) -> Any:
        return (tup.n,)

    def finish(self) -> Any:
        message = "no finish"
        raise RuntimeError(message)

    def close(self) -> None:
        message = "no close"
        raise RuntimeError(message)


def test_a_finish_or_close_that_raises_is_reported_and_the_topology_ends() -> None:
    result, values = run_bolt(FailingAtTheEnd())
    assert len(values) == 50
    assert sorted(failure.message for failure in result.failures) == ["no close", "no finish"]
