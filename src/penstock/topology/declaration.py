"""From what the user passes to plain values, with notes on what could not be made sense of.

Nothing is raised while a topology is built: its `check` reports everything at once.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import msgspec

from penstock.topology.emit import DEFAULT_STREAM
from penstock.topology.functions import FunctionBolt, GeneratorSpout
from penstock.topology.logic import Logic
from penstock.topology.spec import ComponentSettings, ComponentSpec, Subscription

__all__ = ["Declaration", "declare_bolt", "declare_spout", "declared_streams"]


class Declaration(msgspec.Struct, frozen=True):
    """A component as it was declared, and what was wrong with how."""

    spec: ComponentSpec
    notes: list[str]


def declare_spout(name: Any, given: Any, *, tasks: Any, fields: Any, streams: Any) -> Declaration:
    """A spout from what the user passed."""
    logic = GeneratorSpout(given) if callable(given) and not isinstance(given, Logic | type) else given
    notes: list[str] = []
    spec = ComponentSpec(
        name=str(name),
        kind="spout",
        logic=logic,
        tasks=tasks,
        streams=_streams(logic, fields, streams, notes),
        declared_at=_users_line(),
    )
    return Declaration(spec, notes)


def declare_bolt(
    name: Any,
    given: Any,
    inputs: tuple[Subscription, ...],
    *,
    tasks: Any,
    fields: Any,
    streams: Any,
    tick_every_s: Any,
    helping: Any,
) -> Declaration:
    """A bolt from what the user passed."""
    logic = FunctionBolt(given) if callable(given) and not isinstance(given, Logic | type) else given
    notes: list[str] = []
    if tick_every_s is None:
        tick_every_s = getattr(logic, "tick_every_s", None)
    spec = ComponentSpec(
        name=str(name),
        kind="bolt",
        logic=logic,
        tasks=tasks,
        streams=_streams(logic, fields, streams, notes),
        inputs=inputs,
        settings=ComponentSettings(tick_every_s=tick_every_s, helping=helping),
        declared_at=_users_line(),
    )
    return Declaration(spec, notes)


def _streams(logic: Any, fields: Any, streams: Any, notes: list[str]) -> dict[str, tuple[str, ...]]:
    """What the topology says goes before what the object says."""
    return declared_streams(
        getattr(logic, "fields", ()) if fields is None else fields,
        getattr(logic, "streams", {}) if streams is None else streams,
        notes,
    )


def declared_streams(fields: Any, streams: Any, notes: list[str]) -> dict[str, tuple[str, ...]]:
    """The fields of every stream, the component's own among them."""
    found: dict[str, tuple[str, ...]] = {}
    own = _names(fields, "fields", notes)
    if own:
        found[DEFAULT_STREAM] = own
    if not isinstance(streams, Mapping):
        notes.append(f"streams: wanted a dict from names to fields, got {streams!r}")
        return found
    for name, of_stream in streams.items():
        if name in found:
            notes.append(f"streams: {name!r} is the stream that fields={own!r} declares already")
        else:
            found[name] = _names(of_stream, f"streams[{name!r}]", notes)
    return found


def _names(given: Any, what: str, notes: list[str]) -> tuple[Any, ...]:
    if isinstance(given, str):
        notes.append(f"{what}: wanted a tuple of names, got the str {given!r}: write ({given!r},)")
        return (given,)
    if not isinstance(given, Iterable):
        notes.append(f"{what}: wanted a tuple of names, got {given!r}")
        return ()
    return tuple(given)


def _users_line() -> str:
    """Where the user called us: the nearest frame that is not of this package."""
    package = __name__.partition(".")[0]
    frame = sys._getframe(1)
    while frame.f_back and frame.f_globals.get("__name__", "").partition(".")[0] == package:
        frame = frame.f_back
    return f"{Path(frame.f_code.co_filename).name}:{frame.f_lineno}"
