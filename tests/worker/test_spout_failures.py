"""Exceptions of spouts: they are nobody's fault but the spout's own, which is asked again after a pause, or no more."""

import sys
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest

from penstock.connectors.lines import Lines
from penstock.errors import RunError
from penstock.flow.delivery import Delivery
from penstock.testing import CapturedSink, LocalCluster, run_topology
from penstock.topology.emit import Emit
from penstock.topology.spouts import Spout
from penstock.topology.topology import Topology
from penstock.worker.settings import WorkerSettings

DELIVERIES: list[Delivery] = ["at_most_once", "at_least_once", "exactly_once"]


class Stumbling(Spout):
    """Raises once before each of its numbers but the first, also right after it has emitted one in the same turn."""

    fields = ("n",)

    def __init__(self, count: int = 20) -> None:
        self.count = count
        self.at = 0
        self.raised_at = 0

    def next(self) -> Any:
        if self.at >= self.count:
            raise StopIteration
        if self.raised_at < self.at:
            self.raised_at = self.at
            message = "stumbled"
            raise OSError(message)
        self.at += 1
        return (self.at - 1,)

    def position(self) -> int:
        return self.at

    def seek(self, position: int) -> None:
        self.at = self.raised_at = position


@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize("delivery", DELIVERIES)
def test_an_exception_of_a_spout_is_not_blamed_on_what_it_emitted_before(delivery: Delivery, workers: int) -> None:
    topo, sink, letters = Topology("stumbling"), CapturedSink(), CapturedSink()
    numbers = topo.spout("numbers", Stumbling())
    topo.bolt("sink", sink, numbers.shuffle())
    topo.bolt("letters", letters, numbers.dead_letters().to_one())
    result = run_topology(topo, workers=workers, delivery=delivery, settings=WorkerSettings(max_tries=1))

    assert Counter(sink.values) == Counter((n,) for n in range(20)), "each once: nothing was emitted again"
    assert letters.values == []
    [failure] = result.failures
    assert (failure.component, failure.message, failure.count) == ("numbers", "stumbled", 19)


class Acknowledged(Stumbling):
    """Is told of each of its tuples."""

    told: Counter[tuple[str, int]]

    def __init__(self) -> None:
        super().__init__()
        self.told = Counter()

    def next(self) -> Any:
        (number,) = super().next()
        return Emit((number,), id=number)

    def ack(self, id: int) -> None:
        self.told["ack", id] += 1

    def fail(self, id: int) -> None:
        self.told["fail", id] += 1

    def __deepcopy__(self, memo: Any) -> "Acknowledged":
        return self


def test_a_spout_that_raises_hears_no_failure_of_what_was_processed() -> None:
    topo, spout = Topology("acknowledged"), Acknowledged()
    topo.bolt("sink", CapturedSink(), topo.spout("numbers", spout).shuffle())
    run_topology(topo, workers=2)

    assert spout.told == Counter({("ack", number): 1 for number in range(20)})


class HalfWay(Spout):
    """What it gives is a generator that raises half way, every other time."""

    fields = ("n",)

    def __init__(self) -> None:
        self.calls = 0

    def next(self) -> Any:
        self.calls += 1
        if self.calls > 10:
            raise StopIteration
        return self._some(self.calls)

    def _some(self, call: int) -> Iterator[Any]:
        yield (10 * call,)
        yield (10 * call + 1,)
        if call % 2:
            message = "half way"
            raise OSError(message)
        yield (10 * call + 2,)


@pytest.mark.parametrize("delivery", ["at_most_once", "at_least_once"])
def test_what_came_before_an_exception_half_way_is_emitted_once(delivery: Delivery) -> None:
    topo, sink = Topology("half-way"), CapturedSink()
    topo.bolt("sink", sink, topo.spout("numbers", HalfWay()).shuffle())
    result = run_topology(topo, workers=2, delivery=delivery)

    whole = [(10 * call + n,) for call in range(1, 11) for n in range(2 if call % 2 else 3)]
    assert Counter(sink.values) == Counter(whole)
    assert [(failure.component, failure.count) for failure in result.failures] == [("numbers", 5)]


