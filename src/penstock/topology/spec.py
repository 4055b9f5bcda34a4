"""What a topology consists of, as plain values: what the plan, the worker and the checks read."""

from __future__ import annotations

from typing import Literal, TypeAlias

import msgspec

from penstock.topology.emit import DEFAULT_STREAM
from penstock.topology.groupings import Grouping
from penstock.topology.logic import Logic

__all__ = ["ComponentKind", "ComponentSettings", "ComponentSpec", "Subscription"]

ComponentKind: TypeAlias = Literal["spout", "bolt"]


class ComponentSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What can be set for a component, beside what it does."""

    tick_every_s: float | None = None
    """How often ``tick`` is called; None is never."""
    helping: bool | None = None
    """Whether others may do its work when it is too slow; None is where that is safe."""


class Subscription(msgspec.Struct, frozen=True):
    """That a bolt takes a stream, and how the stream is shared out over its tasks."""

    source: str
    stream: str
    grouping: Grouping

    def __repr__(self) -> str:
        # As the user wrote it, because it is users who read it.
        stream = "" if self.stream == DEFAULT_STREAM else f".stream({self.stream!r})"
        return f"{self.source}{stream}.{self.grouping!r}"


class ComponentSpec(msgspec.Struct, frozen=True, kw_only=True):
    """One component, as the user declared it."""

    name: str
    kind: ComponentKind
    logic: Logic
    tasks: int
    streams: dict[str, tuple[str, ...]]
    """The fields of each stream that it emits to. A component that declares no fields has no ``default``."""
    inputs: tuple[Subscription, ...] = ()
    settings: ComponentSettings = ComponentSettings()
    declared_at: str = ""
    """Where in the user's code, as file:line."""
