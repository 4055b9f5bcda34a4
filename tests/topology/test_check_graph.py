"""Streams that are not there, and groupings that do not fit."""

# ruff: noqa: ARG002, ARG005 - what matters is how it is joined, not what it does

from __future__ import annotations

from typing import Any

import pytest

from penstock.topology.bolts import BatchBolt, KeyedBolt
from penstock.topology.emit import Emit, Outputs
from penstock.topology.topology import Topology
from penstock.topology.tuples import Tuple
from tests.topology.complaints import Numbers, Same, complaints, only_complaint, topology_with_numbers


class Count(KeyedBolt):
    fields = ("n",)

    def process(self, key: Any, tup: Tuple) -> Outputs:
        return (key,)


class Pass(BatchBolt):
    fields = ("n",)

    def process_batch(self, batch: Any) -> Any:
        return batch


def sink(tup: Tuple) -> None: ...


def to_second(tup: Tuple) -> Outputs:
    return Emit((tup.n,), task=1)


def test_a_topology_wants_a_spout() -> None:
    assert only_complaint(Topology("empty")) == "wanted at least one spout, for tuples to come from, got none"


def test_a_bolt_wants_an_input() -> None:
    topo, _ = topology_with_numbers()
    topo.bolt("same", Same())
    assert only_complaint(topo).endswith(": wanted at least one input, such as lines.shuffle(), got none")


def test_a_spout_wants_none() -> None:
    topo, source = topology_with_numbers()
    topo.spout("more", Numbers(), source.shuffle())  # type: ignore[arg-type]
    assert only_complaint(topo).endswith(": wanted no input, because it is a spout, got numbers.shuffle()")


def test_a_handle_of_another_topology_is_foreign() -> None:
    other = Topology("other")
    foreign = other.spout("numbers", Numbers())
    topo, source = topology_with_numbers()
    topo.bolt("same", Same(), source.shuffle(), foreign.by("n"))
    wanted = ": input 2: wanted a stream of this topology, got numbers.by('n') of topology 'other'"
    assert only_complaint(topo).endswith(wanted)


def test_a_stream_without_a_grouping_is_no_input() -> None:
    topo, source = topology_with_numbers()
    topo.bolt("same", Same(), source)  # type: ignore[arg-type]
    problem = only_complaint(topo)
    assert "input 1: wanted a stream and how its tuples are shared out, got only the stream: " in problem
    assert "write numbers.shuffle(), numbers.by(...) or another grouping" in problem


def test_a_name_is_no_input() -> None:
    topo, source = topology_with_numbers()
    topo.bolt("same", Same(), source.shuffle(), "numbers")  # type: ignore[arg-type]
    assert only_complaint(topo).endswith(": input 2: wanted an input such as lines.shuffle(), got 'numbers'")


def test_an_unknown_stream_is_refused_with_the_nearest() -> None:
    topo = Topology("t")
    source = topo.spout("numbers", Numbers(), streams={"errors": ("why",)})
    topo.bolt("log", sink, source.stream("erorrs").shuffle())
    problem = only_complaint(topo)
    assert "numbers.stream('erorrs').shuffle(): wanted one of the streams of 'numbers' ('default', 'errors')" in problem
    assert problem.endswith("got 'erorrs'; did you mean 'errors'?")


def test_a_component_without_fields_has_nothing_to_take() -> None:
    topo, source = topology_with_numbers()
    log = topo.bolt("log", sink, source.shuffle())
    topo.bolt("after", sink, log.by("n"))
    assert "log.by('n'): 'log' declares no fields, so it emits nothing" in only_complaint(topo)


@pytest.mark.parametrize("method", ["by", "partial_key", "gather"])
def test_unknown_fields_are_refused_with_the_nearest(method: str) -> None:
    topo, numbers = topology_with_numbers()
    source = topo.bolt("words", lambda tup: tup, numbers.shuffle(), fields=("word", "count"))
    topo.bolt("a", sink, getattr(source, method)("wrod"))
    topo.bolt("b", sink, getattr(source, method)())
    topo.bolt("c", sink, getattr(source, method)("word", "word"))
    topo.bolt("d", sink, getattr(source, method)("count", "word"))
    a, b, c = complaints(topo)
    assert a.endswith(
        f"words.{method}('wrod'): wanted fields of that stream ('word', 'count'), got 'wrod'; did you mean 'word'?"
    )
    assert b.endswith(f"words.{method}(): wanted at least one of the fields 'word', 'count', got none")
    assert c.endswith(f"words.{method}('word', 'word'): 'word' is there twice")


def test_an_unknown_broadcast_algorithm_is_refused_with_the_nearest() -> None:
    topo, source = topology_with_numbers()
    topo.bolt("a", sink, source.broadcast("rings"))
    for number, algorithm in enumerate(("auto", "serial", "flat", "binary", "ring", "two_way_ring")):
        topo.bolt(f"b{number}", sink, source.broadcast(algorithm))
    problem = only_complaint(topo)
    assert "wanted one of 'auto', 'serial', 'flat', 'binary', 'ring', 'two_way_ring'" in problem
    assert problem.endswith("got 'rings'; did you mean 'ring'?")


