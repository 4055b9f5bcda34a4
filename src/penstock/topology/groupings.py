"""Which task of the subscriber gets a tuple. Values only: routing by them is the worker's job.

Users get these from a stream's methods (`penstock.topology.streams`):

    >>> By(fields=("user", "page")), Shuffle(), Broadcast(algorithm="ring")
    (by('user', 'page'), shuffle(), broadcast('ring'))
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import msgspec

from penstock.topology.function_name import name_of

__all__ = [
    "ANSWERS",
    "BROADCAST_ALGORITHMS",
    "Broadcast",
    "By",
    "Combine",
    "Custom",
    "CustomRoute",
    "Direct",
    "Gather",
    "Grouping",
    "LocalOrShuffle",
    "PartialKey",
    "Shuffle",
    "ToOne",
    "is_combined",
]

BROADCAST_ALGORITHMS = ("auto", "serial", "flat", "binary", "ring", "two_way_ring")
"""How one tuple may reach all tasks; ``auto`` picks by size and place."""

ANSWERS = "answers"
"""The field in which a bolt behind `Gather` finds what was gathered."""

CustomRoute: TypeAlias = Callable[[tuple[Any, ...], int], int | Sequence[int]]
"""From the values of a tuple and the number of tasks, the index of the task that gets it, or of several."""

Combine: TypeAlias = Callable[[Any, Any], Sequence[Any]]
"""From two tuples of a stream, the values of one that stands for both."""


class Grouping(msgspec.Struct, frozen=True):
    """How the tuples of a stream are shared out over the subscriber's tasks."""

    def __repr__(self) -> str:
        # As the user wrote it, because it is users who read it.
        arguments = (name_of(given) if callable(given) else repr(given) for given in self._arguments())
        return f"{_METHODS[type(self)]}({', '.join(arguments)})"

    def delivered(self, fields: tuple[str, ...]) -> tuple[str, ...]:
        """The fields of what the subscriber is given, of a stream with these fields."""
        return fields

    def _arguments(self) -> tuple[Any, ...]:
        return ()


class Shuffle(Grouping, frozen=True):
    """To any task: evenly as long as all keep up."""


class LocalOrShuffle(Grouping, frozen=True):
    """To a task in the same worker if there is one, else as `Shuffle`."""


class By(Grouping, frozen=True):
    """Equal values of the fields always to the same task. NaN equals NaN, and -0.0 equals 0.0, as for Spark."""

    fields: tuple[str, ...]

    def _arguments(self) -> tuple[Any, ...]:
        return self.fields


class PartialKey(Grouping, frozen=True):
    """Equal values of the fields to one of the same two tasks, whichever was sent less: evens out hot keys."""

    fields: tuple[str, ...]

    def _arguments(self) -> tuple[Any, ...]:
        return self.fields


class Broadcast(Grouping, frozen=True):
    """To every task."""

    algorithm: str = "auto"

    def _arguments(self) -> tuple[Any, ...]:
        return () if self.algorithm == "auto" else (self.algorithm,)


class Gather(Grouping, frozen=True):
    """Equal values of the fields to the same task, as one tuple: when every task of the source has sent one."""

    fields: tuple[str, ...]
    timeout_s: float = 30.0

    def delivered(self, fields: tuple[str, ...]) -> tuple[str, ...]:  # noqa: ARG002
        """See Grouping: what the answers have in common, and the answers."""
        return (*self.fields, ANSWERS)

    def _arguments(self) -> tuple[Any, ...]:
        return self.fields


class ToOne(Grouping, frozen=True):
    """All to the first task, put together on the way where a function says how."""

    combine: Combine | None = None

    def _arguments(self) -> tuple[Any, ...]:
        return () if self.combine is None else (self.combine,)


def is_combined(grouping: Grouping) -> bool:
    """Whether one tuple that is delivered may stand for several that were emitted."""
    return isinstance(grouping, ToOne) and grouping.combine is not None


class Direct(Grouping, frozen=True):
    """To the task that the emitter names: ``Emit(values, task=index)``."""


class Custom(Grouping, frozen=True):
    """To the task, or the tasks, whose index a function returns."""

    route: CustomRoute

    def _arguments(self) -> tuple[Any, ...]:
        return (self.route,)


_METHODS: dict[type[Grouping], str] = {
    Shuffle: "shuffle",
    LocalOrShuffle: "local_or_shuffle",
    By: "by",
    PartialKey: "partial_key",
    Broadcast: "broadcast",
    Gather: "gather",
    ToOne: "to_one",
    Direct: "direct",
    Custom: "custom",
}
