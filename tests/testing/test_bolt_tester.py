"""One bolt alone."""

from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pytest

from penstock.testing import BoltTester, VirtualClock, make_tuple
from penstock.topology.bolts import BatchBolt, Bolt, KeyedBolt
from penstock.topology.context import TaskContext
from penstock.topology.emit import Emit
from penstock.topology.tuples import Tuple


class Shout(Bolt):
    fields = ("word",)
    streams = {"loud": ("word", "length")}  # noqa: RUF012
    tick_every_s = 1.0

    def open(self, context: TaskContext) -> None:
        self.context, self.seen, self.closed = context, 0, False

    def process(self, tup: Tuple) -> Iterator[Any]:
        self.seen += 1
        yield (tup.word.upper(),)
        if tup.word.isupper():
            yield Emit((tup.word, len(tup.word)), stream="loud")

    def tick(self) -> tuple[str]:
        return (f"{self.seen} so far at {self.context.now_ns()}",)

    def finish(self) -> list[tuple[str]]:
        return [("the",), ("end",)]

    def close(self) -> None:
        self.closed = True


class Count(KeyedBolt):
    fields = ("key", "count")

    def process(self, key: Any, tup: Tuple) -> Any:  # noqa: ARG002
        count = self.state[key] = self.state.get(key, 0) + 1
        return key, count


class Double(BatchBolt):
    fields = ("n",)

    def process_batch(self, batch: pa.RecordBatch) -> Any:
        if batch.num_rows == 1:
            return batch
        return [batch, None, Emit(batch)]


def test_a_bolt_is_called_as_the_runtime_would() -> None:
    with BoltTester(Shout(), index=1, count=3) as tester:
        assert tester.process(word="hello") == [("HELLO",)]
        assert tester.process(word="HEY") == [("HEY",), Emit(("HEY", 3), stream="loud")]
        tester.clock.advance(2)
        assert tester.tick() == [(f"2 so far at {10**18 + 2 * 10**9}",)]
        assert tester.finish() == [("the",), ("end",)]
        assert (tester.bolt.context.index, tester.bolt.context.count) == (1, 3)  # type: ignore[attr-defined]
    assert tester.bolt.closed  # type: ignore[attr-defined]


def test_two_testers_of_one_bolt_do_not_meet() -> None:
    bolt, clock = Shout(), VirtualClock()
    first, second = BoltTester(bolt, clock=clock), BoltTester(bolt, clock=clock)
    first.process(word="a")
    assert first.bolt.seen == 1  # type: ignore[attr-defined]
    assert second.bolt.seen == 0  # type: ignore[attr-defined]


def test_a_tuple_can_be_made_beforehand_to_come_from_somewhere() -> None:
    tup = make_tuple(word="hello", source="lines", stream="raw")
    assert BoltTester(lambda tup: (tup.source, tup.stream), fields=("source", "stream")).process(tup) == [
        ("lines", "raw")
    ]


def test_what_a_bolt_raises_is_raised() -> None:
    with pytest.raises(AttributeError, match="word"):
        BoltTester(Shout()).process(line="no word")


def test_keys_of_one_and_of_several_fields() -> None:
    single, pair = BoltTester(Count(), by=("a",)), BoltTester(Count(), by=("b", "a"))
    for _ in range(2):
        single.process(a=1, b=2)
        pair.process(a=1, b=2)
    assert (single.state, pair.state) == ({1: 2}, {(2, 1): 2})


def test_a_keyed_bolt_needs_a_key() -> None:
    with pytest.raises(ValueError, match=r"Count is a KeyedBolt: wanted by="):
        BoltTester(Count())


def test_batches() -> None:
    tester = BoltTester(Double())
    one, two = pa.record_batch({"n": [1]}), pa.record_batch({"n": [1, 2]})
    assert tester.process_batch(one) == [one]
    assert tester.process_batch(two) == [two, Emit(two)]


@pytest.mark.parametrize(
    ("outputs", "error", "text"),
    [
        (("a", "b"), ValueError, "2 values for 1 fields"),
        ([("a",), ()], ValueError, "0 values for 1 fields"),
        (Emit(("a",), stream="missing"), ValueError, "no stream 'missing'"),
        ("a", TypeError, r"wanted a tuple, .* got the str 'a'"),
        ([["a"]], TypeError, r"wanted a tuple, .* got the list"),
        (7, TypeError, "wanted a tuple"),
        (pa.record_batch({"a": [1], "b": [2]}), ValueError, "2 values for 1 fields"),
    ],
    ids=repr,
)
def test_outputs_that_do_not_fit_are_refused(outputs: Any, error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text):
        BoltTester(lambda _: outputs, fields=("word",)).process(word="x")


def test_a_sink_may_emit_nothing() -> None:
    assert BoltTester(lambda _: None).process(word="x") == []
    with pytest.raises(ValueError, match="declares no stream 'default'"):
        BoltTester(lambda tup: tup).process(word="x")


def test_the_wrong_kind_of_call_is_refused() -> None:
    with pytest.raises(TypeError, match="takes record batches"):
        BoltTester(Double()).process(n=1)
    with pytest.raises(TypeError, match="takes tuples"):
        BoltTester(Shout()).process_batch(pa.record_batch({"n": [1]}))
    with pytest.raises(TypeError, match="no KeyedBolt"):
        _ = BoltTester(Shout()).state
