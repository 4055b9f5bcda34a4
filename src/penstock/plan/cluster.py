"""The cluster as a scheduler sees it: workers on nodes."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import zip_longest

import msgspec

__all__ = ["WorkerSlot", "by_node", "interleaved"]


class WorkerSlot(msgspec.Struct, frozen=True, kw_only=True):
    """A worker that tasks can be put on."""

    worker: int
    node: str
    """Workers with the same node share memory. A hash of host, boot and namespaces, not a host's name."""
    speed: float = 1.0
    """How much work it does: 1.0 is what one core of the machines does that loads are measured on."""


def by_node(slots: Iterable[WorkerSlot]) -> dict[str, tuple[WorkerSlot, ...]]:
    """The slots of each node, by worker number; nodes with the most slots first, then by name."""
    grouped: dict[str, list[WorkerSlot]] = {}
    for slot in sorted(slots, key=lambda slot: slot.worker):
        grouped.setdefault(slot.node, []).append(slot)
    largest_first = sorted(grouped, key=lambda node: (-len(grouped[node]), node))
    return {node: tuple(grouped[node]) for node in largest_first}


def interleaved(slots: Iterable[WorkerSlot]) -> tuple[WorkerSlot, ...]:
    """The slots in rounds: the first of every node, then the second of every node that has one, and so on."""
    rounds = zip_longest(*by_node(slots).values())
    return tuple(slot for round_ in rounds for slot in round_ if slot is not None)
