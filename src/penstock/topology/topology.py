"""The graph that the user builds.

A component that is added gives a handle, whose methods say how a bolt takes its stream:

    >>> topo = Topology("wordcount")
    >>> def lines():
    ...     yield ("the quick brown fox",)
    >>> def split(tup):
    ...     for word in tup.line.split():
    ...         yield (word,)
    >>> lines = topo.spout("lines", lines, fields=("line",))
    >>> words = topo.bolt("split", split, lines.shuffle(), tasks=2, fields=("word",))
    >>> topo.check()
    >>> print(topo.describe())
    topology wordcount: 2 components, 3 tasks
    <BLANKLINE>
      lines  spout  ×1  lines()  -> line
      split  bolt   ×2  split()  -> word  <- lines.shuffle()
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Never

from penstock.errors import TopologyError
from penstock.topology.bolts import BaseBolt
from penstock.topology.checks.report import problems_of, report
from penstock.topology.declaration import Declaration, declare_bolt, declare_spout
from penstock.topology.describe import Style, describe
from penstock.topology.emit import DEAD_LETTER_FIELDS, DEAD_LETTERS, Outputs
from penstock.topology.spec import ComponentSpec, Subscription
from penstock.topology.spouts import Spout
from penstock.topology.streams import Component, Input, Stream
from penstock.topology.tuples import Tuple

__all__ = ["Topology", "require_topology"]


class Topology:
    """A graph of spouts and bolts.

    It can have no cycle: a bolt takes the streams of components that were there before it.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self.declarations: list[Declaration] = []

    @property
    def components(self) -> dict[str, ComponentSpec]:
        """All components by name, each after those whose streams it takes."""
        found: dict[str, ComponentSpec] = {}
        for declared in self.declarations:
            found.setdefault(declared.spec.name, declared.spec)
        return found

    def spout(
        self,
        name: str,
        spout: Spout | Callable[..., Iterator[Any]],
        *inputs: Never,
        tasks: int = 1,
        fields: Sequence[str] | None = None,
        streams: Mapping[str, Sequence[str]] | None = None,
    ) -> Component:
        """Adds a source.

        Args:
            name: what it is called; no other component may be called the same.
            spout: a `Spout`, or a generator function, which may take the task's context.
            inputs: none; a component that takes a stream is a bolt.
            tasks: how many instances of it run.
            fields: the names of the values of each tuple that it emits, if its class does not tell.
            streams: the fields of further streams that it emits to, if its class does not tell.
        """
        declared = declare_spout(name, spout, tasks=tasks, fields=fields, streams=streams)
        declared.notes.extend(f"wanted no input, because it is a spout, got {given}" for given in map(repr, inputs))
        return self._add(declared)

    def bolt(
        self,
        name: str,
        bolt: BaseBolt | Callable[[Tuple], Outputs],
        *inputs: Input,
        tasks: int = 1,
        fields: Sequence[str] | None = None,
        streams: Mapping[str, Sequence[str]] | None = None,
        tick_every_s: float | None = None,
        helping: bool | None = None,
    ) -> Component:
        """Adds an operator.

        Args:
            name: what it is called; no other component may be called the same.
            bolt: a bolt, or a function of a tuple.
            inputs: the streams that it takes, each with its grouping, such as ``lines.shuffle()``.
            tasks: how many instances of it run.
            fields: the names of the values of each tuple that it emits, if its class does not tell.
            streams: the fields of further streams that it emits to, if its class does not tell.
            tick_every_s: how often its ``tick`` is called, if its class does not tell.
            helping: whether other workers may do its work when it is too slow. By default they may where that is safe:
                a `Bolt` or function without side effects, whose tuples come by ``shuffle()`` or ``local_or_shuffle()``.
        """
        subscriptions, strays = self._sort_out(inputs)
        declared = declare_bolt(
            name,
            bolt,
            subscriptions,
            tasks=tasks,
            fields=fields,
            streams=streams,
            tick_every_s=tick_every_s,
            helping=helping,
        )
        declared.notes.extend(strays)
        return self._add(declared)

    def declare_dead_letters(self, component: str) -> None:
        """Gives a component a stream of dead letters. See `Component.dead_letters`, which does this."""
        for declared in self.declarations:
            if declared.spec.name == component:
                declared.spec.streams[DEAD_LETTERS] = DEAD_LETTER_FIELDS

    def check(self, *, shipped: bool = True) -> None:
        """Raises TopologyError if it cannot run as it is, and lists everything that is wrong with it.

        Args:
            shipped: whether it is to run in other processes, so that its components must be able to travel.
        """
        found = problems_of(self.name, self.declarations, shipped=shipped)
        if found:
            raise TopologyError(report(self.name, found))

    def describe(self, style: Style = "text") -> str:
        """A picture of it.

        Args:
            style: ``text`` for people at a terminal, ``mermaid`` for documents that draw it.
        """
        return describe(self.name, self.components, style)

    def _sort_out(self, inputs: tuple[Any, ...]) -> tuple[tuple[Subscription, ...], list[str]]:
        """Which inputs are subscriptions to streams of this topology, and what is wrong with the others."""
        subscriptions = []
        notes = [] if inputs else ["wanted at least one input, such as lines.shuffle(), got none"]
        for position, given in enumerate(inputs, 1):
            if isinstance(given, Input) and given.topology is self:
                subscriptions.append(given.subscription)
            elif isinstance(given, Input):
                notes.append(
                    f"input {position}: wanted a stream of this topology, got {given!r} of "
                    f"topology {given.topology.name!r}"
                )
            elif isinstance(given, Stream):
                notes.append(
                    f"input {position}: wanted a stream and how its tuples are shared out, got only the stream: "
                    f"write {given!r}.shuffle(), {given!r}.by(...) or another grouping"
                )
            else:
                notes.append(f"input {position}: wanted an input such as lines.shuffle(), got {given!r}")
        return tuple(subscriptions), notes

    def _add(self, declared: Declaration) -> Component:
        self.declarations.append(declared)
        return Component(self, declared.spec.name)

    def _repr_markdown_(self) -> str:
        return f"```mermaid\n{self.describe('mermaid')}\n```"

    def __repr__(self) -> str:
        return f"Topology({self.name!r}, {len(self.components)} components)"


def require_topology(given: object) -> None:
    """TopologyError if it is something else, which would be found only where its first method is called."""
    if not isinstance(given, Topology):
        message = f"topology: wanted a penstock.Topology, got {given!r} of type {type(given).__name__}"
        raise TopologyError(message)
