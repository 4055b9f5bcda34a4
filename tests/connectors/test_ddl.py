"""Schemas as Spark writes them. That Spark agrees is tested where there is one."""

from __future__ import annotations

import doctest

import pyarrow as pa
import pytest

from penstock.connectors import ddl, row_batches
from penstock.connectors.ddl import arrow_schema


def test_columns_have_names_and_types() -> None:
    assert arrow_schema("word string, `a ``b` INT NOT NULL,\n c: decimal(5,2)") == pa.schema(
        [pa.field("word", pa.string()), pa.field("a `b", pa.int32(), nullable=False), ("c", pa.decimal128(5, 2))]
    )


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("", "wanted the name of a column at character 1, got the end"),
        ("word", "wanted a type (boolean, byte, .*) at character 5, got the end"),
        ("word strin", "wanted a type (.*) at character 6, got 'strin'"),
        ("word string,", "wanted the name of a column at character 13, got the end"),
        ("word string count long", "wanted ',' or the end at character 13, got 'count'"),
        ("word array<string", "wanted '>' at character 18, got the end"),
        ("word struct<a: int", "wanted ',' or '>' at character 19, got the end"),
        ("word map<string>", "wanted ',' at character 16, got '>'"),
        ("word decimal(39)", "wanted decimal(precision, scale) with scale <= precision <= 38 .*, got (39, 0)"),
        ("word decimal(x)", "wanted a number of digits at character 14, got 'x'"),
        ("word string not a", "wanted 'null' at character 17, got 'a'"),
        ("word string; x", "wanted a name or a type at character 12, got ';'"),
        ("a int, A long", "wanted columns of different names, got 'a' more than once"),
    ],
)
def test_what_cannot_be_read_is_named_with_its_place(text: str, complaint: str) -> None:
    pattern = complaint.replace("(", r"\(").replace(")", r"\)")
    with pytest.raises(ValueError, match=pattern):
        arrow_schema(text)


def test_a_value_that_does_not_fit_is_named() -> None:
    schema = arrow_schema("word string, count tinyint not null")
    for rows, complaint in (
        ([("a", 1), ("b", 300)], r"row \('b', 300\): column 'count': .*: wanted int8 and not null, got the int 300"),
        ([("a", 1), ("b", 1.5)], r"row \('b', 1\.5\): column 'count' takes int: wanted int8 .*, got the float"),
        ([("a", 1), ("b", None)], r"row \('b', None\): column 'count' may not be null: wanted int8 and not null, got"),
        ([(b"\xff" * 1000, 1)], r"row \(b'.{,250}…: column 'word' takes str: wanted string, got the bytes b'.{,250}…"),
    ):
        with pytest.raises(ValueError, match=complaint):
            row_batches.record_batch(rows, schema)


@pytest.mark.parametrize("module", [ddl, row_batches])
def test_docstring_examples_run(module: object) -> None:
    result = doctest.testmod(module)  # type: ignore[arg-type]
    assert result.attempted > 0
    assert result.failed == 0
