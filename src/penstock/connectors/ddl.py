"""Schemas as Spark writes them, such as ``word string, count long``, read without Spark.

Spark's own reader is in its JVM, and a sink needs the types where there is none: in workers, before a session is there,
and in tests. Spark reads the same text again when it is given it, so the two cannot disagree unnoticed: the source of a
stream compares.

>>> arrow_schema("word string, counts map<string, array<long>>, price decimal(10, 2) not null")
word: string
counts: map<string, list<element: int64>>
  child 0, entries: struct<key: string not null, value: list<element: int64>> not null
      child 0, key: string not null
      child 1, value: list<element: int64>
          child 0, element: int64
price: decimal128(10, 2) not null
"""

from __future__ import annotations

import re
from typing import Any, NoReturn

import pyarrow as pa

__all__ = ["arrow_schema"]

_PLAIN: dict[str, Any] = {
    "boolean": pa.bool_(),
    "byte": pa.int8(),
    "tinyint": pa.int8(),
    "short": pa.int16(),
    "smallint": pa.int16(),
    "int": pa.int32(),
    "integer": pa.int32(),
    "long": pa.int64(),
    "bigint": pa.int64(),
    "float": pa.float32(),
    "real": pa.float32(),
    "double": pa.float64(),
    "string": pa.string(),
    "binary": pa.binary(),
    "date": pa.date32(),
    "timestamp": pa.timestamp("us", tz="UTC"),
    "timestamp_ltz": pa.timestamp("us", tz="UTC"),
    "timestamp_ntz": pa.timestamp("us"),
}
_DECIMALS = ("decimal", "dec", "numeric")
_NESTED = ("array", "map", "struct")

_TOKEN = re.compile(r"\s*(`(?:[^`]|``)+`|\w+|[<>(),:])")


def arrow_schema(ddl: str) -> pa.Schema:
    """The columns of a schema, as Arrow types them.

    Raises:
        ValueError: it cannot be read. The text says where.
    """
    reader = _Reader(ddl)
    fields = reader.fields(until=None)
    names = [field.name.lower() for field in fields]
    if twice := sorted({name for name in names if names.count(name) > 1}):
        message = f"schema {ddl!r}: wanted columns of different names, got {', '.join(map(repr, twice))} more than once"
        raise ValueError(message)
    return pa.schema(fields)


class _Reader:
    def __init__(self, ddl: str) -> None:
        self._ddl = ddl
        self._tokens: list[tuple[str, int]] = []
        place = 0
        while ddl[place:].strip():
            found = _TOKEN.match(ddl, place)
            if found is None:
                self._refuse("a name or a type", repr(ddl[place:].strip()[0]), place)
            self._tokens.append((found[1], found.start(1)))
            place = found.end()
        self._at = 0

    def fields(self, until: str | None) -> list[pa.Field]:
        """``name type [not null]``, separated by commas, up to a closing token or the end."""
        found = [self._field()]
        while self._peek() == ",":
            self._at += 1
            found.append(self._field())
        if self._peek() != until:
            self._refuse(f"',' or {'the end' if until is None else repr(until)}")
        self._at += 1
        return found

    def _field(self) -> pa.Field:
        name = self._peek()
        if name is None or not re.match(r"[\w`]", name):
            self._refuse("the name of a column")
        self._at += 1
        if self._peek() == ":":
            self._at += 1
        kind = self._type()
        required = self._takes("not")
        if required and not self._takes("null"):
            self._refuse("'null'")
        return pa.field(name[1:-1].replace("``", "`") if name[0] == "`" else name, kind, nullable=not required)

    def _type(self) -> Any:
        token = self._peek()
        name = "" if token is None else token.lower()
        if name in _PLAIN:
            self._at += 1
            return _PLAIN[name]
        if name in _DECIMALS:
            self._at += 1
            return self._decimal()
        if name not in _NESTED:
            self._refuse(f"a type ({', '.join([*_PLAIN, *_DECIMALS, *_NESTED])})")
        self._at += 1
        self._expect("<")
        if name == "struct":
            return pa.struct(self.fields(until=">"))
        first = self._type()
        if name == "map":
            self._expect(",")
            kind = pa.map_(first, self._type())
        else:
            kind = pa.list_(pa.field("element", first))
        self._expect(">")
        return kind

    def _decimal(self) -> Any:
        digits = [10, 0]
        if self._takes("("):
            digits[0] = self._number()
            if self._takes(","):
                digits[1] = self._number()
            self._expect(")")
        precision, scale = digits
        if not (1 <= precision <= 38 and scale <= precision):
            self._refuse("decimal(precision, scale) with scale <= precision <= 38", f"({precision}, {scale})")
        return pa.decimal128(precision, scale)

    def _number(self) -> int:
        token = self._peek()
        if token is None or not token.isdecimal():
            self._refuse("a number of digits")
        self._at += 1
        return int(token)

    def _takes(self, word: str) -> bool:
        token = self._peek()
        if token is None or token.lower() != word:
            return False
        self._at += 1
        return True

    def _expect(self, token: str) -> None:
        if not self._takes(token):
            self._refuse(repr(token))

    def _peek(self) -> Any:
        return self._tokens[self._at][0] if self._at < len(self._tokens) else None

    def _refuse(self, wanted: str, got: str | None = None, place: int | None = None) -> NoReturn:
        if place is None:
            place = self._tokens[self._at][1] if self._at < len(self._tokens) else len(self._ddl)
        got = got or ("the end" if self._peek() is None else repr(self._peek()))
        message = f"schema {self._ddl!r}: wanted {wanted} at character {place + 1}, got {got}"
        raise ValueError(message)
