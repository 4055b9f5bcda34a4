"""Building a topology: what the plan and the worker find in it."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.errors import TopologyError
from penstock.topology.bolts import BatchBolt, Bolt, KeyedBolt, StatefulBolt
from penstock.topology.emit import Emit, Outputs
from penstock.topology.functions import FunctionBolt, GeneratorSpout
from penstock.topology.groupings import (
    Broadcast,
    By,
    Custom,
    Direct,
    Gather,
    Grouping,
    LocalOrShuffle,
    PartialKey,
    Shuffle,
    ToOne,
)
from penstock.topology.spec import Subscription
from penstock.topology.spouts import Spout
from penstock.topology.streams import Component, Stream
from penstock.topology.topology import Topology
from penstock.topology.tuples import Tuple
from tests.topology.complaints import Numbers, Same, complaints, numbers, topology_with_numbers


class Parse(Bolt):
    fields = ("n",)
    streams = {"errors": ("text", "why")}  # noqa: RUF012 - as users write it

    def process(self, tup: Tuple) -> Outputs:
        return Emit((tup.n, "bad"), stream="errors") if tup.n < 0 else (tup.n,)


class Count(KeyedBolt):
    fields = ("n", "count")

    def process(self, key: Any, tup: Tuple) -> Outputs:
        self.state[key] = self.state.get(key, 0) + tup.n
        return key, self.state[key]


class Total(StatefulBolt):
    fields = ("total",)
    tick_every_s = 1.5
    total = 0

    def process(self, tup: Tuple) -> None:
        self.total += tup.n

    def tick(self) -> Outputs:
        return (self.total,)

    def snapshot(self) -> int:
        return self.total

    def restore(self, state: int) -> None:
        self.total = state


class Double(BatchBolt):
    fields = ("n",)

    def process_batch(self, batch: Any) -> Any:
        yield batch


def everything() -> Topology:
    topo = Topology("everything")
    source = topo.spout("numbers", Numbers(), tasks=2)
    other = topo.spout("more", numbers, fields=("n",))
    parsed = topo.bolt("parse", Parse(), source.shuffle(), other.local_or_shuffle(), tasks=3)
    counted = topo.bolt("count", Count(), parsed.by("n"), source.by("n"), tasks=2)
    doubled = topo.bolt("double", Double(), parsed.partial_key("n"))
    topo.bolt("total", Total(), doubled.broadcast("ring"), counted.custom(lambda values, count: values[0] % count))
    topo.bolt("log", print, parsed.stream("errors").to_one())
    return topo


def test_a_good_topology_passes() -> None:
    assert complaints(everything()) == []
    assert complaints(everything(), shipped=True) == []


def test_the_specs_say_what_was_declared() -> None:
    components = everything().components
    assert list(components) == ["numbers", "more", "parse", "count", "double", "total", "log"]
    parse = components["parse"]
    assert (parse.name, parse.kind, parse.tasks) == ("parse", "bolt", 3)
    assert parse.streams == {"default": ("n",), "errors": ("text", "why")}
    assert parse.inputs == (
        Subscription("numbers", "default", Shuffle()),
        Subscription("more", "default", LocalOrShuffle()),
    )
    assert isinstance(components["more"].logic, GeneratorSpout)
    assert isinstance(components["log"].logic, FunctionBolt)
    assert components["log"].streams == {}
    assert components["log"].inputs == (Subscription("parse", "errors", ToOne()),)
    assert components["total"].settings.tick_every_s == 1.5
    assert components["parse"].settings.tick_every_s is None
    assert components["numbers"].kind == "spout"
    assert components["numbers"].inputs == ()


def test_the_place_of_a_declaration_is_remembered() -> None:
    file, _, line = everything().components["parse"].declared_at.partition(":")
    assert file == "test_topology.py"
    assert line.isdecimal()


def test_a_component_is_found_after_those_that_it_takes() -> None:
    seen: set[str] = set()
    for name, spec in everything().components.items():
        assert {taken.source for taken in spec.inputs} <= seen
        seen.add(name)


def test_the_topology_goes_before_the_class() -> None:
    topo, source = topology_with_numbers()
    topo.bolt("total", Total(), source.shuffle(), fields=["sum"], streams={"late": ["n"]}, tick_every_s=3)
    spec = topo.components["total"]
    assert spec.streams == {"default": ("sum",), "late": ("n",)}
    assert spec.settings.tick_every_s == 3


def test_fields_may_be_set_when_the_object_is_made() -> None:
    class Renamed(Spout):
        def __init__(self, *fields: str) -> None:
            self.fields = fields

        def next(self) -> Outputs:
            raise StopIteration

    topo = Topology("t")
    topo.spout("a", Renamed("x", "y"))
    assert topo.components["a"].streams == {"default": ("x", "y")}
    assert complaints(topo) == []


GROUPINGS: list[tuple[str, tuple[Any, ...], Grouping]] = [
    ("shuffle", (), Shuffle()),
    ("local_or_shuffle", (), LocalOrShuffle()),
    ("by", ("n",), By(("n",))),
    ("partial_key", ("n",), PartialKey(("n",))),
    ("broadcast", (), Broadcast("auto")),
    ("broadcast", ("two_way_ring",), Broadcast("two_way_ring")),
    ("gather", ("n",), Gather(("n",))),
    ("to_one", (), ToOne()),
    ("to_one", (divmod,), ToOne(divmod)),
    ("direct", (), Direct()),
    ("custom", (divmod,), Custom(divmod)),  # type: ignore[arg-type]
]


@pytest.mark.parametrize(("method", "arguments", "grouping"), GROUPINGS)
def test_groupings_are_methods_of_a_stream(method: str, arguments: tuple[Any, ...], grouping: Grouping) -> None:
    topo, source = topology_with_numbers()
    taken = getattr(source, method)(*arguments)
    topo.bolt("same", Same(), taken)
    assert topo.components["same"].inputs == (Subscription("numbers", "default", grouping),)
    shown = "divmod" if arguments == (divmod,) else ", ".join(map(repr, arguments))
    assert repr(taken) == f"numbers.{method}({shown})"


def test_a_handle_is_its_own_stream_and_knows_its_others() -> None:
    _, source = topology_with_numbers()
    assert isinstance(source, Component)
    assert source.name == "numbers"
    assert isinstance(source.stream("late"), Stream)
    assert repr(source.stream("late").by("n")) == "numbers.stream('late').by('n')"


@given(st.lists(st.lists(st.integers(0, 100), max_size=3), min_size=1, max_size=12))
def test_any_graph_that_can_be_built_passes(wiring: list[list[int]]) -> None:
    """Each bolt takes some of what is there before it; so there are no cycles to look for."""
    topo, source = topology_with_numbers()
    handles: list[Component] = [source]
    for number, picks in enumerate(wiring):
        sources = {pick % len(handles): handles[pick % len(handles)] for pick in picks} or {0: source}
        handles.append(topo.bolt(f"bolt{number}", Same(), *(handle.by("n") for handle in sources.values())))
    assert complaints(topo) == []
    assert len(topo.components) == len(wiring) + 1


def test_all_problems_are_told_at_once_in_order() -> None:
    topo, source = topology_with_numbers()
    topo.bolt("first", Same(), source.by("m"), tasks=0)
    topo.bolt("second", Same())
    with pytest.raises(TopologyError) as raised:
        topo.check()
    head, *problems = str(raised.value).splitlines()
    assert head == "topology 'checked' cannot run: 3 problems"
    assert [problem.split(" (")[0] for problem in problems] == ["  bolt 'first'", "  bolt 'first'", "  bolt 'second'"]


def test_a_topology_shows_its_size() -> None:
    assert repr(everything()) == "Topology('everything', 7 components)"
