"""Collect: what arrived, once, up to a limit."""

from __future__ import annotations

from typing import Any

import pytest

from penstock.connectors.collect import Collect
from penstock.connectors.lines import Lines
from penstock.errors import RunError, TopologyError
from penstock.topology.topology import Topology
from penstock.topology.tuples import tuple_class
from tests.connectors.driving import context

Word = tuple_class("count", "default", ("word", "count"))


def test_rows_are_plain_tuples_and_drained_once() -> None:
    sink = Collect()
    sink.open(context())
    sink.process(Word("a", 1))
    sink.process(Word("b", 2))
    assert sink.drain_collected() == [("a", 1), ("b", 2)]
    sink.process(Word("c", 3))
    assert sink.drain_collected() == [("c", 3)]
    assert sink.drain_collected() == []


def test_more_than_the_limit_is_an_error_even_if_drained_between() -> None:
    sink = Collect(limit_rows=2)
    sink.open(context())
    sink.process(Word("a", 1))
    sink.drain_collected()
    sink.process(Word("b", 2))
    with pytest.raises(RunError, match=r"sink 'c' holds limit_rows=2 rows and got one more; raise the limit"):
        sink.process(Word("c", 3))
    assert sink.drain_collected() == [("b", 2)]


@pytest.mark.parametrize("limit", [0, -1, 1.5, None])
def test_the_limit_is_a_number(limit: Any) -> None:
    topo = Topology("t")
    lines = topo.spout("lines", Lines(["a"]))
    topo.bolt("totals", Collect(), lines.to_one())
    topo.check()
    topo.bolt("wrong", Collect(limit_rows=limit), lines.to_one())
    with pytest.raises(TopologyError, match="limit_rows: wanted a whole number above 0, got"):
        topo.check()
