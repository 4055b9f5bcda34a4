"""What came of running a topology in a test."""

from __future__ import annotations

from typing import Any, TypeVar

import msgspec

__all__ = ["ComponentCounts", "FailureCount", "Result"]

_Value = TypeVar("_Value")


class FailureCount(msgspec.Struct, frozen=True, kw_only=True):
    """One kind of exception that user code has raised, and how often."""

    component: str
    kind: str
    message: str
    culprit: str
    """What the first of them was raised on, as text."""
    trace: str
    """The traceback of the first of them."""
    count: int


class ComponentCounts(msgspec.Struct, frozen=True, kw_only=True):
    """What all tasks of a component have done."""

    processed: int = 0
    """Tuples that went in; of a spout, those that came out."""
    emitted: int = 0
    failed: int = 0


class Result(msgspec.Struct, frozen=True, kw_only=True):
    """What a topology has done so far."""

    failures: list[FailureCount]
    """Exceptions of user code. A test that does not expect any should say ``assert not result.failures``."""
    lost: int
    """Tuples that could not be delivered, because their worker was gone."""
    counts: dict[str, ComponentCounts]
    """By component."""
    collections: dict[str, list[tuple[Any, ...]]]
    captures: dict[str, list[tuple[Any, ...]]]

    def collected(self, name: str) -> list[Any]:
        """What a ``Collect`` sink of that name was given, in the order of arrival: tuples, with their fields' names."""
        return _of(self.collections, name, "Collect")

    def captured(self, name: str) -> list[tuple[Any, ...]]:
        """What a `CapturedSink` of that name was given, in the order of arrival."""
        return _of(self.captures, name, "CapturedSink")


def _of(sinks: dict[str, _Value], name: str, kind: str) -> _Value:
    if name not in sinks:
        known = ", ".join(map(repr, sinks)) or "none"
        message = f"wanted the name of a {kind} sink of the topology ({known}), got {name!r}"
        raise ValueError(message)
    return sinks[name]
