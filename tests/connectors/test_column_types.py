"""Values to columns: what fits comes out equal, and what does not is named."""

from __future__ import annotations

import datetime as dt
import math
from decimal import Decimal
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from penstock.connectors.column_types import Column, column_of_array, column_of_values

NOON = dt.datetime(2024, 7, 1, 12, 0, tzinfo=ZoneInfo("Europe/Berlin"))
LARGEST_FLOAT = 2.0**128 - 2.0**104
POINT = pa.struct([pa.field("x", pa.int32()), pa.field("y", pa.int32(), nullable=False)])
LISTED = pa.list_(pa.field("element", pa.int64(), nullable=False))


def column(kind: Any, *, nullable: bool = True) -> Column:
    return Column(name="it", type=kind, declared="what was declared", nullable=nullable)


def place(row: int) -> str:
    return f"row {row}"


@pytest.mark.parametrize(
    ("kind", "values"),
    [
        (pa.int8(), [1, None, -128]),
        (pa.int64(), [np.int64(1), None, 2]),
        (pa.float64(), [1.5, 2, None]),
        (pa.float64(), [np.float32(0.5), np.int8(2)]),
        (pa.string(), ["a", None]),
        (pa.binary(), [b"a", None]),
        (pa.bool_(), [True, None]),
        (pa.bool_(), [np.True_, None, np.False_, True]),
        (pa.list_(pa.bool_()), [[np.True_, False]]),
        (pa.date32(), [dt.date(2024, 2, 29), None]),
        (pa.duration("us"), [dt.timedelta(days=1), None]),
        (pa.decimal128(10, 2), [Decimal("1.25"), 3, None]),
        (pa.timestamp("us", "UTC"), [NOON, None]),
        (pa.timestamp("us"), [NOON.replace(tzinfo=None), None]),
        (pa.list_(pa.string()), [["a", None], [], None]),
        (pa.map_(pa.string(), LISTED), [{"a": [1]}, {}, None]),
        (POINT, [{"x": 1, "y": 2}, {"y": 2, "x": None}, None]),
        (pa.null(), [None]),
        (pa.float32(), [math.inf, -math.inf, LARGEST_FLOAT, None]),
        (pa.list_(pa.float32()), [[math.inf, LARGEST_FLOAT]]),
        (pa.timestamp("us"), [pd.Timestamp(1000)]),
    ],
)
def test_what_fits_comes_out_equal(kind: Any, values: list[Any]) -> None:
    made = column_of_values(values, column(kind), place)

    assert made.type == kind
    assert made.to_pylist(maps_as_pydicts="strict") == values


@pytest.mark.parametrize(
    ("kind", "value", "complaint"),
    [
        (pa.int64(), "1", "column 'it' takes int"),
        (pa.int64(), True, "column 'it' takes int"),
        (pa.int64(), 1.0, "column 'it' takes int"),
        (pa.int8(), 128, "column 'it': "),
        (pa.int64(), 1 << 63, "column 'it': "),
        (pa.string(), b"bytes", "column 'it' takes str"),
        (pa.binary(), "text", "column 'it' takes bytes"),
        (pa.bool_(), 1, "column 'it' takes bool: "),
        (pa.bool_(), np.int8(1), "column 'it' takes bool: "),
        (pa.int64(), np.True_, "column 'it' takes int"),
        (pa.decimal128(4, 2), Decimal("123.45"), "column 'it': "),
        (pa.decimal128(4, 2), 1.5, "column 'it' takes Decimal"),
        (pa.date32(), NOON, "column 'it' takes date"),
        (pa.timestamp("us", "UTC"), dt.date(2024, 1, 1), "column 'it' takes datetime"),
        (pa.timestamp("us", "UTC"), NOON.replace(tzinfo=None), "column 'it' takes times with a zone"),
        (pa.timestamp("us"), NOON, "column 'it' takes times without a zone"),
        (pa.list_(pa.string()), "text", "column 'it' takes lists"),
        (pa.list_(pa.string()), ["a", 1], "column 'it.element' takes str"),
        (LISTED, [None], "column 'it.element' may not be null"),
        (pa.map_(pa.string(), pa.int64()), [("a", 1)], "column 'it' takes dicts"),
        (pa.map_(pa.string(), pa.int64()), {None: 1}, "column 'it.key' may not be null"),
        (pa.map_(pa.string(), LISTED), {"a": [b""]}, "column 'it.value.element' takes int"),
        (POINT, (1, 2), "column 'it' takes dicts with the keys x, y"),
        (POINT, {"y": 1, "z": 2}, "column 'it' has no field 'z'"),
        (POINT, {"x": 1}, "column 'it.y' may not be null"),
        (pa.float32(), 1e300, "column 'it' takes numbers that 32 bits can hold"),
        (pa.float32(), -LARGEST_FLOAT - 2.0**103, "column 'it' takes numbers that 32 bits can hold"),
        (pa.float32(), np.float64(1e39), "column 'it' takes numbers that 32 bits can hold"),
        (pa.list_(pa.float32()), [0.5, 1e300], "column 'it.element' takes numbers that 32 bits can hold"),
        (pa.timestamp("us"), pd.Timestamp(1001), "column 'it' takes whole microseconds"),
        (pa.timestamp("us", "UTC"), pd.Timestamp(1001, tz="UTC"), "column 'it' takes whole microseconds"),
        (pa.duration("us"), pd.Timedelta(1001), "column 'it' takes whole microseconds"),
    ],
)
def test_what_does_not_fit_is_named(kind: Any, value: Any, complaint: str) -> None:
    with pytest.raises(ValueError, match=r"^row 1: ") as raised:
        column_of_values([None, value], column(kind), place)
    assert str(raised.value).startswith(f"row 1: {complaint}")
    assert f"wanted what was declared, got the {type(value).__name__} {value!r}" in str(raised.value)


