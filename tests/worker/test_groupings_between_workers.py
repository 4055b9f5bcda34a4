"""Every grouping from end to end: which task gets what, when tasks are in one worker and when they are not."""

from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest

from penstock.testing import CapturedSink, FedSpout, run_topology
from penstock.topology.bolts import Bolt, KeyedBolt
from penstock.topology.context import TaskContext
from penstock.topology.emit import Emit
from penstock.topology.groupings import Grouping
from penstock.topology.streams import Component, Input
from penstock.topology.topology import Topology
from penstock.topology.tuples import Tuple
from penstock.transport.stable_hash import stable_hash

WORDS = [f"word {number % 7}" for number in range(70)]
TASKS = 3

worker_counts = pytest.mark.parametrize("workers", [1, 2, 4])


class Placed(Bolt):
    """Says which task got what."""

    fields = ("index", "worker", "word")

    def open(self, context: TaskContext) -> None:
        self.index, self.worker = context.index, context.worker

    def process(self, tup: Tuple) -> Iterator[Any]:
        yield self.index, self.worker, tup.word


def places(take: Any, *, workers: int, spout_tasks: int = 1) -> list[tuple[int, int, str]]:
    topo, sink = Topology("groupings"), CapturedSink()
    words: Component = topo.spout("words", FedSpout([(word,) for word in WORDS], fields=("word",)), tasks=spout_tasks)
    taken: Input = take(words)
    topo.bolt("sink", sink, topo.bolt("placed", Placed(), taken, tasks=TASKS).shuffle())
    result = run_topology(topo, workers=workers)
    assert result.failures == []
    assert isinstance(taken.subscription.grouping, Grouping)
    return [(index, worker, word) for index, worker, word in sink.values]


def words_of(found: list[tuple[int, int, str]]) -> Counter[str]:
    return Counter(word for _, _, word in found)


@worker_counts
def test_shuffle(workers: int) -> None:
    found = places(lambda stream: stream.shuffle(), workers=workers)
    assert words_of(found) == Counter(WORDS)
    assert sorted(Counter(index for index, _, _ in found).values()) == [23, 23, 24]


@worker_counts
@pytest.mark.parametrize("spout_tasks", [1, 3])
def test_by_is_the_same_whoever_emits_and_wherever_tasks_are(workers: int, spout_tasks: int) -> None:
    found = places(lambda stream: stream.by("word"), workers=workers, spout_tasks=spout_tasks)
    assert words_of(found) == Counter(WORDS)
    assert all(index == stable_hash(word) % TASKS for index, _, word in found)


@worker_counts
def test_partial_key(workers: int) -> None:
    found = places(lambda stream: stream.partial_key("word"), workers=workers)
    assert words_of(found) == Counter(WORDS)
    assert all(len({index for index, _, other in found if other == word}) <= 2 for word in set(WORDS))


@worker_counts
def test_broadcast(workers: int) -> None:
    found = places(lambda stream: stream.broadcast(), workers=workers)
    for task in range(TASKS):
        assert Counter(word for index, _, word in found if index == task) == Counter(WORDS)


@worker_counts
def test_to_one(workers: int) -> None:
    found = places(lambda stream: stream.to_one(), workers=workers)
    assert words_of(found) == Counter(WORDS)
    assert {index for index, _, _ in found} == {0}


@worker_counts
def test_custom(workers: int) -> None:
    found = places(lambda stream: stream.custom(lambda values, count: int(values[0][-1]) % count), workers=workers)
    assert words_of(found) == Counter(WORDS)
    assert all(index == int(word[-1]) % TASKS for index, _, word in found)


def test_local_or_shuffle_stays_in_the_worker_where_it_can() -> None:
    found = places(lambda stream: stream.local_or_shuffle(), workers=2)
    # By `even` the spout is on worker 0, and the three tasks on 1, 0 and 1.
    assert {(index, worker) for index, worker, _ in found} == {(1, 0)}
    assert words_of(found) == Counter(WORDS)


