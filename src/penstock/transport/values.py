"""Values on the wire: msgpack, and what arrives is what was sent, whether it went to another process or not.

msgpack by itself would turn a tuple into a list, a set into a list, a Decimal into text. So that a result never depends
on where a task runs, what msgpack has no type for travels as one of the extensions below. Most tuples hold plain
values only; one pass in C finds that out, and they are encoded as they are.

    >>> sent = [("blue", (1, 2.5), {"seen"}, Decimal("0.10"), 2**70)]
    >>> decode_rows(encode_rows(sent))
    [['blue', (1, 2.5), {'seen'}, Decimal('0.10'), 1180591620717411303424]]

A value of a subclass arrives as the built-in value that it is equal to: a named tuple as a tuple, a Counter as a dict.
A date and time keeps the name of its zone if that is a ZoneInfo, and the offset of any other. Anything else is refused,
and never changed into something that it is not.
"""

from __future__ import annotations

import dataclasses
import datetime as dt
import struct
from collections.abc import Callable, Iterable, Iterator, Sequence
from decimal import Decimal
from enum import Enum, IntEnum
from types import NoneType
from typing import Any
from uuid import UUID
from zoneinfo import ZoneInfo

import msgspec
from msgspec.msgpack import Ext

from penstock._native import ROWS_PLAIN, judge_rows
from penstock.transport.canonical_key import FrozenDict

__all__ = [
    "EXACT_TYPES",
    "UNENCODABLE",
    "UNREADABLE",
    "decode_rows",
    "decode_value",
    "encode_rows",
    "encode_value",
    "portable",
    "portable_rows",
    "row_decoder",
    "unpack_extension",
    "why_it_stays",
]


class _Extension(IntEnum):
    """The codes of msgpack extensions. Part of the wire format: never renumber."""

    TUPLE = 1
    SET = 2
    FROZENSET = 3
    PAIRS = 4
    """A dict with keys that are no plain values."""
    INTEGER = 5
    """One that needs more than 64 bits."""
    COMPLEX = 6
    DECIMAL = 7
    UUID = 8
    DATE = 9
    TIME = 10
    DATETIME = 11
    TIMEDELTA = 12
    BYTEARRAY = 13
    ZONED_DATETIME = 14
    """What clocks showed, the name of the zone, and the fold, which tells apart the hour that comes twice."""
    ZONED_TIME = 15
    FROZEN_DICT = 16
    """What a dict is as a key."""


_PLAIN = frozenset({str, int, float, bool, bytes, NoneType})
_SURELY_PLAIN = _PLAIN - {int}  # an int may be too large
_INTEGERS = range(-(1 << 63), 1 << 64)

_WANTED = (
    "str, bytes, bytearray, numbers, bool, None, dates, times, UUID, and tuples, lists, sets and dicts of these; "
    "or Arrow record batches"
)

_encode = msgspec.msgpack.Encoder().encode

UNENCODABLE = (TypeError, ValueError, OverflowError, RecursionError)
"""What is raised for values that cannot travel: of a wrong type, text that is none, what contains itself."""

UNREADABLE = (msgspec.DecodeError, ValueError, RecursionError)
"""What decoders raise for bytes that hold no values of ours, and nothing else."""


def portable_rows(rows: list[tuple[Any, ...]]) -> Sequence[Iterable[Any]]:
    """The rows, such that msgpack keeps every type.

    Raises:
        TypeError: a value is of a type that cannot travel.
    """
    if rows and judge_rows(rows, len(rows[0])) == ROWS_PLAIN:
        return rows
    return [[*map(portable, row)] for row in rows]


def portable(value: Any) -> Any:
    """One value, such that msgpack keeps its type, and that of everything in it."""
    kind = type(value)
    if kind in _SURELY_PLAIN:
        return value
    pack = _PACKERS.get(kind)
    if pack is not None:
        return pack(value)
    for base, pack in _PACKERS.items():
        if isinstance(value, base):
            return pack(value)
    raise _refused(value)


def why_it_stays(value: Any) -> str | None:
    """What keeps a value from travelling, in a line for people; None if nothing does."""
    try:
        _encode(portable(value))
    except RecursionError:
        return f"a {type(value).__qualname__} contains itself, or is nested too deeply"
    except UnicodeEncodeError as error:
        return f"text that is no Unicode cannot be encoded ({error.reason}); wanted text, or bytes: text.encode(...)"
    except UNENCODABLE as error:
        return str(error)
    return None


