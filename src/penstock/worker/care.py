"""How careful tasks are after a worker has died: see penstock.control.suspicions, which decides it."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any, Protocol

import msgspec
import xxhash

from penstock.transport.values import UNENCODABLE, encode_value

__all__ = ["Care", "Notes", "digest_of"]


class Care(msgspec.Struct, frozen=True, kw_only=True):
    """What tasks have to know to find a tuple that kills its worker. Tuples are known by `digest_of`."""

    epochs: int
    """How many commits it lasts for."""
    suspects: dict[str, tuple[int, ...]] = {}
    """By component: tuples that are to be tried alone."""
    given_up: dict[str, dict[int, int]] = {}
    """By component: tuples that are to be left out, and how many workers have died until that was clear."""


class Notes(Protocol):
    """Memory that outlives this process: the controller's."""

    def trying(self, task: int, tuples: Collection[int], *, alone: bool) -> None:
        """Returns when it is known elsewhere that a task is about to work on these tuples."""

    def tried(self) -> None:
        """It has survived it."""


def digest_of(values: Iterable[Any]) -> int:
    """A number for the values of a tuple, the same in every process."""
    listed = [*values]
    try:
        encoded = encode_value(listed)
    except UNENCODABLE:  # what can only be passed on within a worker
        encoded = repr(listed).encode(errors="replace")
    return xxhash.xxh3_64_intdigest(encoded)
