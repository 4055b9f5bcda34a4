"""Values to columns of declared types. What does not fit is an error that names row, column, wanted and got.

Arrow is generous: it takes bytes for text, drops nanoseconds and the keys of a dict that a struct has no field for,
reads a time without a zone as if it were UTC, and makes infinity of a number that 32 bits cannot hold. A table that is
silently wrong is worse than an error, so that is looked for. Only rounding to the precision of a float is expected.
"""

from __future__ import annotations

import datetime as dt
import decimal
import math
import numbers
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

__all__ = ["Column", "Place", "column_of_array", "column_of_values", "shown"]

Place = Callable[[int], str]
"""Tells which row it is, for people, from its number among those at hand."""

_MOST_SHOWN = 200


def shown(value: Any) -> str:
    """A value, or a row, as an error shows it: not more than a line or two of it."""
    try:
        text = repr(value)
    except Exception:  # of the value's own class
        text = f"<{type(value).__name__}>"
    return text if len(text) <= _MOST_SHOWN else text[:_MOST_SHOWN] + "…"


class Column(msgspec.Struct, frozen=True, kw_only=True):
    """One column of the declared schema."""

    name: str
    type: Any
    """Its Arrow type."""
    declared: str
    """The same as the user wrote it."""
    nullable: bool


def column_of_values(values: Sequence[Any], column: Column, place: Place) -> pa.Array:
    """Python values as a column. ValueError names the first that does not fit."""
    # One pass in C finds out that nothing needs a closer look: most columns hold plain values of one type.
    kinds = set(map(type, values))
    kinds.discard(type(None))
    closely = not kinds <= _PLAIN.get(column.type.id, frozenset())
    if closely or (not column.nullable and None in values):
        _look_closely(values, column, place)
    try:
        made = pa.array(values, column.type)
    except _ARROW_ERRORS:
        for row, value in enumerate(values):
            try:
                pa.array([value], column.type)
            except _ARROW_ERRORS as error:
                raise _misfit(place(row), f"column {column.name!r}: {error}", column, value) from None
        raise
    if not closely and _has_infinity(made):
        _look_closely(values, column, place)
    return made


def _look_closely(values: Sequence[Any], column: Column, place: Place) -> None:
    for row, value in enumerate(values):
        for problem in _problems(value, column.type, column.name, nullable=column.nullable):
            raise _misfit(place(row), problem, column, value)


def column_of_array(array: pa.Array, column: Column, place: Place) -> pa.Array:
    """A column of a record batch as one of the declared type: as it is if it has that, else cast without loss."""
    if not column.nullable and array.null_count:
        row = pc.index(array.is_null(), True).as_py()
        raise _misfit(place(row), f"column {column.name!r} may not be null", column, None)
    if array.type == column.type:
        return array
    if pa.types.is_dictionary(array.type):
        return column_of_array(array.dictionary_decode(), column, place)
    if not _alike(array.type, column.type):
        if pa.types.is_nested(column.type) and pa.types.is_nested(array.type):
            return column_of_values(array.to_pylist(maps_as_pydicts="strict"), column, place)
        message = f"{place(0)}: column {column.name!r}: wanted {column.declared}, got a column of {array.type}"
        raise ValueError(message)
    try:
        made = array.cast(column.type)
    except _ARROW_ERRORS:
        for row in range(len(array)):
            try:
                array.slice(row, 1).cast(column.type)
            except _ARROW_ERRORS as error:
                raise _misfit(place(row), f"column {column.name!r}: {error}", column, array[row].as_py()) from None
        raise
    if _has_infinity(made):
        _look_closely(array.to_pylist(), column, place)
    return made


# Arrow's errors have no common root but for Exception.
_ARROW_ERRORS = (pa.ArrowException, ValueError, TypeError, OverflowError)


def _misfit(place: str, problem: str, column: Column, value: Any) -> ValueError:
    return ValueError(f"{place}: {problem}: wanted {column.declared}, got the {type(value).__name__} {shown(value)}")


_INTEGERS = tuple(kind().id for kind in (pa.int8, pa.int16, pa.int32, pa.int64))
_FLOATS = tuple(kind().id for kind in (pa.float32, pa.float64))
_FLOAT = pa.float32().id
_TEXTS = (pa.string().id, pa.large_string().id)
_BINARIES = (pa.binary().id, pa.large_binary().id)
_DECIMAL = pa.decimal128(1).id
_TIMESTAMP = pa.timestamp("us").id
_NULL = pa.null().id

# Halfway between the largest number that 32 bits hold and the next they would: from here on it is rounded to infinity.
_TOO_LARGE_FOR_FLOAT = 2.0**128 - 2.0**103

# By the id of the Arrow type: values that Arrow takes as they are, or refuses by itself.
_PLAIN: dict[int, frozenset[type]] = {
    **dict.fromkeys(_INTEGERS, frozenset({int})),
    **dict.fromkeys(_FLOATS, frozenset({float, int})),
    **dict.fromkeys(_TEXTS, frozenset({str})),
    **dict.fromkeys(_BINARIES, frozenset({bytes})),
    pa.bool_().id: frozenset({bool}),
    pa.date32().id: frozenset({dt.date}),
    _DECIMAL: frozenset({decimal.Decimal, int}),
}