def test_null_where_there_may_be_none() -> None:
    with pytest.raises(ValueError, match="row 2: column 'it' may not be null: wanted what was declared, got the None"):
        column_of_values([1, 2, None], column(pa.int64(), nullable=False), place)
    with pytest.raises(ValueError, match="row 1: column 'it' may not be null"):
        column_of_array(pa.array([1, None]), column(pa.int64(), nullable=False), place)


@pytest.mark.parametrize(
    ("given", "kind"),
    [
        (pa.array([1, None], pa.int16()), pa.int64()),
        (pa.array([1, 2], pa.uint8()), pa.int32()),
        (pa.array([1, 2]), pa.float64()),
        (pa.array([math.inf, LARGEST_FLOAT, None]), pa.float32()),
        (pa.array([1, 2]), pa.decimal128(22, 2)),
        (pa.array(["a", None], pa.large_string()), pa.string()),
        (pa.array(["a", "a"]).dictionary_encode(), pa.string()),
        (pa.array([None, None]), pa.date32()),
        (pa.array([NOON], pa.timestamp("s", "Europe/Berlin")), pa.timestamp("us", "UTC")),
        (pa.array([[1], None]), pa.list_(pa.int32())),
        (pa.array([{"y": 1, "x": 2}]), POINT),
    ],
)
def test_a_column_of_another_type_is_cast_where_that_loses_nothing(given: Any, kind: Any) -> None:
    made = column_of_array(given, column(kind), place)

    assert made.type == kind
    assert made.to_pylist() == given.to_pylist()


def test_a_column_of_the_declared_type_is_not_touched() -> None:
    given = pa.array([1, 2])
    assert column_of_array(given, column(pa.int64()), place) is given


@pytest.mark.parametrize(
    ("given", "kind", "complaint"),
    [
        (pa.array([1, 1 << 40]), pa.int32(), "row 1: column 'it': "),
        (pa.array([math.inf, 1e300]), pa.float32(), "row 1: column 'it' takes numbers that 32 bits can hold: wanted"),
        (pa.array([[0.5], [1e300]]), pa.list_(pa.float32()), "row 1: column 'it.element' takes numbers that 32 bits"),
        (pa.array([1001], pa.timestamp("ns")), pa.timestamp("us"), "row 0: column 'it': "),
        (pa.array(["1"]), pa.int64(), "row 0: column 'it': wanted what was declared, got a column of string"),
        (pa.array([1]), pa.string(), "row 0: column 'it': wanted what was declared, got a column of int64"),
        (pa.array([1.5]), pa.int64(), "row 0: column 'it': wanted what was declared, got a column of double"),
        (pa.array([NOON.replace(tzinfo=None)]), pa.timestamp("us", "UTC"), "row 0: column 'it': wanted"),
        (pa.array([[1], ["a"][:0], None]), pa.list_(pa.string()), "row 0: column 'it.element' takes str"),
    ],
)
def test_a_column_that_cannot_be_cast_is_named(given: Any, kind: Any, complaint: str) -> None:
    with pytest.raises(ValueError, match="column 'it") as raised:
        column_of_array(given, column(kind), place)
    assert str(raised.value).startswith(complaint)
