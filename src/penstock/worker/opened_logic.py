"""Whether a bolt that should have no state has none, as far as can be seen; and whether it opens quickly.

Others do the work of a bolt that is too slow with instances of their own (docs/flow.md). A topology tells which bolts
declare no state. Here it is seen which have one all the same: their attributes do not stay as `open` has left them.
This is looked at only when help is wanted, and costs nothing until then. A user who knows better says `helping=True`.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from itertools import chain
from typing import Any

__all__ = ["OpenedLogic", "opened"]

QUICK_NS = 100_000_000
"""Whoever helps opens the bolt in between, and everything else in that worker waits."""

SMALL = 1000
"""Of larger containers only the size is looked at: they are tables that were loaded, as a rule."""

_PLAIN = (int, float, complex, str, bytes, tuple, frozenset, type(None))
_SIZED = (list, dict, set, bytearray, deque)


class OpenedLogic:
    """How a bolt's logic was when it had been opened.

    >>> class Total:
    ...     def __init__(self): self.total = 0
    >>> total = Total()
    >>> opened = OpenedLogic(total, took_ns=1000)
    >>> print(opened.why_alone(total))
    None
    >>> total.total += 5
    >>> print(opened.why_alone(total))
    its attribute 'total' changes as it works, so it may have a state
    """

    def __init__(self, logic: Any, *, took_ns: int) -> None:
        self._took_ns = took_ns
        self._looks = dict(_looks_of(logic))

    def why_alone(self, logic: Any) -> str | None:
        """Why others should not do its work after all; None if they may."""
        if self._took_ns > QUICK_NS:
            return f"its open() took {self._took_ns / 1e9:.1f} s, which whoever helps would have to wait for"
        looks = dict(_looks_of(logic))
        changed = sorted(name for name in looks.keys() | self._looks.keys() if looks.get(name) != self._looks.get(name))
        return f"its attribute {changed[0]!r} changes as it works, so it may have a state" if changed else None


def opened(logic: Any, open_it: Callable[[], None], now_ns: Callable[[], int]) -> OpenedLogic:
    """Opens it, and takes a look."""
    started_ns = now_ns()
    open_it()
    return OpenedLogic(logic, took_ns=now_ns() - started_ns)


def _looks_of(logic: Any) -> Iterable[tuple[str, Any]]:
    """The values of plain attributes, what is in containers that are not large, and which object any other is."""
    for name, value in getattr(logic, "__dict__", {}).items():
        if isinstance(value, _PLAIN):
            yield name, (type(value), _hashable(value))
        elif isinstance(value, _SIZED):
            yield name, (id(value), len(value), _members_of(value) if len(value) <= SMALL else None)
        else:
            yield name, id(value)


def _members_of(container: Any) -> list[Any]:
    members = chain.from_iterable(container.items()) if isinstance(container, dict) else container
    return [(type(one), _hashable(one)) if isinstance(one, _PLAIN) else id(one) for one in members]


def _hashable(value: Any) -> Any:
    return repr(value) if value != value else value  # not a number is not equal to itself
