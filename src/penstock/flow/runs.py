"""Which trees consecutive tuples belong to, as runs: `(root, how many)`. Pure.

Tuples of one tree come in rows: what a spout emits together shares a tree, and so does what comes of it. So the roots
travel beside the tuples of a frame, and not with each of them.

>>> runs = runs_of([7, 7, 7, 9])
>>> runs
[(7, 3), (9, 1)]
>>> split_runs(runs, 2)
([(7, 2)], [(7, 1), (9, 1)])
>>> roots_of(runs)
[7, 7, 7, 9]
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import TypeAlias

__all__ = ["Runs", "roots_of", "runs_of", "split_runs"]

Runs: TypeAlias = Sequence[tuple[int, int]]


def runs_of(roots: Iterable[int]) -> Runs:
    """The runs of tuples whose roots these are."""
    return [(root, len([*alike])) for root, alike in groupby(roots)]


def roots_of(runs: Runs) -> list[int]:
    """The root of each tuple."""
    return [root for root, count in runs for _ in range(count)]


def split_runs(runs: Runs, at: int) -> tuple[Runs, Runs]:
    """The runs of the first `at` tuples, and of the others."""
    first: list[tuple[int, int]] = []
    for index, (root, count) in enumerate(runs):
        if count > at:
            rest = [(root, count - at), *runs[index + 1 :]]
            return ([*first, (root, at)] if at else first), rest
        first.append((root, count))
        at -= count
    return first, []
