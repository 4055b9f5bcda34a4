"""Emissions that can be seen to be wrong, and all those about which there is no opinion."""

# ruff: noqa: ARG001, ARG002 - what matters is what comes out, not what comes in

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

import penstock.topology.emit as emitting
from penstock.topology.bolts import BatchBolt, Bolt, KeyedBolt
from penstock.topology.emit import Emit
from penstock.topology.topology import Topology
from tests.topology.complaints import Numbers, Same, complaints, only_complaint, topology_with_numbers


def line_of(function: Any, offset: int = 1) -> str:
    return f"test_check_emissions.py:{function.__code__.co_firstlineno + offset}"


def complaint_about(function: Any, fields: tuple[str, ...] | None = ("a", "b"), **settings: Any) -> str:
    topo, source = topology_with_numbers()
    topo.bolt("b", function, source.by("n"), fields=fields, **settings)
    return only_complaint(topo).partition("): ")[2]


def has_no_complaint(function: Any, fields: tuple[str, ...] | None = ("a", "b"), **settings: Any) -> bool:
    topo, source = topology_with_numbers()
    topo.bolt("b", function, source.by("n"), fields=fields, **settings)
    return complaints(topo) == []


WANTED = "wanted 2 values, for the fields 'a', 'b', got 1 value"


def returns_one(tup: Any) -> Any:
    return (tup.n,)


def yields_one(tup: Any) -> Any:
    yield (tup.n,)


def returns_a_list(tup: Any) -> Any:
    return [(tup.n,), None]


def returns_a_comprehension(tup: Any) -> Any:
    return [(n,) for n in range(tup.n)]


def yields_from(tup: Any) -> Any:
    yield from ((n,) for n in range(tup.n))


def returns_either(tup: Any) -> Any:
    return (tup.n,) if tup.n else None


def emits_one(tup: Any) -> Any:
    return Emit((tup.n,))


def emits_one_by_module(tup: Any) -> Any:
    return emitting.Emit(values=(tup.n,))


@pytest.mark.parametrize(
    "function",
    [
        returns_one,
        yields_one,
        returns_a_list,
        returns_a_comprehension,
        yields_from,
        returns_either,
        emits_one,
        emits_one_by_module,
    ],
)
def test_too_few_values_are_seen(function: Callable[..., Any]) -> None:
    assert complaint_about(function) == f"{line_of(function)}: {WANTED}"
    assert has_no_complaint(function, fields=("a",))


def test_too_many_values_are_seen_in_a_lambda() -> None:
    split = lambda tup: (tup.n, 2)  # noqa: E731
    assert complaint_about(split, ("a",)) == f"{line_of(split, 0)}: wanted 1 value, for the fields 'a', got 2 values"


def test_methods_are_looked_into() -> None:
    class Many(Bolt):
        fields = ("a", "b")
        tick_every_s = 1.0

        def process(self, tup: Any) -> Any:
            return (1,)

        def tick(self) -> Any:
            yield 1, 2, 3

        def finish(self) -> Any:
            return 1, 2

    topo, source = topology_with_numbers()
    topo.bolt("b", Many(), source.shuffle())
    process, tick = complaints(topo)
    assert process.endswith(f"{line_of(Many.process)}: {WANTED}")
    assert tick.endswith(f"{line_of(Many.tick)}: {WANTED.replace('1 value', '3 values')}")


def test_spouts_are_looked_into() -> None:
    class Wide(Numbers):
        fields = ("n",)

        def next(self) -> Any:
            return [(1, 2)]

    def wide() -> Iterator[Any]:
        yield 1, 2

    topo = Topology("t")
    topo.spout("class", Wide())
    topo.spout("function", wide, fields=("n",))
    first, second = complaints(topo)
    assert first.endswith(f"{line_of(Wide.next)}: wanted 1 value, for the fields 'n', got 2 values")
    assert second.endswith(f"{line_of(wide)}: wanted 1 value, for the fields 'n', got 2 values")


def test_a_key_is_no_field_by_itself() -> None:
    class Count(KeyedBolt):
        fields = ("key", "count", "at")

        def process(self, key: Any, tup: Any) -> Any:
            yield key, 1

    assert complaint_about(Count(), None).endswith("wanted 3 values, for the fields 'key', 'count', 'at', got 2 values")


