"""Rows: tuples that have left the topology, in the hands of the user.

A row is a named tuple, so that it compares with plain tuples, sorts, unpacks, and goes into sets and dicts.
"""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

from penstock.topology.spec import ComponentSpec

__all__ = ["row_maker"]


def row_maker(components: Mapping[str, ComponentSpec], sink: str) -> Callable[..., tuple[Any, ...]]:
    """What makes a row of the values that a sink was given; with names, if all its inputs have the same fields."""
    inputs = components[sink].inputs
    fields = {components[taken.source].streams[taken.stream] for taken in inputs}
    return _row_class(fields.pop()) if len(fields) == 1 else _unnamed


@cache
def _row_class(fields: tuple[str, ...]) -> Callable[..., tuple[Any, ...]]:
    return namedtuple("Row", fields)


def _unnamed(*values: Any) -> tuple[Any, ...]:
    return values
