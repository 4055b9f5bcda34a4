"""Which bolts look as if they had a state."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable
from typing import Any

import pytest

from penstock.topology.functions import FunctionBolt
from penstock.worker.opened_logic import OpenedLogic, opened


class Bag:
    def __init__(self) -> None:
        self.number = 1.0
        self.missing = float("nan")
        self.seen: set[int] = set()
        self.counts: Counter[str] = Counter()
        self.last: Any = deque([1], maxlen=1)
        self.table = {"a": 1, "b": [float("nan")]}
        self.model = object()


def test_what_stays_as_it_was_may_be_helped() -> None:
    bag = Bag()
    assert OpenedLogic(bag, took_ns=0).why_alone(bag) is None
    function = FunctionBolt(lambda tup: tup)
    assert OpenedLogic(function, took_ns=0).why_alone(function) is None
    assert OpenedLogic(object(), took_ns=0).why_alone(object()) is None


@pytest.mark.parametrize(
    "work",
    [
        lambda bag: setattr(bag, "number", 2.0),
        lambda bag: bag.seen.add(1),
        lambda bag: bag.counts.update("a"),
        lambda bag: bag.table.update(a=2),
        lambda bag: bag.last.append(2),
        lambda bag: setattr(bag, "model", object()),
        lambda bag: setattr(bag, "new", None),
        lambda bag: delattr(bag, "number"),
    ],
)
def test_what_changes_as_it_works_is_left_alone(work: Callable[[Bag], None]) -> None:
    bag = Bag()
    before = OpenedLogic(bag, took_ns=0)
    work(bag)
    assert "changes as it works" in str(before.why_alone(bag))


def test_what_takes_long_to_open_is_left_alone() -> None:
    times = iter([0, 1_500_000_000])
    why = opened(bag := Bag(), lambda: None, lambda: next(times)).why_alone(bag)
    assert why == "its open() took 1.5 s, which whoever helps would have to wait for"
