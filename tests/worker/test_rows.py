"""What rows are made of."""

from typing import Any

import pytest

from penstock._native import ROWS_OTHER, ROWS_PLAIN, ROWS_UNEVEN, all_tuples, judge_rows


class Text(str):
    """Not quite a str."""


@pytest.mark.parametrize(
    ("rows", "verdict"),
    [
        ([], ROWS_PLAIN),
        ([("a", 1), (b"b", None), (True, 2.5)], ROWS_PLAIN),
        ([("a", 1), ("b", (2,))], ROWS_OTHER),
        ([("a", Text("b"))], ROWS_OTHER),
        ([("a", 1), ("b",)], ROWS_UNEVEN),
        ([("a", [1]), ("b", 2, 3)], ROWS_UNEVEN),
        ([["a", 1]], ROWS_UNEVEN),
    ],
    ids=repr,
)
def test_rows_are_judged(rows: Any, verdict: int) -> None:
    assert judge_rows(rows, 2) == verdict


def test_tuples_are_told_from_their_likes() -> None:
    class Pair(tuple[int, int]):
        pass

    assert all_tuples([])
    assert all_tuples([(1,), ()])
    assert not all_tuples([(1,), Pair((1, 2))])
    assert not all_tuples([(1,), None])
