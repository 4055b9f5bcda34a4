"""Rows gathered into columns natively: the same as by way of their values, or refused for the same reason."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock._native import RowGatherer
from penstock.connectors.column_types import Column, column_of_values
from penstock.connectors.gathered_rows import PlainRows, column_of_rows


class Own(int):
    """A number of a class of its own, which may mean something else."""


class OwnText(str):
    """The same of a text."""

    __slots__ = ()


KINDS = [
    *(pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.float32(), pa.float64()),
    *(pa.bool_(), pa.string(), pa.binary()),
]
# In which plain values are the rule, and whatever is nearly so is among them.
VALUES = st.one_of(
    st.integers(-200, 200),
    st.floats(),
    st.text(max_size=3),  # with halves of surrogate pairs
    st.sampled_from([2**31 - 1, 2**31, -(2**63), 2**63 - 1, 2**63, 2**80, 1e300, 2.0**128 - 2.0**104, b"\xff", b""]),
    st.sampled_from([True, False, None, "1", "é", "\ud800", np.int64(1), np.float64(1.5), np.True_, Own(1), OwnText()]),
)
ROWS = st.one_of(
    st.lists(st.integers(-(2**63), 2**63 - 1)),
    st.lists(st.integers(-100, 100) | st.none()),
    st.lists(st.floats() | st.none()),
    st.lists(st.booleans() | st.none()),
    st.lists(st.text(st.characters(exclude_categories=["Cs"])) | st.none()),
    st.lists(st.binary() | st.none()),
    st.lists(VALUES),
)


def column(kind: Any, *, nullable: bool = True) -> Column:
    return Column(name="it", type=kind, declared="what was declared", nullable=nullable)


def place(row: int) -> str:
    return f"row {row}"


def _made(make: Callable[[], Any]) -> tuple[Any, str]:
    """A column, or why there is none."""
    try:
        return make(), ""
    except (ValueError, pa.ArrowException) as error:
        return None, str(error)


def _require_same(made: pa.Array, expected: pa.Array) -> None:
    """To the letter, NaN and -0.0 included."""
    made.validate(full=True)
    assert (made.type, len(made), made.null_count) == (expected.type, len(expected), expected.null_count)
    assert repr(made.to_pylist()) == repr(expected.to_pylist())


@given(kind=st.sampled_from(KINDS), nullable=st.booleans(), values=ROWS)
def test_a_column_of_rows_is_that_of_their_values(kind: Any, nullable: bool, values: list[Any]) -> None:
    wanted = column(kind, nullable=nullable)
    rows = [("beside", value) for value in values]
    expected, refused = _made(lambda: column_of_values(values, wanted, place))
    made, refused_too = _made(lambda: column_of_rows(rows, 1, wanted, place))

    assert refused_too == refused
    if not refused:
        _require_same(made, expected)


@given(
    kinds=st.tuples(st.sampled_from(KINDS), st.sampled_from(KINDS)),
    nullable=st.tuples(st.booleans(), st.booleans()),
    parts=st.lists(ROWS.flatmap(lambda values: st.tuples(st.just(values), st.permutations(values))), max_size=6),
)
def test_what_is_refused_leaves_nothing_behind(
    kinds: tuple[Any, Any], nullable: tuple[bool, bool], parts: list[tuple[list[Any], list[Any]]]
) -> None:
    columns = [column(kind, nullable=may) for kind, may in zip(kinds, nullable, strict=True)]
    plain = PlainRows(columns, [0, 1])
    taken: list[Any] = []
    for part in parts:
        rows = [*zip(*part, strict=True)]
        if plain.append(rows):
            taken += rows
        assert len(plain) == len(taken)

    for _ in range(2):  # it begins anew
        for position, made in enumerate(plain.take()):
            _require_same(made, column_of_values([row[position] for row in taken], columns[position], place))
        assert len(plain) == 0
        assert plain.append(taken)


@pytest.mark.parametrize(
    ("kind", "fitting", "value"),
    [
        *(("q", 1, value) for value in (True, 1.0, None, 2**63, Own(1))),
        *(("b", 1, value) for value in (128, -129)),
        ("h", 1, -32769),
        ("i", 1, 2**31),
        *(("d", 1.5, value) for value in (1, None, np.float64(1), "1")),
        ("f", 1.5, 1e39),
        *(("?", True, value) for value in (1, np.True_, None)),
        *(("u", "a", value) for value in (b"a", OwnText("a"), "\ud800", None)),
        *(("z", b"a", value) for value in ("a", bytearray(b"a"), None)),
    ],
)
def test_only_plain_values_that_fit_are_gathered(kind: str, fitting: Any, value: Any) -> None:
    gatherer = RowGatherer([(0, kind, False)])

    assert gatherer.append([(fitting,), (fitting,)])
    assert not gatherer.append([(fitting,), (value,)])
    assert gatherer.rows == 2


def test_rows_that_are_too_short_or_no_tuples_are_not_read() -> None:
    gatherer = RowGatherer([(1, "q", True)])
    assert not gatherer.append([(1,)])
    assert not gatherer.append([[1, 2]])
    assert gatherer.append([])
    assert gatherer.take() == [(0, [None, b""])]


def test_columns_that_cannot_be_gathered_are_refused() -> None:
    with pytest.raises(ValueError, match="counts from 0"):
        RowGatherer([(-1, "q", True)])
    with pytest.raises(ValueError, match="one of b, h, i, q, f, d, "):
        RowGatherer([(0, "x", True)])
    assert not PlainRows.takes(column(pa.date32()))
