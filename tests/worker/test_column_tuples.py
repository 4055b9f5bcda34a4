"""Tuples read from the columns of a record batch: the values that Arrow gives, to the letter."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from itertools import chain, starmap
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock._native import ColumnReader
from penstock.topology.tuples import tuple_class
from penstock.worker.batches import rows_of
from penstock.worker.column_tuples import ColumnTuples

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=40)
TIMES = st.integers(-(2**31), 2**33).map(lambda second: dt.datetime.fromtimestamp(second, dt.UTC))


def _ints(bits: int, *, signed: bool) -> st.SearchStrategy[int]:
    return st.integers(-(2 ** (bits - 1)), 2 ** (bits - 1) - 1) if signed else st.integers(0, 2**bits - 1)


# Those that are read natively, and some of those that Arrow reads, among which maps are made dicts.
VALUES: list[tuple[Any, st.SearchStrategy[Any]]] = [
    (pa.null(), st.none()),
    (pa.bool_(), st.booleans()),
    *((getattr(pa, f"int{bits}")(), _ints(bits, signed=True)) for bits in (8, 16, 32, 64)),
    *((getattr(pa, f"uint{bits}")(), _ints(bits, signed=False)) for bits in (8, 16, 32, 64)),
    (pa.float16(), st.floats(width=16)),
    (pa.float32(), st.floats(width=32)),
    (pa.float64(), st.floats()),
    (pa.string(), TEXTS),
    (pa.large_string(), TEXTS),
    (pa.string_view(), TEXTS),
    (pa.binary(), st.binary(max_size=40)),
    (pa.large_binary(), st.binary(max_size=40)),
    (pa.binary(2), st.binary(min_size=2, max_size=2)),
    (pa.dictionary(pa.int8(), pa.string()), st.sampled_from(["a", "b"])),
    (pa.bool8(), st.integers(0, 1)),
    (pa.decimal128(6, 2), st.integers(-9999, 9999).map(Decimal)),
    (pa.timestamp("us", "Europe/Berlin"), TIMES),
    (pa.date32(), TIMES.map(dt.datetime.date)),
    (pa.list_(pa.int64()), st.lists(_ints(64, signed=True), max_size=3)),
    (pa.map_(pa.string(), pa.int8()), st.dictionaries(TEXTS, _ints(8, signed=True), max_size=3)),
]


@st.composite
def _batches(draw: st.DrawFn) -> pa.RecordBatch:
    """Of one to three columns; each may be a slice of one that is longer, and the whole may be, too."""
    rows = draw(st.integers(0, 20))
    columns = []
    for kind, values in draw(st.lists(st.sampled_from(VALUES), min_size=1, max_size=3)):
        before, behind = draw(st.integers(0, 9)), draw(st.integers(0, 3))
        some = draw(st.lists(st.none() | values, min_size=before + rows + behind, max_size=before + rows + behind))
        storage = kind.storage_type if isinstance(kind, pa.BaseExtensionType) else kind
        array = pa.array(some, pa.string() if pa.types.is_dictionary(kind) else storage).cast(kind)
        columns.append(array.slice(before, rows))
    batch = pa.RecordBatch.from_arrays(columns, names=[f"c{number}" for number in range(len(columns))])
    first = draw(st.integers(0, rows))
    return batch.slice(first, draw(st.integers(0, rows - first)))


@given(batch=_batches(), most=st.integers(1, 25))
def test_tuples_are_those_of_the_rows(batch: pa.RecordBatch, most: int) -> None:
    made = tuple_class("it", "default", tuple(batch.schema.names))
    lists = [*ColumnTuples(made, made.fields).of(batch, most)]
    tuples = [*chain.from_iterable(lists)]

    assert repr(tuples) == repr([*starmap(made, rows_of(batch))])
    assert {type(tup) for tup in tuples} <= {made}
    assert [len(some) for some in lists[:-1]] == [most] * (len(lists) - 1)


def test_tuples_outlive_the_batch_and_what_reads_it() -> None:
    made = tuple_class("it", "default", ("text", "number"))
    lists = ColumnTuples(made, made.fields).of(
        pa.RecordBatch.from_arrays([pa.array(["a" * 50, None]), pa.array([1 << 40, 2])], names=["text", "number"]), 1
    )
    assert [*chain.from_iterable(lists)] == [made("a" * 50, 1 << 40), made(None, 2)]


def test_text_that_is_none_is_refused() -> None:
    made = tuple_class("it", "default", ("text",))
    broken = pa.Array.from_buffers(pa.string(), 1, [None, *pa.array([b"\xff"]).buffers()[1:]])
    batch = pa.RecordBatch.from_arrays([broken], names=["text"])
    with pytest.raises(UnicodeDecodeError):
        [*ColumnTuples(made, made.fields).of(batch, 10)]


def test_columns_that_are_no_fields_are_refused() -> None:
    reader = ColumnReader(tuple_class("it", "default", ("a", "b")), ("a", "b"))
    one, two = (pa.RecordBatch.from_pydict({f"c{n}": [dt.date(2024, 1, 1)] for n in range(count)}) for count in (1, 2))
    with pytest.raises(ValueError, match="a column for each field"):
        reader.read(one.__arrow_c_array__(), [None], 1)
    with pytest.raises(ValueError, match="of a type that is not read here"):
        reader.read(two.__arrow_c_array__(), [None, None], 1)
    with pytest.raises(ValueError, match="a tuple at a time"):
        reader.read(two.__arrow_c_array__(), [[1], [2]], 0)
    with pytest.raises(ValueError, match="PyCapsule"):
        reader.read(two.__arrow_c_array__()[::-1], [[1], [2]], 1)
    with pytest.raises(IndexError):  # a list that is too short
        [*reader.read(two.__arrow_c_array__(), [[1], []], 1)]
