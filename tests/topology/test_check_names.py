"""Names that cannot be, and names that are there twice."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.topology.topology import Topology
from penstock.topology.tuples import RESERVED_FIELDS, tuple_class
from tests.topology.complaints import Numbers, Same, complaints, only_complaint, topology_with_numbers


@pytest.mark.parametrize("name", ["", "two words", "1st", "-x", "_x", "a/b", "a.b", "a,b", "a\n"])
def test_names_that_could_not_be_typed_are_refused(name: str) -> None:
    wanted = f"its name: wanted a letter, then letters, digits, '_' and '-', got {name!r}"
    topo = Topology(name)
    topo.spout("numbers", Numbers())
    assert only_complaint(topo) == wanted
    topo, source = topology_with_numbers()
    topo.bolt(name, Same(), source.shuffle())
    assert only_complaint(topo).endswith(wanted)


@pytest.mark.parametrize("name", ["count", "Count-2", "count_all", "é"])
def test_other_names_pass(name: str) -> None:
    topo = Topology(name)
    topo.spout(name, Numbers())
    assert complaints(topo) == []


def test_a_name_that_is_no_text_is_refused() -> None:
    topo = Topology(None)  # type: ignore[arg-type]
    topo.spout(7, Numbers())  # type: ignore[arg-type]
    found = complaints(topo)
    assert found[0] == "its name: wanted a str, got None"
    assert "wanted a letter, then letters, digits, '_' and '-', got '7'" in found[1]


def test_a_second_component_of_a_name_is_refused_with_both_places() -> None:
    topo, source = topology_with_numbers()
    topo.bolt("numbers", Same(), source.shuffle())
    problem = only_complaint(topo)
    assert problem.startswith("bolt 'numbers' (test_check_names.py:")
    assert "the spout of complaints.py:" in problem
    assert problem.endswith("has the same name")


@pytest.mark.parametrize(
    ("field", "wanted"),
    [
        ("two words", "wanted names that Python takes after a dot, got 'two words'"),
        ("1st", "wanted names that Python takes after a dot, got '1st'"),
        ("", "wanted names that Python takes after a dot, got ''"),
        ("class", "'class' is a keyword of Python; call it 'class_'"),
        ("_n", "'_n' begins with '_'"),
        ("__struct_fields__", "'__struct_fields__' begins with '_'"),
        ("stream", "'stream' is what every tuple has already (fields, source, stream)"),
        ("source", "'source' is what every tuple has already"),
        ("fields", "'fields' is what every tuple has already"),
        (5, "wanted names, got 5"),
    ],
)
def test_fields_that_could_not_be_read_are_refused(field: Any, wanted: str) -> None:
    topo = Topology("t")
    topo.spout("a", Numbers(), fields=(field,), streams={"late": ("n", field)})
    first, second = complaints(topo)
    assert f": fields: {wanted}" in first
    assert f": streams['late']: {wanted}" in second


def test_a_field_that_is_there_twice_is_refused() -> None:
    topo = Topology("t")
    topo.spout("a", Numbers(), fields=("n", "m", "n"))
    assert only_complaint(topo).endswith("fields: 'n' is there 2 times")


def test_fields_have_to_be_several_even_if_one() -> None:
    topo = Topology("t")
    topo.spout("a", Numbers(), fields="word")
    topo.spout("b", Numbers(), fields=5)  # type: ignore[arg-type]
    first, second, *_ = complaints(topo)
    assert first.endswith("fields: wanted a tuple of names, got the str 'word': write ('word',)")
    assert second.endswith("fields: wanted a tuple of names, got 5")


def test_streams_have_names_and_fields() -> None:
    topo, source = topology_with_numbers()
    topo.bolt("a", Same(), source.shuffle(), streams={"late": ()})
    topo.bolt("b", Same(), source.shuffle(), streams={"too late": ("n",)})
    topo.bolt("c", Same(), source.shuffle(), streams=("late",))  # type: ignore[arg-type]
    topo.bolt("d", Same(), source.shuffle(), streams={"default": ("m",)})
    a, b, c, d = complaints(topo)
    assert a.endswith("streams['late']: wanted at least one field, got none")
    assert b.endswith("the name of a stream: wanted a letter, then letters, digits, '_' and '-', got 'too late'")
    assert c.endswith("streams: wanted a dict from names to fields, got ('late',)")
    assert d.endswith("streams: 'default' is the stream that fields=('n',) declares already")


@given(st.lists(st.text(max_size=6), max_size=4))
def test_fields_that_pass_can_be_fields_of_a_tuple(fields: list[str]) -> None:
    topo = Topology("t")
    topo.spout("a", Numbers(), fields=fields)
    if not complaints(topo):
        tup = tuple_class("a", "default", tuple(fields))(*range(len(fields)))
        assert [getattr(tup, field) for field in fields] == list(range(len(fields)))
        assert not RESERVED_FIELDS.intersection(fields)
