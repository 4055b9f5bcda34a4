"""Rows: tuples that have left the topology, in the hands of the user; and answers, which are values of a tuple.

A row is a named tuple, so that it compares with plain tuples, sorts, unpacks, and goes into sets and dicts.
"""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

from penstock.topology.spec import ComponentSpec

__all__ = ["row_class", "row_maker"]


def row_maker(components: Mapping[str, ComponentSpec], sink: str) -> Callable[..., tuple[Any, ...]]:
    """What makes a row of the values that a sink was given; with names, if all its inputs have the same fields."""
    inputs = components[sink].inputs
    fields = {taken.grouping.delivered(components[taken.source].streams[taken.stream]) for taken in inputs}
    return row_class("Row", fields.pop()) if len(fields) == 1 else _unnamed


@cache
def row_class(name: str, fields: tuple[str, ...]) -> type[tuple[Any, ...]]:
    """The class of rows with these fields; the same one each time it is asked for."""
    return namedtuple(name, fields)


def _unnamed(*values: Any) -> tuple[Any, ...]:
    return values
