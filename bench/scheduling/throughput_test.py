"""T-Storm's Throughput Test: random strings of 10 KB, a bolt that passes them on, and a bolt that counts them."""

import random
import string
from typing import Any

import penstock as ps
from bench.scheduling.paced import PacedSpout

SPOUTS, IDENTITIES, COUNTERS = 5, 15, 15
_BYTES = 10 * 1024
_STRINGS = 16


class RandomStrings(PacedSpout):
    """A few random strings, over and over: to draw 10 KB for each tuple would be most of the work."""

    fields = ("text",)

    def open(self, context: ps.TaskContext) -> None:
        super().open(context)
        chance = random.Random(context.index)
        self.texts = ["".join(chance.choices(string.ascii_letters, k=_BYTES)) for _ in range(_STRINGS)]

    def tuple_at(self, number: int) -> tuple[str]:
        return (self.texts[number % _STRINGS],)


class Identity(ps.Bolt):
    """Emits what it receives."""

    fields = ("text",)

    def process(self, tup: ps.Tuple) -> tuple[str]:
        return (tup.text,)


class Counter(ps.StatefulBolt):
    """Counts, and emits the count."""

    fields = ("count",)

    def open(self, context: ps.TaskContext) -> None:  # noqa: ARG002
        self.count = 0

    def process(self, tup: ps.Tuple) -> tuple[int]:  # noqa: ARG002
        self.count += 1
        return (self.count,)

    def snapshot(self) -> Any:
        return self.count

    def restore(self, state: Any) -> None:
        self.count = state


def throughput_test(tap_file: str, limit: int | None = None) -> ps.Topology:
    """5 + 15 + 15 tasks, as in the paper; its ten ackers have no like here."""
    topology = ps.Topology("throughput-test")
    texts = topology.spout("spout", RandomStrings(tap_file, limit), tasks=SPOUTS)
    passed = topology.bolt("identity", Identity(), texts.shuffle(), tasks=IDENTITIES)
    topology.bolt("counter", Counter(), passed.shuffle(), tasks=COUNTERS)
    return topology