def test_what_cannot_be_gathered_is_refused() -> None:
    topo, source = topology_with_numbers()
    answers = topo.bolt("shard", lambda tup: tup, source.broadcast(), tasks=2, fields=("n", "by"))
    taken = topo.bolt("taken", lambda tup: tup, source.broadcast(), tasks=2, fields=("n", "answers"))
    topo.bolt("a", sink, source.gather("n"))
    topo.bolt("b", sink, taken.gather("n"))
    topo.bolt("c", Pass(), answers.gather("n"))
    topo.bolt("d", sink, answers.gather("n", timeout_s=0))
    topo.bolt("e", sink, answers.gather("n", timeout_s="30"))  # type: ignore[arg-type]
    topo.bolt("good", sink, answers.gather("by", "n", timeout_s=5))
    topo.bolt("keyed", Count(), answers.gather("n"), source.by("n"))
    a, b, c, d, e = complaints(topo)
    assert a.endswith("wanted the stream of a bolt, whose tasks answer, got that of the spout 'numbers'")
    assert b.endswith("the answers come as a field 'answers', but that stream has one already; call it otherwise")
    assert c.endswith("shard.gather('n'): Pass is a BatchBolt, but answers come as tuples; use a Bolt")
    assert d.endswith("timeout_s: wanted a number of seconds above 0, got 0")
    assert e.endswith("timeout_s: wanted a number of seconds above 0, got '30'")


def test_a_custom_grouping_has_to_be_a_function_of_values_and_count() -> None:
    topo, source = topology_with_numbers()
    topo.bolt("a", sink, source.custom(3))  # type: ignore[arg-type]
    topo.bolt("b", sink, source.custom(lambda values: 0))  # type: ignore[arg-type, misc]
    topo.bolt("c", sink, source.custom(lambda values, count: 0))
    a, b = complaints(topo)
    assert a.endswith("numbers.custom(3): wanted a function of values and count, got 3")
    assert b.endswith("wanted to call it with (values, count), but it takes (values)")


def test_combine_has_to_be_a_function_of_two() -> None:
    topo, source = topology_with_numbers()
    topo.bolt("a", sink, source.to_one(combine=3))  # type: ignore[arg-type]
    topo.bolt("b", sink, source.to_one(combine=lambda a: a))  # type: ignore[arg-type, misc]
    topo.bolt("c", sink, source.to_one(combine=lambda a, b: (a.n + b.n,)))
    a, b = complaints(topo)
    assert a.endswith("numbers.to_one(3): wanted a function of a and b, got 3")
    assert b.endswith("wanted to call it with (a, b), but it takes (a)")


def test_the_same_input_twice_is_refused() -> None:
    topo, source = topology_with_numbers()
    topo.bolt("a", sink, source.by("n"), source.by("n"))
    assert only_complaint(topo).endswith("it takes numbers.by('n') twice, and so every tuple of it")


@pytest.mark.parametrize("method", ["shuffle", "local_or_shuffle", "broadcast", "to_one", "direct"])
def test_a_keyed_bolt_wants_a_key(method: str) -> None:
    topo, source = topology_with_numbers()
    topo.bolt("count", Count(), getattr(source, method)())
    wanted = f"numbers.{method}(): Count is a KeyedBolt, so wanted by(...), which tells it the key, got {method}()"
    assert only_complaint(topo).endswith(wanted)


def test_a_keyed_bolt_wants_whole_keys() -> None:
    topo, source = topology_with_numbers()
    topo.bolt("count", Count(), source.partial_key("n"))
    assert "but partial_key spreads a key over two; use by(...), or a StatefulBolt" in only_complaint(topo)


def test_a_keyed_bolt_wants_keys_of_one_length() -> None:
    topo = Topology("t")
    pairs = topo.spout("pairs", Numbers(), fields=("a", "b"))
    numbers = topo.spout("numbers", Numbers())
    topo.bolt("good", Count(), pairs.by("a"), numbers.by("n"))
    topo.bolt("bad", Count(), pairs.by("a", "b"), numbers.by("n"))
    problem = only_complaint(topo)
    assert problem.startswith("bolt 'bad'")
    assert problem.endswith(
        "wanted keys of as many fields from every input, got pairs.by('a', 'b') and numbers.by('n')"
    )


def test_a_stream_that_is_taken_by_direct_can_be_tapped() -> None:
    topo, source = topology_with_numbers()
    routed = topo.bolt("route", to_second, source.shuffle(), fields=("n",))
    topo.bolt("direct", sink, routed.direct(), tasks=2)
    topo.bolt("tap", sink, routed.shuffle())
    assert complaints(topo) == []


def test_a_batch_bolt_takes_any_grouping() -> None:
    topo, source = topology_with_numbers()
    for number, taken in enumerate((source.shuffle(), source.by("n"), source.broadcast(), source.to_one())):
        topo.bolt(f"pass{number}", Pass(), taken)
    assert complaints(topo) == []
