"""The handles that building a topology gives: what a bolt can take as its input.

Each method of a handle is one way to share its stream out:

    >>> from penstock.topology.topology import Topology
    >>> topo = Topology("example")
    >>> lines = topo.spout("lines", lambda: (yield), fields=("line",))
    >>> lines.shuffle()
    lines.shuffle()
    >>> lines.stream("errors").by("code")
    lines.stream('errors').by('code')
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from penstock.topology.emit import DEAD_LETTERS, DEFAULT_STREAM
from penstock.topology.groupings import (
    Broadcast,
    By,
    Combine,
    Custom,
    CustomRoute,
    Direct,
    Gather,
    Grouping,
    LocalOrShuffle,
    PartialKey,
    Shuffle,
    ToOne,
)
from penstock.topology.spec import Subscription

if TYPE_CHECKING:
    from penstock.topology.topology import Topology

__all__ = ["Component", "Input", "Stream"]


class Stream:
    """A stream of a component. Its methods say how a subscriber's tasks share it; each gives an input for a bolt."""

    def __init__(self, topology: Topology, component: str, name: str) -> None:
        self._topology = topology
        self._component = component
        self._stream = name

    def shuffle(self) -> Input:
        """To any task: evenly as long as all keep up, less to who has less room, and nothing to who is full."""
        return self._input(Shuffle())

    def local_or_shuffle(self) -> Input:
        """To a task in the same worker if there is one, else to any, evenly."""
        return self._input(LocalOrShuffle())

    def by(self, *fields: str) -> Input:
        """Equal values of these fields always to the same task."""
        return self._input(By(fields))

    def partial_key(self, *fields: str) -> Input:
        """Equal values of these fields to one of the same two tasks, whichever was sent less.

        Evens out keys that are much more frequent than others. The bolt sees each key in up to two tasks, so what it
        computes has to be put together by another bolt: see docs/flow-balance.md.
        """
        return self._input(PartialKey(fields))

    def broadcast(self, algorithm: str = "auto") -> Input:
        """To every task.

        Args:
            algorithm: how it gets there: by one send per task (``serial``); along a tree of workers (``flat``,
                ``binary``, ``ring``, ``two_way_ring``); or along whichever tree turns out to be best (``auto``).
        """
        return self._input(Broadcast(algorithm))

    def gather(self, *fields: str, timeout_s: float = 30.0) -> Input:
        """One tuple when all tasks of the component have answered: for a bolt behind one that takes a `broadcast`.

        Tuples with equal values of these fields are the answers to one question, and go to the same task. It keeps them
        until every task of the component has sent one. Then the bolt is given one tuple: its fields are these and
        ``answers``, a tuple of the answers in the order of the tasks, each with its fields by name (a named tuple).

        Each task has to answer each question once, while it processes it. What is incomplete and cannot become complete
        any more is given up and reported; at least once, the question is then asked again.

        Args:
            fields: what the answers to one question have in common, such as its id.
            timeout_s: how long to wait for answers. Not used with exactly once, where markers tell that none will come.
        """
        return self._input(Gather(fields, timeout_s))

    def to_one(self, combine: Combine | None = None) -> Input:
        """All to the first task.

        Args:
            combine: ``combine(a, b)`` gives the values of one tuple that stands for both. It is called on the way, in
                the workers that the tuples come from or through, for whatever has piled up there: so the one task is
                given fewer of them. In which order, and how many, is left open: it has to be associative and
                commutative, and to change neither of the two.
        """
        return self._input(ToOne(combine))

    def direct(self) -> Input:
        """To the task that the emitter names: ``Emit(values, task=index)``."""
        return self._input(Direct())

    def custom(self, route: CustomRoute) -> Input:
        """To the task whose index ``route(values, count)`` returns, or to several if it returns a list of them."""
        return self._input(Custom(route))

    def _input(self, grouping: Grouping) -> Input:
        return Input(self._topology, Subscription(self._component, self._stream, grouping))

    def __repr__(self) -> str:
        return self._component if self._stream == DEFAULT_STREAM else f"{self._component}.stream({self._stream!r})"


class Component(Stream):
    """A component of a topology. Used as a stream, it is the component's own one; `stream` gives its others."""

    def __init__(self, topology: Topology, name: str) -> None:
        super().__init__(topology, name, DEFAULT_STREAM)

    @property
    def name(self) -> str:
        """The name of the component."""
        return self._component

    def stream(self, name: str) -> Stream:
        """One of the streams that the component declares in its ``streams``."""
        return Stream(self._topology, self._component, name)

    def dead_letters(self) -> Stream:
        """Tuples that were given up.

        Of a spout, at least once: its tuples that failed each time they were tried. Of a bolt, exactly once: tuples it
        was given that killed its worker each time.

        Their fields are ``values`` (of the tuple), ``bolt`` (where the last try failed, if known), ``reason`` and
        ``tries``. Without a subscriber they are counted and reported only.
        """
        self._topology.declare_dead_letters(self._component)
        return Stream(self._topology, self._component, DEAD_LETTERS)


class Input(msgspec.Struct, frozen=True):
    """A stream together with a grouping: what `Topology.bolt` takes."""

    topology: Topology
    subscription: Subscription

    def __repr__(self) -> str:
        return repr(self.subscription)
