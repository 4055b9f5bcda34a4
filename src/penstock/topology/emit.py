"""What a component hands over to be sent, and the one rule for reading it.

``process``, ``tick``, ``finish`` and a spout's ``next`` return, or yield:

========================  ===========================================================
``None``                  nothing
a ``tuple``               one output, to the component's own stream
an `Emit`                 one output, to a named stream or to one task
anything else that can
be iterated over          many of these
========================  ===========================================================

    >>> list(outputs((1, 2)))
    [(1, 2)]
    >>> list(outputs([("a",), None, Emit(("b",), stream="errors")]))
    [('a',), Emit(('b',), stream='errors')]
    >>> list(outputs("blue"))
    Traceback (most recent call last):
    TypeError: wanted a tuple, an Emit, None, or several of them, got the str 'blue': write ('blue',)
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, TypeAlias, TypeGuard

import msgspec

from penstock.topology.tuples import Tuple

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = [
    "DEAD_LETTERS",
    "DEAD_LETTER_FIELDS",
    "DEFAULT_STREAM",
    "Emit",
    "Output",
    "Outputs",
    "is_record_batch",
    "outputs",
]

DEFAULT_STREAM = "default"
"""The name of the stream that a plain tuple goes to."""


DEAD_LETTERS = "dead_letters"
"""The name of the stream of a component's tuples that were given up."""

DEAD_LETTER_FIELDS = ("values", "bolt", "reason", "tries")


class Emit(msgspec.Struct, gc=False, frozen=True):
    """One output that says more than its values.

    Attributes:
        values: the values, one per field of the stream (in a `BatchBolt`, a record batch).
        stream: which of the component's streams it goes to.
        task: the index of the one task that gets it, of each subscriber by ``direct()``. Other subscribers share it out
            as they always do.
        id: in a spout: the message id that ``ack`` or ``fail`` will be called with.
    """

    values: Any
    stream: str = DEFAULT_STREAM
    task: int | None = None
    id: Any = None

    def __repr__(self) -> str:
        stream = "" if self.stream == DEFAULT_STREAM else f", stream={self.stream!r}"
        task = "" if self.task is None else f", task={self.task!r}"
        message_id = "" if self.id is None else f", id={self.id!r}"
        return f"Emit({self.values!r}{stream}{task}{message_id})"


Output: TypeAlias = tuple[Any, ...] | Tuple | Emit
"""One output."""

Outputs: TypeAlias = Output | Iterable["Output | None"] | None
"""What a component may hand over."""


def is_record_batch(value: object) -> TypeGuard[pa.RecordBatch]:
    """Whether it is a record batch. Where nobody has imported Arrow there is none, and a worker does without Arrow."""
    return isinstance(value, getattr(sys.modules.get("pyarrow"), "RecordBatch", ()))


def outputs(result: Any) -> Iterator[Output]:
    """Each single output in what a component handed over. The worker does the same, faster, in its loop."""
    if result is None:
        return
    if isinstance(result, _SINGLE):
        yield result
        return
    for one in _iterate(result):
        if isinstance(one, _SINGLE):
            yield one
        elif one is not None:
            raise not_an_output(one)


# A Tuple can be iterated over, yet is one output: `return tup` passes on what came in.
_SINGLE = (tuple, Emit, Tuple)

# These can be iterated over, yet nobody means their characters, bytes and keys as tuples.
_NEVER_MANY = (str, bytes, bytearray, memoryview, dict)


def _iterate(result: Any) -> Iterator[Any]:
    if isinstance(result, _NEVER_MANY) or not isinstance(result, Iterable):
        raise not_an_output(result)
    return iter(result)


def not_an_output(wrong: object) -> TypeError:
    """The error for something handed over that can not be sent."""
    shown = repr(wrong) if len(repr(wrong)) < 80 else f"{repr(wrong)[:76]} …"
    hint = f": write ({shown},)" if isinstance(wrong, str | bytes | int | float) else ""
    message = f"wanted a tuple, an Emit, None, or several of them, got the {type(wrong).__name__} {shown}{hint}"
    return TypeError(message)