# By the id of the Arrow type: what a value has to be at least.
_WANTED: dict[int, tuple[type, ...]] = {
    **dict.fromkeys(_INTEGERS, (int, numbers.Integral)),  # such as NumPy's
    **dict.fromkeys(_FLOATS, (float, int, numbers.Real)),
    **dict.fromkeys(_TEXTS, (str,)),
    **dict.fromkeys(_BINARIES, (bytes, bytearray)),
    pa.bool_().id: (bool, np.bool_),
    pa.date32().id: (dt.date,),
    pa.time64("ns").id: (dt.time,),
    pa.duration("us").id: (dt.timedelta,),
    _DECIMAL: (decimal.Decimal, int),
    _TIMESTAMP: (dt.datetime,),
}


def _problems(value: Any, kind: pa.DataType, where: str, *, nullable: bool) -> Iterator[str]:
    """What is wrong with a value, and where in it, deep down."""
    if value is None:
        if not nullable:
            yield f"column {where!r} may not be null"
    elif pa.types.is_struct(kind):
        yield from _struct_problems(value, kind, where)
    elif pa.types.is_map(kind):
        if not isinstance(value, dict):
            yield f"column {where!r} takes dicts"
            return
        for key, item in value.items():
            yield from _problems(key, kind.key_type, f"{where}.key", nullable=False)
            yield from _problems(item, kind.item_type, f"{where}.value", nullable=kind.item_field.nullable)
    elif pa.types.is_list(kind) or pa.types.is_large_list(kind):
        if isinstance(value, str | bytes | dict) or not isinstance(value, Sequence):
            yield f"column {where!r} takes lists"
            return
        for item in value:
            yield from _problems(item, kind.value_type, f"{where}.element", nullable=kind.value_field.nullable)
    else:
        yield from _plain_problems(value, kind, where)


def _struct_problems(value: Any, kind: pa.StructType, where: str) -> Iterator[str]:
    if not isinstance(value, dict):
        yield f"column {where!r} takes dicts with the keys {', '.join(field.name for field in kind)}"
        return
    strangers = value.keys() - {field.name for field in kind}
    if strangers:
        yield f"column {where!r} has no field {', '.join(map(repr, strangers))}"
    for field in kind:
        yield from _problems(value.get(field.name), field.type, f"{where}.{field.name}", nullable=field.nullable)


def _plain_problems(value: Any, kind: pa.DataType, where: str) -> Iterator[str]:
    wanted = _WANTED.get(kind.id)
    if wanted is None:  # Arrow knows better, as with null
        return
    # True is an int to Python, and a date and time is a date.
    is_other = (isinstance(value, bool) and bool not in wanted) or (
        isinstance(value, dt.datetime) and kind.id != _TIMESTAMP
    )
    if not isinstance(value, wanted) or is_other:
        named = [one.__name__ for one in wanted if one.__module__ not in ("numbers", "numpy")]
        yield f"column {where!r} takes {' or '.join(named)}"
    elif isinstance(value, dt.datetime) and (value.tzinfo is None) != (kind.tz is None):
        takes = "times without a zone" if kind.tz is None else "times with a zone (tzinfo)"
        yield f"column {where!r} takes {takes}"
    elif kind.id == _FLOAT and _becomes_infinite(value):
        yield f"column {where!r} takes numbers that 32 bits can hold"
    # As pandas has them, whose times are datetimes and whose durations are timedeltas.
    elif getattr(value, "nanosecond", 0) or getattr(value, "nanoseconds", 0):
        yield f"column {where!r} takes whole microseconds"


def _becomes_infinite(value: Any) -> bool:
    """Whether a number that is finite is no longer so in 32 bits."""
    return bool(_TOO_LARGE_FOR_FLOAT <= abs(value) < math.inf)


def _has_infinity(made: pa.Array) -> bool:
    """Whether numbers may have become infinite: in 32 bits, for which they were not meant."""
    return made.type.id == _FLOAT and bool(pc.any(pc.is_inf(made)).as_py())


_CAST_WITHIN = (
    _INTEGERS,
    _FLOATS,
    _TEXTS,
    _BINARIES,
    (_DECIMAL, pa.decimal256(1).id),
    (pa.date32().id, pa.date64().id),
    (pa.time32("s").id, pa.time64("us").id),
)


def _alike(given: pa.DataType, wanted: pa.DataType) -> bool:
    """Whether one can become the other, and mean the same."""
    if given.id == _NULL:
        return True
    if given.id == _TIMESTAMP:
        return wanted.id == _TIMESTAMP and (given.tz is None) == (wanted.tz is None)
    if given.id in _INTEGERS and wanted.id in (*_FLOATS, _DECIMAL):
        return True
    if given.id in (pa.uint8().id, pa.uint16().id, pa.uint32().id, pa.uint64().id):
        return wanted.id in _INTEGERS
    if pa.types.is_duration(given):
        return bool(pa.types.is_duration(wanted))
    return any(given.id in family and wanted.id in family for family in _CAST_WITHIN)
