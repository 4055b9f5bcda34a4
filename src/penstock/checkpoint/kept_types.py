"""State is made only of what a checkpoint gives back as what it was.

A tuple's value of a subclass may arrive as the built-in value that it is equal to. In state that would be a wrong
answer later: a bolt that counts on its Counter is given a dict when it goes on, and fails, or worse, does not.

>>> from collections import Counter
>>> changed_type({"blue": [1, 2], "red": (None, {"seen"})})
>>> changed_type({"blue": [1, Counter("ab")]}).__qualname__
'Counter'
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import chain
from typing import Any

from penstock.transport.canonical_key import FrozenDict
from penstock.transport.values import EXACT_TYPES

__all__ = ["changed_type", "refusal"]

_CONTAINERS = frozenset({list, tuple, set, frozenset, dict, FrozenDict})
_SINGLE = EXACT_TYPES - _CONTAINERS


def changed_type(value: Any) -> type | None:
    """The type of something in a value that would come back as another type; None if there is none.

    The value has to be one that can travel at all: then it does not contain itself.
    """
    kind = type(value)
    if kind in _SINGLE:
        return None
    if kind not in _CONTAINERS:
        return kind
    if _SINGLE.issuperset(map(type, _items(value))):  # most are, and this is one loop in C
        return None
    return next((found for item in _items(value) if (found := changed_type(item)) is not None), None)


def refusal(kind: type) -> str:
    """What is said of a type that `changed_type` has found."""
    base = next(base.__qualname__ for base in kind.__mro__ if base in EXACT_TYPES)
    got = f"got one of type {kind.__module__}.{kind.__qualname__}, which would come back as {base}"
    return f"wanted values that come back as the same type, {got}: keep a plain {base}"


def _items(container: Any) -> Iterable[Any]:
    return chain(container, container.values()) if isinstance(container, dict) else container
