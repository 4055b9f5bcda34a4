"""Which keys are one key: by Spark's rule, everywhere keys are compared.

Keys that Python holds equal are one key: 1, 1.0 and True. Beyond that

    NaN equals NaN, whatever its type, and -0.0 is 0.0;
    a point in time is one, also in the hour that a clock change repeats, where Python's datetimes with a zone are not;
    a list is the tuple of its items, and a dict is a `FrozenDict`: so arrays, structs and maps of Spark's can be keys;
    the same holds inside of tuples, lists and dicts.

Tasks compare keys by dicts. So whoever makes a key makes it canonical, and then a dict finds it. The tuple that it was
taken from keeps its value.

>>> nan, other_nan = float("nan"), float("nan")
>>> nan == other_nan, canonical_key(("a", nan)) == canonical_key(["a", other_nan])
(False, True)
>>> canonical_key(-0.0), canonical_key({"x": [1, -0.0]})
(0.0, FrozenDict({'x': (1, 0.0)}))
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterable, Sequence
from decimal import Decimal
from numbers import Number
from operator import is_
from types import NoneType
from typing import Any, NoReturn
from uuid import UUID

__all__ = ["NAN", "FrozenDict", "canonical_key", "canonical_keys"]

NAN = float("nan")
"""What stands for every NaN. It equals no other, but dicts, sets and tuples look for the same object first."""


class FrozenDict(dict[Any, Any]):
    """A dict that can be a key, or a part of one, because it never changes. It equals any dict with the same items."""

    __slots__ = ()

    def __hash__(self) -> int:  # type: ignore[override]
        return hash(frozenset(self.items()))

    def __repr__(self) -> str:
        return f"FrozenDict({dict.__repr__(self)})"

    def __reduce__(self) -> tuple[Any, ...]:
        return FrozenDict, (dict(self),)

    def _refuse(self, *_: Any, **__: Any) -> NoReturn:
        message = "a FrozenDict cannot be changed, because it may be a key: change a copy, dict(value)"
        raise TypeError(message)

    __setitem__ = __delitem__ = __ior__ = clear = pop = popitem = setdefault = update = _refuse


def canonical_key(key: Any) -> Any:
    """The one key that stands for all that are the same one. What can be no key is returned as it is."""
    convert = _CONVERTERS.get(type(key), _of_another_class)
    try:
        return key if convert is None else convert(key)
    except RecursionError:  # it contains itself
        return key


def canonical_keys(keys: list[Any]) -> list[Any]:
    """All of them: the same list, if all are of classes whose values are canonical as they are."""
    # This runs for every tuple of a keyed bolt, and nearly all keys are text or integers: so it is one pass in C, and
    # for text the quickest there is, as join takes nothing else.
    if len(keys) == 1:
        return keys if type(keys[0]) in _CANONICAL else [canonical_key(keys[0])]
    if keys and type(keys[0]) is str:
        try:
            "".join(keys)
        except TypeError:  # others among them
            pass
        else:
            return keys
    return keys if _CANONICAL.issuperset(map(type, keys)) else [*map(canonical_key, keys)]


def _float(key: float) -> Any:
    return NAN if key != key else key or 0.0


def _tuple(key: Sequence[Any]) -> Any:
    made = tuple(map(canonical_key, key))
    return key if all(map(is_, made, key)) else made  # of a class of its own, too


def _list(key: Iterable[Any]) -> Any:
    return tuple(map(canonical_key, key))


def _dict(key: dict[Any, Any]) -> Any:
    return FrozenDict((canonical_key(name), canonical_key(value)) for name, value in key.items())


def _datetime(key: dt.datetime) -> Any:
    # Within a zone Python compares what the clock shows, which comes twice then; and it holds such a time to be equal
    # to none of another zone.
    if key.tzinfo is None or key.utcoffset() == key.replace(fold=1 - key.fold).utcoffset():
        return key
    return key.astimezone(dt.UTC)


def _of_another_class(key: Any) -> Any:
    if isinstance(key, str | bytes | int):
        return key
    for base in (float, tuple, list, dict, Decimal, dt.datetime):
        if isinstance(key, base):
            return _CONVERTERS[base](key)  # type: ignore[misc]
    return NAN if isinstance(key, Number) and key != key else key


_CONVERTERS: dict[type, Callable[[Any], Any] | None] = {
    **dict.fromkeys((str, int, bool, bytes, NoneType, dt.date, dt.time, dt.timedelta, UUID)),
    dt.datetime: _datetime,
    float: _float,
    tuple: _tuple,
    list: _list,
    dict: _dict,
    Decimal: lambda key: NAN if key.is_nan() else key,  # to compare a signalling one is an error
}
_CANONICAL = frozenset(kind for kind, convert in _CONVERTERS.items() if convert is None)
