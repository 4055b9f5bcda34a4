"""Which bolts others may do the work of, when they are too slow: see docs/flow.md.

An instance of the bolt then runs in the worker of a task that feeds it, or anywhere else. So it must not matter which
instance a tuple comes to, nor how many there are, nor that they come and go.
"""

from __future__ import annotations

from collections.abc import Mapping

from penstock.topology.bolts import BaseBolt, Bolt, StatefulBolt
from penstock.topology.collecting import CollectingBolt
from penstock.topology.groupings import Gather, LocalOrShuffle, Shuffle, is_combined
from penstock.topology.spec import ComponentSpec, Subscription
from penstock.topology.transactional import TransactionalSink
from penstock.topology.ways import answering

__all__ = ["can_be_helped", "is_helped_on", "unhelped"]


def is_helped_on(taken: Subscription) -> bool:
    """Whether who feeds a bolt by this may do its work, if it is one that can be helped."""
    return isinstance(taken.grouping, Shuffle | LocalOrShuffle)


def can_be_helped(components: Mapping[str, ComponentSpec], name: str) -> bool:
    """Whether others may do a component's work."""
    return unhelped(components, name) is None


def unhelped(components: Mapping[str, ComponentSpec], name: str) -> str | None:
    """Why others must not do a component's work; None if they may.

    >>> from penstock.topology.topology import Topology
    >>> topo = Topology("example")
    >>> words = topo.spout("words", lambda: iter([("a",)]), fields=("word",))
    >>> loud = topo.bolt("loud", lambda tup: (tup.word.upper(),), words.shuffle(), fields=("word",))
    >>> told = topo.bolt("told", lambda tup: print(tup.word), loud.shuffle())
    >>> print(unhelped(topo.components, "loud"))
    None
    >>> print(unhelped(topo.components, "told"))
    nobody takes what it emits, so that all it does is done outside
    """
    spec = components[name]
    if spec.settings.helping is False:
        return "it says helping=False"
    why = _why_never(components, spec)
    if why is None and spec.settings.helping is None:
        why = _why_not_by_default(components, spec)
    return why


def _why_never(components: Mapping[str, ComponentSpec], spec: ComponentSpec) -> str | None:
    logic = spec.logic
    if spec.kind == "spout":
        return "it is a spout"
    if not isinstance(logic, Bolt):
        return "it is not a Bolt, whose tuples are each worked on by themselves"
    if isinstance(logic, StatefulBolt | TransactionalSink | CollectingBolt):
        return "it has a state"
    for method in ("tick", "finish"):
        if getattr(type(logic), method) is not getattr(BaseBolt, method):
            return f"it has {method}(), and so something to do beside its tuples"
    if not any(map(is_helped_on, spec.inputs)):
        return "it takes nothing by shuffle() or local_or_shuffle(), so that it matters which task a tuple comes to"
    for taker in components.values():
        for taken in taker.inputs:
            gathered = isinstance(taken.grouping, Gather) or is_combined(taken.grouping)
            if taken.source == spec.name and gathered:
                return f"what it emits is put together on the way to {taker.name!r}, by task"
    if spec.name in answering(components):
        return "what it answers is gathered, by task"
    return None


def _why_not_by_default(components: Mapping[str, ComponentSpec], spec: ComponentSpec) -> str | None:
    if getattr(spec.logic, "side_effects", False):
        return "it says that it has side effects"
    if not any(taken.source == spec.name for taker in components.values() for taken in taker.inputs):
        return "nobody takes what it emits, so that all it does is done outside"
    return None
