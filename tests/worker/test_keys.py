"""Keys that Spark holds for one are one everywhere: in state, saved, moved and shared out, and in every grouping."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.connectors.collect import Collect
from penstock.connectors.lines import Lines
from penstock.flow.delivery import Delivery
from penstock.testing import BoltTester, CapturedSink, run_topology
from penstock.topology.bolts import Bolt, KeyedBolt
from penstock.topology.groupings import By, Gather, Grouping, PartialKey
from penstock.topology.topology import Topology
from penstock.topology.tuples import Tuple
from penstock.transport.canonical_key import FrozenDict
from tests.tries import tried
from tests.worker.capturing import Board
from tests.worker.moved_word_count import moves_and_scales, rows_of_a_run

# What makes a key, anew each time, and as what it is shown.
KEYS: list[tuple[Callable[[], Any], str]] = [
    (lambda: float("nan"), "nan"),
    (lambda: -float("nan"), "nan"),
    (lambda: 0.0, "0.0"),
    (lambda: -0.0, "0.0"),
    (lambda: None, "None"),
    (lambda: 0.5, "0.5"),
    (lambda: ("a", float("nan")), "('a', nan)"),
    (lambda: ["a", float("nan")], "('a', nan)"),
    (lambda: {"x": float("nan"), "y": [-0.0]}, "FrozenDict({'x': nan, 'y': (0.0,)})"),
    (lambda: "nan", "'nan'"),
]


class Odd(Bolt):
    fields = ("key",)

    def process(self, tup: Tuple) -> tuple[Any]:
        return (KEYS[tup.n % len(KEYS)][0](),)


class Count(KeyedBolt):
    fields = ("shown", "count")

    def process(self, key: Any, tup: Tuple) -> Iterator[Any]:  # noqa: ARG002
        count = self.state[key] = self.state.get(key, 0) + 1
        yield repr(key), count


def counting(numbers: int) -> Topology:
    topo = Topology("odd-keys")
    spout = topo.spout("numbers", Lines(range(numbers), fields=("n",)), tasks=2)
    keys = topo.bolt("split", Odd(), spout.shuffle(), tasks=2)
    counts = topo.bolt("count", Count(), keys.by("key"), tasks=3)
    topo.bolt("all", Collect(), counts.shuffle())
    return topo


def counted(numbers: int) -> Counter[tuple[str, int]]:
    totals = Counter(KEYS[number % len(KEYS)][1] for number in range(numbers))
    return Counter((shown, count) for shown, total in totals.items() for count in range(1, total + 1))


@pytest.mark.parametrize(
    ("delivery", "kills"), [("at_most_once", 0), ("at_least_once", 0), ("exactly_once", 0), ("exactly_once", 4)]
)
@tried(6)
@given(seed=st.integers(0, 2**32))
def test_each_key_is_counted_once_whatever_dies_moves_or_is_scaled(delivery: Delivery, kills: int, seed: int) -> None:
    assert rows_of_a_run(seed, delivery, counting(400), moves_and_scales, kills=kills) == counted(400)


@pytest.mark.parametrize("tasks", [1, 3])
@pytest.mark.parametrize("grouping", [By(("key",)), Gather(("key",)), PartialKey(("key",)), By(("other", "key"))])
def test_all_tuples_of_a_key_take_the_same_way(grouping: Grouping, tasks: int) -> None:
    board = Board(grouping, tasks=tasks, fields=("key", "other", "shown"))
    arrived = board.emit(*((make(), 1, shown) for make, shown in KEYS for _ in range(10)))

    assert sum(map(len, arrived)) == 10 * len(KEYS)
    ways = 2 if isinstance(grouping, PartialKey) else 1
    for shown in {shown for _, shown in KEYS}:
        assert sum(any(row[2] == shown for row in rows) for rows in arrived) <= ways


@pytest.mark.parametrize(
    "column",
    [
        pa.array([float("nan"), -float("nan")] * 3),
        pa.array([0.0, -0.0] * 3),
        pa.array([[1.0, float("nan"), None], [1.0, -float("nan"), None]] * 3),
        pa.array([{"a": 1, "b": float("nan")}, {"a": 1, "b": float("nan")}] * 3),
        pa.array([[("a", 1), ("b", 2)], [("b", 2), ("a", 1)]] * 3, pa.map_(pa.string(), pa.int64())),
        pa.array([[({"a": 1}, 2)], [({"a": 1}, 2)]], pa.map_(pa.struct([("a", pa.int64())]), pa.int64())),
    ],
    ids=lambda column: str(column.type),
)
@pytest.mark.parametrize("grouping", [By(("key",)), PartialKey(("key",))])
def test_rows_of_record_batches_go_where_tuples_go(grouping: Grouping, column: pa.Array) -> None:
    rows = Board(grouping, tasks=7, fields=("key",)).emit(pa.record_batch({"key": column}))

    assert sum(map(bool, rows)) <= (2 if isinstance(grouping, PartialKey) else 1)
    assert sum(map(len, rows)) == len(column)


def test_answers_are_gathered_by_such_keys() -> None:
    topo, sink = Topology("gathering"), CapturedSink()
    number_of = {shown: number for number, (_, shown) in enumerate(KEYS)}
    numbers = topo.spout("numbers", Lines([*number_of.values()], fields=("n",)))
    answers = topo.bolt("ask", Odd(), numbers.broadcast(), tasks=3)
    gathered = topo.bolt(
        "gathered",
        lambda tup: (repr(tup.key), len(tup.answers)),
        answers.gather("key"),
        tasks=2,
        fields=("shown", "count"),
    )
    topo.bolt("sink", sink, gathered.shuffle())

    result = run_topology(topo, workers=3)

    assert not result.failures
    assert Counter(sink.values) == Counter((shown, 3) for shown in number_of)


def test_a_tested_bolt_is_given_the_keys_of_a_run_and_tuples_as_they_are() -> None:
    seen = []

    class Seeing(KeyedBolt):
        def process(self, key: Any, tup: Tuple) -> None:
            seen.append((key, tup.key))
            self.state[key] = self.state.get(key, 0) + 1

    with BoltTester(Seeing(), by=("key",)) as tester:
        for make, _ in KEYS:
            tester.process(key=make())
        assert Counter({repr(key): count for key, count in tester.state.items()}) == Counter(shown for _, shown in KEYS)
    (negative,) = (value for key, value in seen if repr(value) == "-0.0")
    assert negative == 0
    (struct,) = (value for key, value in seen if isinstance(key, FrozenDict))
    assert type(struct) is dict
