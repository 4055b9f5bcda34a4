"""What flows: a tuple with named fields, as quick to build and to read as an object can be.

Every stream has a class of its own, so that a tuple knows its source, stream and fields without carrying them:

    >>> Word = tuple_class("split", "default", ("word", "count"))
    >>> tup = Word("blue", 3)
    >>> tup.word, tup["count"], tup[0], tup[-1]
    ('blue', 3, 'blue', 3)
    >>> tup.source, tup.stream, tup.fields
    ('split', 'default', ('word', 'count'))
    >>> word, count = tup
    >>> len(tup), list(tup)
    (2, ['blue', 3])

The wire format is an array of the values, which msgspec decodes straight into the class:

    >>> msgspec.msgpack.decode(msgspec.msgpack.encode([("red", 1)]), type=list[Word])
    [Tuple('split', word='red', count=1)]
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from typing import TYPE_CHECKING, Any, ClassVar, cast

import msgspec

__all__ = ["RESERVED_FIELDS", "Tuple", "tuple_class"]


# Frozen, because tasks of one worker are handed the same object: what one changed, its siblings would see.
# Without gc, because a tuple is made per message and lives for one: what it holds is tracked by itself.
class Tuple(msgspec.Struct, array_like=True, gc=False, frozen=True):
    """One message of a stream: its values, by name and by position.

    Bolts are given these. They are values: equal when they are of the same stream and hold equal values, and not to be
    changed. To emit, a plain tuple is enough.
    """

    source: ClassVar[str]
    """The component that emitted it."""
    stream: ClassVar[str]
    """The stream that it was emitted to; a component's own is called ``default``."""
    fields: ClassVar[tuple[str, ...]]
    """The names of its values, in order."""

    # From name and from position to what reads that value: one lookup, where getattr would be three.
    _readers: ClassVar[dict[str | int, Callable[[Tuple], Any]]]

    if TYPE_CHECKING:  # the fields are known only when a topology runs

        def __init__(self, *values: Any) -> None: ...
        def __getattr__(self, field: str) -> Any: ...

    def __getitem__(self, key: str | int) -> Any:
        """The value of a field, by its name or its position."""
        try:
            return self._readers[key](self)
        except (KeyError, TypeError):
            raise _no_such_field(type(self), key) from None

    def __len__(self) -> int:
        return len(self.fields)

    def __iter__(self) -> Iterator[Any]:
        return iter(msgspec.structs.astuple(self))

    def __repr__(self) -> str:
        stream = "" if self.stream == "default" else f".{self.stream}"
        values = "".join(f", {field}={value!r}" for field, value in zip(self.fields, self, strict=True))
        return f"Tuple('{self.source}{stream}'{values})"

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuild, (self.source, self.stream, self.fields, msgspec.structs.astuple(self))


RESERVED_FIELDS = frozenset(name for name in (*dir(Tuple), *Tuple.__annotations__) if not name.startswith("_"))
"""Names that a field cannot have, because every tuple has them already."""


@cache
def tuple_class(source: str, stream: str, fields: tuple[str, ...]) -> type[Tuple]:
    """The class of the tuples of one stream; the same one each time it is asked for.

    Args:
        source: the component that emits them.
        stream: the name of the stream.
        fields: the names of the values: identifiers, none twice, none of `RESERVED_FIELDS`.
    """
    readers: dict[str | int, Callable[[Tuple], Any]] = {}
    made = msgspec.defstruct(
        f"{source}_{stream}",
        [(field, Any) for field in fields],
        bases=(Tuple,),
        namespace={"source": source, "stream": stream, "fields": fields, "_readers": readers},
        module=__name__,
        array_like=True,
        gc=False,
        frozen=True,
    )
    for position, field in enumerate(fields):
        read = vars(made)[field].__get__  # the slot's own descriptor
        readers[field] = readers[position] = readers[position - len(fields)] = read
    return cast("type[Tuple]", made)


def _rebuild(source: str, stream: str, fields: tuple[str, ...], values: tuple[Any, ...]) -> Tuple:
    return tuple_class(source, stream, fields)(*values)


def _no_such_field(made: type[Tuple], key: object) -> LookupError | TypeError:
    of = f"a tuple of {made.source!r}" + ("" if made.stream == "default" else f", stream {made.stream!r}")
    if isinstance(key, str):
        return KeyError(f"{of}: wanted one of its fields {made.fields}, got {key!r}")
    if isinstance(key, int):
        # IndexError and nothing else, as old-style iteration and unpacking rely on it.
        return IndexError(f"{of}: wanted a position below {len(made.fields)}, got {key}")
    return TypeError(f"{of}: wanted the name or the position of a field, got {key!r}")
