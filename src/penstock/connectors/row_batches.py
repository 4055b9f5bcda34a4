"""From rows to a record batch of a given schema.

>>> schema = pa.schema([("word", pa.string()), ("count", pa.int64())])
>>> record_batch([("blue", 3), ("red", None)], schema).to_pylist()
[{'word': 'blue', 'count': 3}, {'word': 'red', 'count': None}]
>>> record_batch([("blue", 3), ("red", "many")], schema)
Traceback (most recent call last):
ValueError: row ('red', 'many'), column 'count': wanted int64, got 'many' (str)
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa

__all__ = ["record_batch"]

_MISFITS = (pa.ArrowException, TypeError, ValueError, OverflowError)
_MOST_SHOWN = 200


def record_batch(rows: Sequence[Sequence[Any]], schema: pa.Schema) -> pa.RecordBatch:
    """The rows as columns.

    Raises:
        ValueError: a value does not fit its column. The text names row, column, wanted and got.
    """
    columns = []
    for position, field in enumerate(schema):
        values = [row[position] for row in rows]
        try:
            column = pa.array(values, type=field.type)
        except _MISFITS:
            raise _misfit(rows, position, field) from None
        if column.null_count and not field.nullable:
            raise _misfit(rows, position, field)
        columns.append(column)
    return pa.record_batch(columns, schema=schema)


def _misfit(rows: Sequence[Sequence[Any]], position: int, field: pa.Field) -> ValueError:
    """The first value that does not fit, found by trying one after the other."""
    wanted = f"{field.type}{'' if field.nullable else ' and not null'}"
    for row in rows:
        value = row[position]
        try:
            fits = value is not None or field.nullable
            pa.array([value], type=field.type)
        except _MISFITS:
            fits = False
        if not fits:
            got = f"{_shortened(value)} ({type(value).__name__})"
            return ValueError(f"row {_shortened(tuple(row))}, column {field.name!r}: wanted {wanted}, got {got}")
    return ValueError(f"column {field.name!r}: wanted {wanted}, got values that do not fit one column")


def _shortened(value: Any) -> str:
    shown = repr(value)
    return shown if len(shown) <= _MOST_SHOWN else f"{shown[:_MOST_SHOWN]}…"