def _refused(value: Any) -> TypeError:
    kind = type(value)
    got = f"got one of type {kind.__module__}.{kind.__qualname__}"
    return TypeError(f"wanted values made of {_WANTED}; {got}: {_remedy(value)}")


def _remedy(value: Any) -> str:
    """What a user would send in its place."""
    if dataclasses.is_dataclass(value):
        return "send dataclasses.asdict(value)"
    if isinstance(value, msgspec.Struct):
        return "send msgspec.structs.asdict(value)"
    if isinstance(value, Enum):
        return "send its .value, or its .name"
    if callable(getattr(value, "tolist", None)):  # NumPy's arrays and scalars, and whatever copies them
        return "send value.tolist()"
    if isinstance(value, Iterator):
        return "send list(value)"
    return "send what it is made of, as a tuple or dict"


def _integer(value: int) -> Any:
    value = int(value)
    return value if value in _INTEGERS else _extension(_Extension.INTEGER, _octets(value))


def _octets(value: int) -> bytes:
    return value.to_bytes(value.bit_length() // 8 + 1, "little", signed=True)


def _list(value: list[Any]) -> list[Any]:
    if type(value) is list and _SURELY_PLAIN.issuperset(map(type, value)):
        return value
    return [*map(portable, value)]


def _dict(value: dict[Any, Any]) -> Any:
    # An int that msgpack has no room for is no plain key.
    if _PLAIN.issuperset(map(type, value)) and all(key in _INTEGERS for key in value if type(key) is int):
        return {key: portable(item) for key, item in value.items()}
    return _extension(_Extension.PAIRS, _pairs(value))


def _pairs(value: dict[Any, Any]) -> list[list[Any]]:
    return [[portable(key), portable(item)] for key, item in value.items()]


def _extension(code: _Extension, content: Any) -> Ext:
    return Ext(int(code), _encode(content))


def _datetime(value: dt.datetime) -> Ext:
    if not isinstance(value.tzinfo, ZoneInfo):
        return _extension(_Extension.DATETIME, dt.datetime.isoformat(value))
    shown = dt.datetime.isoformat(value.replace(tzinfo=None))
    return _extension(_Extension.ZONED_DATETIME, [shown, _zone_name(value.tzinfo), value.fold])


def _time(value: dt.time) -> Ext:
    if not isinstance(value.tzinfo, ZoneInfo):
        return _extension(_Extension.TIME, dt.time.isoformat(value))
    shown = dt.time.isoformat(value.replace(tzinfo=None))
    return _extension(_Extension.ZONED_TIME, [shown, _zone_name(value.tzinfo), value.fold])


def _zone_name(zone: ZoneInfo) -> str:
    name: str | None = zone.key  # the stubs know of no zone without one
    if name is None:
        message = "wanted a ZoneInfo with a key, because a zone travels by its name; got one from a file without one"
        raise TypeError(message)
    return name


def _several(code: _Extension) -> Callable[[Iterable[Any]], Ext]:
    return lambda values: _extension(code, [*map(portable, values)])


# Exact types are looked up; subclasses take the first that fits, so a datetime comes before a date.
_PACKERS: dict[type, Callable[[Any], Any]] = {
    str: str.__str__,
    int: _integer,
    float: float,
    bytes: bytes,
    list: _list,
    FrozenDict: lambda value: _extension(_Extension.FROZEN_DICT, _pairs(value)),
    dict: _dict,
    tuple: _several(_Extension.TUPLE),
    set: _several(_Extension.SET),
    frozenset: _several(_Extension.FROZENSET),
    Decimal: lambda value: _extension(_Extension.DECIMAL, str(value)),
    UUID: lambda value: _extension(_Extension.UUID, value.bytes),
    dt.datetime: _datetime,
    dt.date: lambda value: _extension(_Extension.DATE, dt.date.isoformat(value)),
    dt.time: _time,
    dt.timedelta: lambda value: _extension(_Extension.TIMEDELTA, [value.days, value.seconds, value.microseconds]),
    complex: lambda value: _extension(_Extension.COMPLEX, [value.real, value.imag]),
    bytearray: lambda value: _extension(_Extension.BYTEARRAY, bytes(value)),
}


EXACT_TYPES = frozenset({*_PACKERS, bool, NoneType})
"""What arrives as what it was. Whatever else travels is of a subclass, and arrives as one of these."""


def unpack_extension(code: int, content: memoryview) -> Any:
    """What msgspec calls for an extension: its `ext_hook`. Raises one of `UNREADABLE` if it is none of ours."""
    unpack = _UNPACKERS.get(code)
    if unpack is None:
        message = f"unknown msgpack extension {code}; wanted one of {sorted(_UNPACKERS)}"
        raise ValueError(message)
    try:
        return unpack(content)
    # Of a set of lists; of a Decimal that is no number; of a zone that is not installed here, or no zone at all.
    except (TypeError, ArithmeticError, LookupError, OSError, struct.error) as error:
        message = f"msgpack extension {_Extension(code).name} holds what cannot be one: {error}"
        raise ValueError(message) from error


def row_decoder(kind: Any) -> Callable[[Any], Any]:
    """A decoder for `kind` that understands the extensions. It raises one of `UNREADABLE`."""
    return msgspec.msgpack.Decoder(kind, ext_hook=unpack_extension).decode


def _made_of(kind: Any, make: Callable[[Any], Any]) -> Callable[[memoryview], Any]:
    # The kind is checked before anything is made: bytearray(n) of a number would take n bytes of memory.
    decode = row_decoder(kind)
    return lambda content: make(decode(content))


def _zoned_datetime(parts: tuple[str, str, Any]) -> dt.datetime:
    shown, zone, fold = parts
    return dt.datetime.fromisoformat(shown).replace(tzinfo=ZoneInfo(zone), fold=fold)


def _zoned_time(parts: tuple[str, str, Any]) -> dt.time:
    shown, zone, fold = parts
    return dt.time.fromisoformat(shown).replace(tzinfo=ZoneInfo(zone), fold=fold)


_UNPACKERS: dict[int, Callable[[memoryview], Any]] = {
    _Extension.TUPLE: _made_of(list[Any], tuple),
    _Extension.SET: _made_of(list[Any], set),
    _Extension.FROZENSET: _made_of(list[Any], frozenset),
    _Extension.PAIRS: _made_of(list[tuple[Any, Any]], dict),
    _Extension.INTEGER: _made_of(bytes, lambda octets: int.from_bytes(octets, "little", signed=True)),
    _Extension.COMPLEX: _made_of(tuple[float, float], lambda parts: complex(*parts)),
    _Extension.DECIMAL: _made_of(str, Decimal),
    _Extension.UUID: _made_of(bytes, lambda octets: UUID(bytes=octets)),
    _Extension.DATE: _made_of(str, dt.date.fromisoformat),
    _Extension.TIME: _made_of(str, dt.time.fromisoformat),
    _Extension.DATETIME: _made_of(str, dt.datetime.fromisoformat),
    _Extension.TIMEDELTA: _made_of(tuple[int, int, int], lambda parts: dt.timedelta(*parts)),
    _Extension.BYTEARRAY: _made_of(bytes, bytearray),
    _Extension.ZONED_DATETIME: _made_of(tuple[str, str, int], _zoned_datetime),
    _Extension.ZONED_TIME: _made_of(tuple[str, str, int], _zoned_time),
    _Extension.FROZEN_DICT: _made_of(list[tuple[Any, Any]], FrozenDict),
}

_decode = row_decoder(Any)
_decode_rows = row_decoder(list[list[Any]])
_decode_value = row_decoder(Any)


def encode_value(value: Any) -> bytes:
    """One value as msgpack, with its types kept."""
    return _encode(portable(value))


def decode_value(payload: bytes | memoryview) -> Any:
    """What `encode_value` was given."""
    return _decode_value(payload)


def encode_rows(rows: list[tuple[Any, ...]]) -> bytes:
    """Rows as msgpack, with their types kept."""
    try:
        return _encode(portable_rows(rows))
    except OverflowError:  # plain values all, but for an int that msgpack has no room for
        return _encode([[*map(portable, row)] for row in rows])


def decode_rows(payload: bytes | memoryview) -> list[list[Any]]:
    """What `encode_rows` made, each row a list. Raises one of `UNREADABLE` if it did not."""
    rows: list[list[Any]] = _decode_rows(payload)
    return rows
