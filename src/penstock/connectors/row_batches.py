"""From rows to a record batch of a given schema.

>>> schema = pa.schema([("word", pa.string()), ("count", pa.int64())])
>>> record_batch([("blue", 3), ("red", None)], schema).to_pylist()
[{'word': 'blue', 'count': 3}, {'word': 'red', 'count': None}]
>>> record_batch([("blue", 3), ("red", 1.5)], schema)
Traceback (most recent call last):
ValueError: row ('red', 1.5): column 'count' takes int: wanted int64, got the float 1.5
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from penstock.connectors.column_types import Column, column_of_values, shown

__all__ = ["record_batch"]


def record_batch(rows: Sequence[Sequence[Any]], schema: pa.Schema) -> pa.RecordBatch:
    """The rows as columns.

    Raises:
        ValueError: a value does not fit its column. The text names row, column, wanted and got.
    """

    def place(row: int) -> str:
        return f"row {shown(tuple(rows[row]))}"

    columns = [
        column_of_values(values, _column(field), place)
        for field, values in zip(schema, zip(*rows, strict=True), strict=True)
    ]
    return pa.record_batch(columns, schema=schema)


def _column(field: pa.Field) -> Column:
    declared = f"{field.type}{'' if field.nullable else ' and not null'}"
    return Column(name=field.name, type=field.type, declared=declared, nullable=field.nullable)