class Broken(Spout):
    """Always raises."""

    fields = ("n",)

    def __init__(self) -> None:
        self.calls = 0

    def next(self) -> Any:
        self.calls += 1
        message = f"no connection ({self.calls})"
        raise ConnectionError(message)

    def __deepcopy__(self, memo: Any) -> "Broken":
        return self


@pytest.mark.parametrize("delivery", ["at_most_once", "at_least_once"])
def test_a_spout_that_always_raises_fails_the_run_after_so_many_times(delivery: Delivery) -> None:
    topo, broken = Topology("broken"), Broken()
    topo.bolt("sink", CapturedSink(), topo.spout("numbers", broken).shuffle())
    with pytest.raises(RunError) as failed:
        run_topology(topo, workers=2, delivery=delivery, settings=WorkerSettings(max_spout_failures=7))

    assert broken.calls == 7
    for told in ("'numbers'", "task 0", "7 times", "ConnectionError: no connection (7)"):
        assert told in str(failed.value)
    assert isinstance(failed.value.__cause__, ConnectionError)


def test_a_spout_that_fails_is_asked_again_after_pauses_while_others_go_on() -> None:
    topo, broken, sink = Topology("broken"), Broken(), CapturedSink()
    topo.bolt("nothing", CapturedSink(), topo.spout("numbers", broken).shuffle())
    topo.bolt("sink", sink, topo.spout("lines", Lines(range(1000), fields=("n",))).shuffle())
    with LocalCluster(topo, settings=WorkerSettings(max_spout_failures=1000)) as cluster:
        cluster.settle()
        assert len(sink.values) == 1000
        assert broken.calls == 1, "no virtual time has passed"
        cluster.advance(10.0)
        # 10, 20, … 640 ms make 1.27 s, and then a second each.
        assert 14 <= broken.calls <= 16
        cluster.drain()
        cluster.run_to_end()


class Recovering(Spout):
    """Raises some times in a row before each number."""

    fields = ("n",)

    def __init__(self, failures: int, count: int) -> None:
        self.failures = failures
        self.left = failures
        self.numbers = iter(range(count))

    def next(self) -> Any:
        if self.left:
            self.left -= 1
            message = "not yet"
            raise OSError(message)
        self.left = self.failures
        return (next(self.numbers),)


def test_only_failures_in_a_row_count() -> None:
    topo, sink = Topology("recovering"), CapturedSink()
    topo.bolt("sink", sink, topo.spout("numbers", Recovering(failures=4, count=10)).shuffle())
    result = run_topology(topo, settings=WorkerSettings(max_spout_failures=5))
    assert sink.values == [(n,) for n in range(10)]
    assert result.counts["numbers"].failed == 44

    with pytest.raises(RunError, match="4 times in a row"):
        run_topology(topo, settings=WorkerSettings(max_spout_failures=4))


def numbers_and_an_exception() -> Iterator[Any]:
    yield (1,)
    yield (2,)
    message = "broken"
    raise RuntimeError(message)


def numbers_and_an_exit() -> Iterator[Any]:
    yield (1,)
    yield (2,)
    sys.exit("enough")


def numbers_and_a_stray_stop() -> Iterator[Any]:
    yield (1,)
    yield (2,)
    yield (next(iter(())),)


@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize("delivery", ["at_most_once", "at_least_once"])
@pytest.mark.parametrize(
    ("numbers", "told"),
    [
        (numbers_and_an_exception, "RuntimeError: broken"),
        (numbers_and_an_exit, "SystemExit: enough"),
        (numbers_and_a_stray_stop, "RuntimeError: generator raised StopIteration"),
    ],
)
def test_a_generator_that_raises_fails_the_run(numbers: Any, told: str, delivery: Delivery, workers: int) -> None:
    topo = Topology("generator")
    topo.bolt("sink", CapturedSink(), topo.spout("numbers", numbers, fields=("n",)).shuffle())
    with pytest.raises(RunError, match="a generator cannot go on") as failed:
        run_topology(topo, workers=workers, delivery=delivery)
    for text in ("'numbers'", "task 0", told):
        assert text in str(failed.value)


