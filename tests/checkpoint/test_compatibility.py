"""Which changed topologies can go on from a checkpoint, and what is said of those that cannot."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from penstock.checkpoint.compatibility import differences
from penstock.checkpoint.shape import SavedComponent, SavedInput, SavedKind, SavedShape, saved_shape
from penstock.connectors.collect import Collect
from penstock.connectors.parquet_sink import ParquetSink
from penstock.topology.bolts import BatchBolt, KeyedBolt, StatefulBolt
from penstock.topology.topology import Topology
from tests.checkpoint.strategies import components, shapes


def _shape(*components: SavedComponent) -> SavedShape:
    return SavedShape(topology="t", components=components)


def _component(kind: SavedKind, **changes: Any) -> SavedComponent:
    return SavedComponent(name="it", kind=kind, **changes)


def _keyed(*groupings: str, tasks: int = 1) -> SavedComponent:
    inputs = tuple(SavedInput(source="s", stream="default", grouping=grouping) for grouping in groupings)
    return _component("keyed", inputs=inputs, tasks=tasks)


@given(shapes)
def test_nothing_keeps_a_topology_from_going_on_from_itself(shape: SavedShape) -> None:
    assert differences(shape, shape) == []


_stateless = st.lists(
    components(st.sampled_from(["upper", "lower", "trim"])).map(lambda component: replace(component, kind="bolt")),
    unique_by=lambda component: component.name,
)


@given(shapes, shapes, _stateless, _stateless, st.data())
def test_order_and_what_has_no_state_do_not_matter(
    old: SavedShape, new: SavedShape, one: list[SavedComponent], other: list[SavedComponent], data: Any
) -> None:
    def mixed(shape: SavedShape, others: list[SavedComponent]) -> SavedShape:
        return replace(shape, components=tuple(data.draw(st.permutations([*shape.components, *others]))))

    assert sorted(differences(mixed(old, one), mixed(new, other))) == sorted(differences(old, new))


@given(shapes, st.data())
def test_keyed_and_stateless_parts_and_sinks_may_change_their_number_of_tasks(shape: SavedShape, data: Any) -> None:
    changed = tuple(
        component
        if component.kind in ("spout", "stateful")
        else replace(component, tasks=data.draw(st.integers(1, 9), label=component.name))
        for component in shape.components
    )
    assert differences(shape, replace(shape, components=changed)) == []


GONE = {
    "spout": "spout 'it' is gone, and with it the positions that the checkpoint has for it",
    "stateful": "stateful 'it' is gone, and with it the state that the checkpoint has for it",
    "keyed": "keyed 'it' is gone, and with it the state by key that the checkpoint has for it",
    "sink": "sink 'it' is gone, and with it what it prepared but perhaps did not commit",
    "collect": "collect 'it' is gone, and with it the rows that it has collected",
}
NEW = {
    "spout": "spout 'it' is new: the checkpoint has no positions for it",
    "stateful": "stateful 'it' is new: the checkpoint has no state for it",
    "keyed": "keyed 'it' is new: the checkpoint has no state by key for it",
}


@pytest.mark.parametrize("kind", ["spout", "bolt", "stateful", "keyed", "batch", "sink", "collect"])
def test_components_that_come_and_go(kind: SavedKind) -> None:
    there, empty = _shape(_component(kind)), _shape()
    assert differences(there, empty) == ([GONE[kind]] if kind in GONE else [])
    assert differences(empty, there) == ([NEW[kind]] if kind in NEW else [])


def test_what_is_tied_to_its_number_of_tasks() -> None:
    assert differences(_shape(_component("stateful", tasks=2)), _shape(_component("stateful", tasks=1))) == [
        "stateful 'it' has 1 task, but 2 in the checkpoint: each task has a state of its own; "
        "a KeyedBolt's state can be shared out anew"
    ]
    assert differences(_shape(_component("spout", tasks=1)), _shape(_component("spout", tasks=3))) == [
        "spout 'it' has 3 tasks, but 1 in the checkpoint: each position belongs to one task"
    ]


@pytest.mark.parametrize(
    ("old", "new", "may"),
    [
        ("bolt", "batch", True),
        ("batch", "bolt", True),
        ("bolt", "sink", True),
        ("sink", "bolt", False),
        ("bolt", "collect", True),
        ("collect", "bolt", False),
        ("collect", "sink", False),
        ("bolt", "keyed", False),
        ("keyed", "bolt", False),
        ("keyed", "stateful", False),
        ("spout", "bolt", False),
    ],
)
def test_a_component_becomes_another_kind(old: SavedKind, new: SavedKind, may: bool) -> None:
    found = differences(_shape(_component(old)), _shape(_component(new)))
    assert found == ([] if may else [f"'it' is a {new}, but a {old} in the checkpoint"])


def test_keys_have_to_be_the_same() -> None:
    assert differences(_shape(_keyed("by('word')")), _shape(_keyed("by('word')", "by('word')", tasks=4))) == []
    assert differences(_shape(_keyed("by('word')")), _shape(_keyed("by('user', 'word')"))) == [
        "keyed 'it' is grouped by('user', 'word'), but by('word') in the checkpoint: its keys are others"
    ]


def test_another_topology_altogether() -> None:
    assert differences(_shape(), SavedShape(topology="u")) == ["the topology is called 'u', but 't' in the checkpoint"]


class _Stateful(StatefulBolt):
    pass


class _Keyed(KeyedBolt):
    pass


class _Batch(BatchBolt):
    pass


def test_the_shape_of_what_the_user_built() -> None:
    topo = Topology("t")
    lines = topo.spout("lines", lambda: iter(()), tasks=2, fields=("line",), streams={"errors": ("code",)})
    topo.bolt("function", lambda tup: (tup.line,), lines.shuffle())
    topo.bolt("stateful", _Stateful(), lines.to_one())
    topo.bolt("keyed", _Keyed(), lines.by("line"), lines.stream("errors").by("code"), tasks=3)
    topo.bolt("batch", _Batch(), lines.broadcast("ring"))
    topo.bolt("sink", ParquetSink("out"), lines.shuffle())
    topo.bolt("collect", Collect(), lines.shuffle())

    shape = saved_shape(topo)

    assert shape.topology == "t"
    kinds = {component.name: component.kind for component in shape.components}
    assert kinds == {
        "lines": "spout",
        "function": "bolt",
        "stateful": "stateful",
        "keyed": "keyed",
        "batch": "batch",
        "sink": "sink",
        "collect": "collect",
    }
    by_name = {component.name: component for component in shape.components}
    assert by_name["lines"].tasks == 2
    assert by_name["lines"].streams == {"default": ("line",), "errors": ("code",)}
    assert by_name["keyed"].inputs == (
        SavedInput(source="lines", stream="default", grouping="by('line')"),
        SavedInput(source="lines", stream="errors", grouping="by('code')"),
    )
    assert by_name["batch"].inputs[0].grouping == "broadcast('ring')"
