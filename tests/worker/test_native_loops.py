"""The loops over tuples that are in C++."""

from typing import Any

import pytest

from penstock._native import ROWS_OTHER, ROWS_PLAIN, ROWS_UNEVEN, all_tuples, call_each, judge_rows


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


def test_each_is_called_and_what_is_no_tuple_is_given_back_at_once() -> None:
    seen: list[int] = []

    def process(n: int) -> Any:
        seen.append(n)
        return [n] if n == 2 else None if n == 3 else (n,)

    remaining = iter([1, 2, 3, 4])
    returned: list[Any] = []
    assert call_each(process, remaining, None, returned) == [2]
    assert (returned, seen) == ([(1,)], [1, 2])
    assert call_each(process, remaining, None, returned) is None
    assert (returned, seen) == ([(1,), (4,)], [1, 2, 3, 4])


def test_keys_go_first() -> None:
    returned: list[Any] = []
    assert call_each(lambda key, tup: (key, tup), iter([1, 2]), iter("ab"), returned) is None
    assert returned == [("a", 1), ("b", 2)]


@pytest.mark.parametrize("error", [ValueError, StopIteration, KeyboardInterrupt])
def test_what_is_raised_comes_through_and_what_came_before_stays(error: type[BaseException]) -> None:
    def process(n: int) -> Any:
        if n == 2:
            raise error
        return (n,)

    remaining = iter([1, 2, 3])
    returned: list[Any] = []
    with pytest.raises(error):
        call_each(process, remaining, None, returned)
    assert call_each(process, remaining, None, returned) is None
    assert returned == [(1,), (3,)]


def test_iterators_may_raise_too() -> None:
    def broken() -> Any:
        yield 1
        message = "no more keys"
        raise LookupError(message)

    returned: list[Any] = []
    with pytest.raises(LookupError, match="no more keys"):
        call_each(lambda key, tup: (key, tup), iter([1, 2]), broken(), returned)
    assert returned == [(1, 1)]