def test_local_or_shuffle_is_a_shuffle_where_no_task_is_near() -> None:
    found = places(lambda stream: stream.local_or_shuffle(), workers=4)
    assert sorted(Counter(index for index, _, _ in found).values()) == [23, 23, 24]


@worker_counts
def test_direct(workers: int) -> None:
    topo, sink = Topology("direct"), CapturedSink()
    feed = [Emit((word,), task=position % TASKS) for position, word in enumerate(WORDS)]
    words = topo.spout("words", FedSpout(feed, fields=("word",)))
    topo.bolt("sink", sink, topo.bolt("placed", Placed(), words.direct(), tasks=TASKS).shuffle())
    run_topology(topo, workers=workers)

    for task in range(TASKS):
        assert [word for index, _, word in sink.values if index == task] == WORDS[task::TASKS]


class Pairs(KeyedBolt):
    """Counts by two fields, and says what key it was given."""

    fields = ("key", "count")

    def process(self, key: Any, tup: Tuple) -> Any:
        assert key == (tup.b, tup.a)
        count = self.state[key] = self.state.get(key, 0) + 1
        return "/".join(map(str, key)), count


@worker_counts
def test_a_key_of_several_fields(workers: int) -> None:
    rows = [(number % 3, f"b{number % 2}", number) for number in range(60)]
    topo, sink = Topology("pairs"), CapturedSink()
    pairs = topo.bolt(
        "pairs", Pairs(), topo.spout("rows", FedSpout(rows, fields=("a", "b", "n"))).by("b", "a"), tasks=3
    )
    topo.bolt("sink", sink, pairs.shuffle())
    assert run_topology(topo, workers=workers).failures == []

    last = dict(sorted(sink.values))
    assert last == {f"b{b}/{a}": 10 for a in range(3) for b in range(2)}


@worker_counts
def test_named_streams_go_to_who_takes_them(workers: int) -> None:
    class Sorting(Bolt):
        fields = ("word",)
        streams = {"odd": ("word", "number"), "unheard": ("word",)}  # noqa: RUF012

        def process(self, tup: Tuple) -> Iterator[Any]:
            number = int(tup.word[-1])
            if number % 2:
                yield Emit((tup.word, number), stream="odd")
            else:
                yield (tup.word,)
            yield Emit((tup.word,), stream="unheard")

    topo, even, odd = Topology("streams"), CapturedSink(), CapturedSink()
    words = topo.spout("words", FedSpout([(word,) for word in WORDS], fields=("word",)))
    sorting = topo.bolt("sorting", Sorting(), words.shuffle(), tasks=2)
    topo.bolt("even", even, sorting.shuffle())
    topo.bolt("odd", odd, sorting.stream("odd").by("number"), tasks=2)
    result = run_topology(topo, workers=workers)

    assert Counter(even.values) == Counter((word,) for word in WORDS if int(word[-1]) % 2 == 0)
    assert Counter(odd.values) == Counter((word, int(word[-1])) for word in WORDS if int(word[-1]) % 2)
    assert {(tup.source, tup.stream, tup.fields) for tup in odd.tuples} == {("sorting", "odd", ("word", "number"))}
    assert result.counts["sorting"].emitted == 2 * len(WORDS)


@worker_counts
def test_a_bolt_can_take_the_same_stream_twice_and_several_streams(workers: int) -> None:
    topo, sink = Topology("joined"), CapturedSink()
    first = topo.spout("first", FedSpout([(1,)], fields=("n",)))
    second = topo.spout("second", FedSpout([(2,)], fields=("m",)))
    topo.bolt("sink", sink, first.shuffle(), first.broadcast(), second.to_one(), tasks=2)
    run_topology(topo, workers=workers)

    assert Counter((tup.source, tuple(tup)) for tup in sink.tuples) == {("first", (1,)): 3, ("second", (2,)): 1}