class Wrapped(Spout):
    """A generator in a class: after an exception it is at its end, and looks as if that were all."""

    fields = ("n",)

    def open(self, context: Any) -> None:  # noqa: ARG002
        self.numbers = numbers_and_an_exception()

    def next(self) -> Any:
        return next(self.numbers)


def test_a_generator_within_a_spout_that_raised_is_no_normal_end() -> None:
    topo = Topology("wrapped")
    topo.bolt("sink", CapturedSink(), topo.spout("numbers", Wrapped()).shuffle())
    with pytest.raises(RunError, match="RuntimeError: broken"):
        run_topology(topo)


class Sums(Spout):
    """Its last line is a bad one, and it finds that in a generator that is made for that line alone."""

    fields = ("total",)

    def __init__(self) -> None:
        self.lines = iter(["1,2", "3,4", "5,x"])

    def next(self) -> Any:
        return (sum(int(value) for value in next(self.lines).split(",")),)


def test_a_generator_that_lives_for_one_call_may_raise_in_the_last() -> None:
    topo, sink = Topology("sums"), CapturedSink()
    topo.bolt("sink", sink, topo.spout("sums", Sums()).shuffle())
    result = run_topology(topo)
    assert sink.values == [(3,), (7,)]
    assert [failure.count for failure in result.failures] == [1]


class Chained(Spout):
    """Has its generator within an iterator, within a function, within a list."""

    fields = ("n",)

    def open(self, context: Any) -> None:  # noqa: ARG002
        numbers = map(tuple, numbers_and_an_exception())
        self.ways = [lambda: next(numbers)]

    def next(self) -> Any:
        return self.ways[0]()


def test_a_generator_that_is_hidden_in_a_spout_is_found() -> None:
    topo = Topology("chained")
    topo.bolt("sink", CapturedSink(), topo.spout("numbers", Chained()).shuffle())
    with pytest.raises(RunError, match="RuntimeError: broken"):
        run_topology(topo)


class EndsLate(Spout):
    """Fails once, and then finds that there was nothing more."""

    fields = ("n",)

    def __init__(self) -> None:
        self.calls = 0

    def next(self) -> Any:
        self.calls += 1
        if self.calls == 2:
            message = "timed out"
            raise TimeoutError(message)
        if self.calls > 2:
            raise StopIteration
        return (1,)


def test_a_spout_may_end_after_an_exception() -> None:
    topo, sink = Topology("ends-late"), CapturedSink()
    topo.bolt("sink", sink, topo.spout("numbers", EndsLate()).shuffle())
    result = run_topology(topo)
    assert sink.values == [(1,)]
    assert [failure.message for failure in result.failures] == ["timed out"]


@pytest.mark.parametrize("delivery", ["at_most_once", "at_least_once"])
def test_a_route_that_raises_stop_iteration_does_not_end_the_spout(delivery: Delivery) -> None:
    def route(values: Any, count: int) -> int:  # noqa: ARG001
        if values[0] == 3:
            raise StopIteration
        return 0

    def numbers() -> Iterator[Any]:
        yield from ((n,) for n in range(10))

    topo, sink = Topology("route"), CapturedSink()
    topo.bolt("sink", sink, topo.spout("numbers", numbers, fields=("n",)).custom(route))
    run_topology(topo, delivery=delivery)
    assert sorted(sink.values) == [(n,) for n in range(10) if n != 3]


def test_a_run_whose_spout_waits_can_be_drained() -> None:
    topo, sink = Topology("drained"), CapturedSink()
    topo.bolt("sink", sink, topo.spout("numbers", Broken()).shuffle())
    result = run_topology(topo, drain_after_s=0.3)
    assert result.counts["numbers"].failed < 10
