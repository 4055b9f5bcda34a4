"""Plain functions as bolts, generator functions as spouts."""

from __future__ import annotations

import functools
from collections.abc import Iterator

import pytest

from penstock.topology.context import TaskContext
from penstock.topology.functions import FunctionBolt, GeneratorSpout
from penstock.topology.tuples import Tuple, tuple_class

Line = tuple_class("lines", "default", ("line",))


def context(index: int = 0, count: int = 1) -> TaskContext:
    return TaskContext(topology="t", component="c", index=index, count=count)


def test_a_function_is_the_process_of_its_bolt() -> None:
    def upper(tup: Tuple) -> tuple[str]:
        return (tup.line.upper(),)

    bolt = FunctionBolt(upper)
    assert bolt.process is upper  # and not a method that calls it
    assert bolt.process(Line("a")) == ("A",)
    assert repr(bolt) == "test_a_function_is_the_process_of_its_bolt.upper()"


def test_a_generator_spout_ends_when_its_function_does() -> None:
    def two() -> Iterator[tuple[int] | None]:
        yield (1,)
        yield None
        yield (2,)

    spout = GeneratorSpout(two)
    spout.open(context())
    assert [spout.next(), spout.next(), spout.next()] == [(1,), None, (2,)]
    with pytest.raises(StopIteration):
        spout.next()


def test_a_generator_may_ask_for_the_context() -> None:
    def mine(context: TaskContext) -> Iterator[tuple[int, int]]:
        yield context.index, context.count

    for function in (mine, functools.partial(mine)):
        spout = GeneratorSpout(function)
        spout.open(context(index=1, count=3))
        assert spout.next() == (1, 3)


def test_a_parameter_with_a_default_is_left_alone() -> None:
    def counted(start: int = 5) -> Iterator[tuple[int]]:
        yield (start,)

    spout = GeneratorSpout(functools.partial(counted, start=7))
    spout.open(context())
    assert spout.next() == (7,)
    spout = GeneratorSpout(counted)
    spout.open(context())
    assert spout.next() == (5,)


def test_closing_lets_the_generator_clean_up() -> None:
    events = []

    def opened() -> Iterator[tuple[int]]:
        try:
            yield (1,)
            yield (2,)
        finally:
            events.append("closed")

    spout = GeneratorSpout(opened)
    spout.close()  # of one that was never opened
    spout.open(context())
    spout.next()
    spout.close()
    assert events == ["closed"]
