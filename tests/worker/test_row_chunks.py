"""Collected rows in pieces: all of them, in order, and none too large."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.transport.values import decode_rows
from penstock.worker import row_chunks as module
from penstock.worker.row_chunks import row_chunks


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_BYTES", 100)
    monkeypatch.setattr(module, "MOST_ROWS", 8)


@pytest.mark.usefixtures("small")
@given(st.lists(st.binary(max_size=150) | st.integers(0, 9), max_size=300))
def test_all_rows_come_in_order_and_no_chunk_is_too_large(values: list[Any]) -> None:
    chunks = [*row_chunks([(value,) for value in values])]

    assert [row[0] for chunk in chunks for row in decode_rows(chunk.rows)] == values
    assert [chunk.first for chunk in chunks] == [sum(chunk.count for chunk in chunks[:n]) for n in range(len(chunks))]
    assert all(chunk.count == len(decode_rows(chunk.rows)) for chunk in chunks)
    assert all(len(chunk.rows) <= 100 or chunk.count == 1 for chunk in chunks)


def test_small_rows_go_many_at_a_time() -> None:
    counts = [chunk.count for chunk in row_chunks([(number,) for number in range(25_000)])]
    assert max(counts) == module.MOST_ROWS
    assert len(counts) <= 4


def test_large_rows_fill_a_mebibyte_each_time() -> None:
    chunks = [*row_chunks([(bytes(10_000),)] * 1000)]
    assert all(len(chunk.rows) <= 1 << 20 for chunk in chunks)
    assert len(chunks) <= 12


def test_no_rows_are_no_chunks() -> None:
    assert [*row_chunks([])] == []


@pytest.mark.parametrize("value", [object(), "\ud800", {1: [object()]}], ids=repr)
def test_what_cannot_travel_is_named_with_its_place(value: Any) -> None:
    with pytest.raises(TypeError, match=r"^value 1 of a row, counted from 0: (wanted values|text that)") as caught:
        list(row_chunks([("fine", 1), ("not", value)]))
    assert caught.value.__cause__ is None