def to_a_stream(tup: Any) -> Any:
    return Emit((1,), stream="erorrs")


def to_a_stream_by_position(tup: Any) -> Any:
    return Emit((1, 2), "errors")


def test_undeclared_streams_are_seen() -> None:
    streams = {"errors": ("why",)}
    assert complaint_about(to_a_stream, streams=streams) == (
        f"{line_of(to_a_stream)}: wanted one of its streams ('default', 'errors'), got 'erorrs'; did you mean 'errors'?"
    )
    assert complaint_about(to_a_stream_by_position, streams=streams) == (
        f"{line_of(to_a_stream_by_position)}: wanted 1 value, for the fields 'why', got 2 values"
    )


def test_emitting_without_fields_is_seen() -> None:
    wanted = f"{line_of(returns_one)}: it emits, but declares no fields: give it fields=(...)"
    assert complaint_about(returns_one, ()) == wanted


def returns_a_word(tup: Any) -> Any:
    return "word"


def yields_a_number(tup: Any) -> Any:
    yield 5


def yields_a_text(tup: Any) -> Any:
    yield f"{tup.n}"


def returns_a_dict(tup: Any) -> Any:
    return {"a": 1, "b": 2}


@pytest.mark.parametrize(
    ("function", "got"),
    [
        (returns_a_word, "the str 'word'"),
        (yields_a_number, "the int 5"),
        (yields_a_text, "a str"),
        (returns_a_dict, "a dict"),
    ],
)
def test_what_is_no_tuple_is_seen(function: Any, got: str) -> None:
    assert complaint_about(function) == f"{line_of(function)}: wanted tuples to emit, got {got}"


def test_a_batch_bolt_emits_no_tuples() -> None:
    class Single(BatchBolt):
        fields = ("a", "b")

        def process_batch(self, batch: Any) -> Any:
            yield 1, 2

    assert complaint_about(Single(), None).endswith("wanted record batches to emit, got a tuple of 2 values")


def test_message_ids_are_for_spouts() -> None:
    def anchored(tup: Any) -> Any:
        return Emit((1, 2), id=tup.n)

    assert "Emit(id=...) is for spouts" in complaint_about(anchored)


def to_the_third(tup: Any) -> Any:
    return Emit((tup.n,), task=2)


def to_some(tup: Any) -> Any:
    return Emit((tup.n,), task=tup.n)


def sink(tup: Any) -> None: ...


def test_who_names_a_task_has_to_be_taken_by_direct() -> None:
    topo, source = topology_with_numbers()
    routed = topo.bolt("route", to_some, source.shuffle(), fields=("n",))
    topo.bolt("sink", sink, routed.shuffle())
    assert only_complaint(topo).endswith("Emit(task=...) wants a subscriber by direct(), got route.shuffle()")


def test_who_is_taken_by_direct_has_to_name_a_task() -> None:
    topo, source = topology_with_numbers()
    same = topo.bolt("same", Same(), source.shuffle())
    passed = topo.bolt("pass", returns_one, same.shuffle(), fields=("n",))
    topo.bolt("sink", sink, passed.direct())
    wanted = "wanted Emit(..., task=index), because 'sink' takes it by direct(), got an output without a task"
    assert only_complaint(topo).endswith(wanted)


def test_a_named_task_has_to_be_there() -> None:
    topo, source = topology_with_numbers()
    routed = topo.bolt("route", to_the_third, source.shuffle(), fields=("n",))
    topo.bolt("sink", sink, routed.direct(), tasks=2)
    assert only_complaint(topo).endswith("wanted a task of 'sink', which has 2, got task=2")


def test_a_generator_cannot_raise_stop_iteration() -> None:
    class Ending(Numbers):
        def next(self) -> Any:
            yield (1,)
            raise StopIteration

    def ending() -> Iterator[Any]:
        yield (1,)
        raise StopIteration(1)

    topo = Topology("t")
    topo.spout("class", Ending())
    topo.spout("function", ending, fields=("n",))
    first, second = complaints(topo)
    assert first.endswith("StopIteration is an error where there is a yield: return the outputs as a list instead")
    assert f"{line_of(ending, 2)}: a generator ends by return, not by raising StopIteration" in second
