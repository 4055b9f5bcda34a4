"""What spouts and bolts have in common: their outputs, and how their life begins and ends."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from penstock.topology.context import TaskContext

__all__ = ["Logic"]


class Logic:
    """What a component does. Derive from `Spout`, or from one of the bolts, not from this."""

    fields: tuple[str, ...] = ()
    """The names of the values of each tuple that it emits; none if it emits nothing."""

    streams: Mapping[str, tuple[str, ...]] = {}
    """Further streams that it emits to, by ``Emit(values, stream=name)``, and the fields of each."""

    def open(self, context: TaskContext) -> None:
        """Called once in each task, on its worker, before anything else: open files and connections here."""

    def close(self) -> None:
        """Called once in each task when it ends, and only if `open` succeeded."""

    def problems(self, tasks: int, fields: tuple[str, ...]) -> Iterable[str]:  # noqa: ARG002 - for others to override
        """What is wrong with it and can be seen before the start, a sentence each. Asked once, on the driver.

        Args:
            tasks: how many tasks it is to have.
            fields: the names of the values that it is to emit; the topology may have its own.
        """
        return ()
