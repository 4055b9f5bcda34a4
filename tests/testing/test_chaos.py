"""The chaos kit: it survives what it should, and finds what it should find."""

from __future__ import annotations

import os
import random
from collections.abc import Iterator
from typing import Any

import pytest

from penstock.connectors.collect import Collect
from penstock.flow.delivery import Delivery
from penstock.testing import Fault, survive
from penstock.topology.bolts import KeyedBolt
from penstock.topology.context import TaskContext
from penstock.topology.spouts import Spout
from penstock.topology.topology import Topology
from penstock.topology.tuples import Tuple
from penstock.worker.settings import WorkerSettings

SEED = int(os.environ.get("PENSTOCK_CHAOS_SEED", "0")) or random.SystemRandom().randrange(1, 2**32)
ROUNDS = int(os.environ.get("PENSTOCK_CHAOS_ROUNDS", "10"))
TIGHT = WorkerSettings(
    credit_window_bytes=100, inbox_bytes=200, turn_tuples=4, spout_turn_tuples=4, local_queue_tuples=8
)


class Trickle(Spout):
    """One item at a time, so that faults and epochs come between any two of them."""

    fields = ("line",)

    def __init__(self, items: list[str]) -> None:
        self.items = items

    def open(self, context: TaskContext) -> None:
        self.share = self.items[context.index :: context.count]
        self.given = 0

    def next(self) -> tuple[str]:
        if self.given == len(self.share):
            raise StopIteration
        self.given += 1
        return (self.share[self.given - 1],)

    def position(self) -> int:
        return self.given

    def seek(self, position: int) -> None:
        self.given = position


class Numbered(KeyedBolt):
    fields = ("key", "number")

    def process(self, key: Any, tup: Tuple) -> Iterator[Any]:  # noqa: ARG002
        number = self.state[key] = self.state.get(key, 0) + 1
        yield key, number


def stateless() -> Topology:
    topo = Topology("stateless")
    lines = topo.spout("lines", Trickle(["to be or not to be"] * 40), tasks=2)
    words = topo.bolt(
        "split", lambda tup: [(word,) for word in tup.line.split()], lines.shuffle(), tasks=3, fields=("word",)
    )
    topo.bolt("all", Collect(), words.partial_key("word"), tasks=2)
    return topo


def stateful() -> Topology:
    topo = Topology("stateful")
    lines = topo.spout("lines", Trickle(["to", "be", "or", "not", "to", "be"] * 30), tasks=2)
    topo.bolt("all", Collect(), topo.bolt("number", Numbered(), lines.by("line"), tasks=3).shuffle(), tasks=2)
    return topo


@pytest.mark.parametrize("number", range(ROUNDS))
@pytest.mark.parametrize(("make", "delivery"), [(stateless, "at_least_once"), (stateful, "exactly_once")])
def test_whatever_happens_the_promise_is_kept(make: Any, delivery: Delivery, number: int) -> None:
    """To see a failure again: PENSTOCK_CHAOS_SEED with the seed that it names, and PENSTOCK_CHAOS_ROUNDS=1."""
    survive(make, delivery=delivery, seed=SEED + number, faults=6, settings=TIGHT).check(delivery)


def test_what_is_not_promised_is_found_missing() -> None:
    lossy = [Fault(kind="kill", worker=worker, after=20, turns=5) for worker in (1, 2, 1)]
    report = survive(stateless, delivery="at_most_once", seed=3, faults=lossy, settings=TIGHT)
    assert report.missing > 0
    with pytest.raises(AssertionError, match=r"at_least_once, seed 3: \d+ rows missing"):
        report.check("at_least_once")


def test_the_same_seed_gives_the_same_faults_and_the_same_results() -> None:
    first, second = (survive(stateless, seed=11, settings=TIGHT) for _ in range(2))
    assert first == second
