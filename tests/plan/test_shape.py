"""From what the user built to tasks and edges with numbers."""

import pytest
from hypothesis import given

from penstock.errors import TopologyError
from penstock.plan.edges import Edge, edges_of, help_edges_of
from penstock.plan.shape import ComponentShape, InputShape, TopologyShape, shape_of
from penstock.plan.tasks import Task, tasks_of
from penstock.topology.topology import Topology
from tests.plan.strategies import shapes


def wordcount() -> Topology:
    def lines() -> object:
        yield ("a b",)

    topology = Topology("wordcount")
    source = topology.spout("lines", lines, tasks=2, fields=("line",))  # type: ignore[arg-type]
    words = topology.bolt("split", lambda tup: (tup.line,), source.shuffle(), tasks=2, fields=("word",))
    topology.bolt("count", lambda tup: (tup.word, 1), words.by("word"), source.broadcast(), fields=("word", "n"))
    return topology


def test_a_topology_has_the_shape_that_the_user_gave_it() -> None:
    shape = shape_of(wordcount())

    assert shape.name == "wordcount"
    assert [(part.name, part.kind, part.tasks) for part in shape.components] == [
        ("lines", "spout", 2),
        ("split", "bolt", 2),
        ("count", "bolt", 1),
    ]
    assert shape.components[2].inputs == (
        InputShape(source="split", stream="default", grouping="By"),
        InputShape(source="lines", stream="default", grouping="Broadcast"),
    )


def test_tasks_are_numbered_from_the_sources_down() -> None:
    assert tasks_of(shape_of(wordcount())) == (
        Task(id=0, component="lines", index=0, kind="spout"),
        Task(id=1, component="lines", index=1, kind="spout"),
        Task(id=2, component="split", index=0, kind="bolt"),
        Task(id=3, component="split", index=1, kind="bolt"),
        Task(id=4, component="count", index=0, kind="bolt"),
    )


def test_edges_say_which_input_of_their_target_they_are() -> None:
    assert edges_of(shape_of(wordcount())) == (
        Edge(id=0, source="lines", stream="default", target="split", input=0, grouping="Shuffle", helped=True),
        Edge(id=1, source="split", stream="default", target="count", input=0, grouping="By"),
        Edge(id=2, source="lines", stream="default", target="count", input=1, grouping="Broadcast"),
    )


def test_what_others_do_for_a_bolt_goes_where_its_own_work_goes() -> None:
    assert help_edges_of(shape_of(wordcount())) == (
        Edge(id=3, source="lines", stream="default", target="count", input=0, grouping="By", via="split", helps=0),
    )


@given(shapes())
def test_ids_are_dense_and_sources_come_first(shape: TopologyShape) -> None:
    tasks, edges = tasks_of(shape), edges_of(shape)

    assert [task.id for task in tasks] == list(range(sum(part.tasks for part in shape.components)))
    assert [edge.id for edge in edges] == list(range(sum(len(part.inputs) for part in shape.components)))
    for part in shape.components:
        assert [task.index for task in tasks if task.component == part.name] == list(range(part.tasks))
    for edge in edges:
        last_of_source = max(task.id for task in tasks if task.component == edge.source)
        first_of_target = min(task.id for task in tasks if task.component == edge.target)
        assert last_of_source < first_of_target


def loop(source: str) -> TopologyShape:
    taken = InputShape(source=source, stream="default", grouping="Shuffle")
    return TopologyShape(
        name="knot",
        components=(
            ComponentShape(name="start", kind="spout"),
            ComponentShape(name="a", kind="bolt", inputs=(taken,)),
            ComponentShape(
                name="b", kind="bolt", inputs=(InputShape(source="a", stream="default", grouping="Shuffle"),)
            ),
        ),
    )


@pytest.mark.parametrize("source", ["b", "nobody"])
def test_what_cannot_be_put_in_order_is_named(source: str) -> None:
    with pytest.raises(TopologyError, match=r"topology 'knot': components 'a', 'b' cannot be put in order"):
        tasks_of(loop(source))
