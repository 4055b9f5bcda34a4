"""Which tuples may be worked on anywhere: see flow/lending."""

from __future__ import annotations

from collections.abc import Mapping

from penstock.topology.bolts import BaseBolt, Bolt, StatefulBolt
from penstock.topology.collecting import CollectingBolt
from penstock.topology.groupings import LocalOrShuffle, Shuffle
from penstock.topology.spec import ComponentSpec
from penstock.topology.transactional import TransactionalSink

__all__ = ["is_lendable"]


def is_lendable(components: Mapping[str, ComponentSpec], name: str, taken: int) -> bool:
    """Whether what a bolt takes by one of its inputs may be worked on by another instance of it, anywhere.

    It must not matter which instance a tuple comes to, nor how many there are; and all it does must be to emit.
    """
    spec = components[name]
    logic = spec.logic
    if not isinstance(logic, Bolt) or isinstance(logic, StatefulBolt | TransactionalSink | CollectingBolt):
        return False
    if getattr(logic, "side_effects", False):
        return False
    if any(getattr(type(logic), method) is not getattr(BaseBolt, method) for method in ("tick", "finish")):
        return False
    if not any(one.source == name for other in components.values() for one in other.inputs):
        return False  # all it does is done outside
    return isinstance(spec.inputs[taken].grouping, Shuffle | LocalOrShuffle)
