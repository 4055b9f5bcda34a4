"""Runs are what they stand for: a root for each tuple."""

import doctest
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from penstock.flow import runs as runs_module
from penstock.flow.runs import roots_of, runs_of, split_runs

roots = st.lists(st.integers(0, 3), max_size=20)


@given(roots)
def test_runs_say_the_same_as_roots_in_fewer_words(some: list[int]) -> None:
    runs = runs_of(some)
    assert roots_of(runs) == some
    assert all(earlier[0] != later[0] for earlier, later in pairwise(runs))


@given(roots, st.integers(0, 25))
def test_a_split_is_where_it_is_wanted(some: list[int], at: int) -> None:
    first, rest = split_runs(runs_of(some), at)
    assert roots_of(first) == some[:at]
    assert roots_of(rest) == some[at:]
    assert all(count > 0 for _, count in [*first, *rest])


def test_examples() -> None:
    assert doctest.testmod(runs_module).attempted > 3
    assert doctest.testmod(runs_module).failed == 0
