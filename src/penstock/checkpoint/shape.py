"""What a checkpoint remembers of a topology, to be compared with the one that wants to go on from it."""

from __future__ import annotations

from typing import Literal, TypeAlias

import msgspec

from penstock.topology.bolts import BatchBolt, KeyedBolt, StatefulBolt
from penstock.topology.collecting import CollectingBolt
from penstock.topology.spec import ComponentSpec
from penstock.topology.topology import Topology
from penstock.topology.transactional import TransactionalSink

__all__ = ["SavedComponent", "SavedInput", "SavedKind", "SavedShape", "saved_shape"]

SavedKind: TypeAlias = Literal["spout", "bolt", "stateful", "keyed", "batch", "sink", "collect"]
"""By what is kept for it: a position, nothing, one state per task, state by key, nothing, what it has prepared, or rows
that are the driver's."""


class SavedInput(msgspec.Struct, frozen=True, kw_only=True):
    """One subscription of a bolt."""

    source: str
    stream: str
    grouping: str
    """As the user wrote it, such as ``by('word')``."""


class SavedComponent(msgspec.Struct, frozen=True, kw_only=True):
    """A spout or bolt."""

    name: str
    kind: SavedKind
    tasks: int = 1
    streams: dict[str, tuple[str, ...]] = {}
    """The fields of each stream that it emits to."""
    inputs: tuple[SavedInput, ...] = ()


class SavedShape(msgspec.Struct, frozen=True, kw_only=True):
    """A topology."""

    topology: str
    components: tuple[SavedComponent, ...] = ()


def saved_shape(topology: Topology) -> SavedShape:
    """The shape of what the user built."""
    return SavedShape(
        topology=topology.name,
        components=tuple(
            SavedComponent(
                name=spec.name,
                kind=_kind(spec),
                tasks=spec.tasks,
                streams=dict(spec.streams),
                inputs=tuple(
                    SavedInput(source=taken.source, stream=taken.stream, grouping=repr(taken.grouping))
                    for taken in spec.inputs
                ),
            )
            for spec in topology.components.values()
        ),
    )


def _kind(spec: ComponentSpec) -> SavedKind:
    if spec.kind == "spout":
        return "spout"
    # A sink may have a state of its own too, and then it is the state that ties it to its number of tasks.
    kinds: tuple[tuple[type, SavedKind], ...] = (
        (StatefulBolt, "stateful"),
        (KeyedBolt, "keyed"),
        (TransactionalSink, "sink"),
        (BatchBolt, "batch"),
        (CollectingBolt, "collect"),
    )
    return next((kind for base, kind in kinds if isinstance(spec.logic, base)), "bolt")
