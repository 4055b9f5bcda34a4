"""Hone's simulation (section 4.4, figures 6 to 8), with the policies that workers run."""

import random
from collections import deque
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

import msgspec

from penstock.flow.backlog import LargestBacklogFirst, Policy, RoundRobin

SLOTS = 10_000
SLOT_S = 100e-6
SAMPLED_SLOTS = tuple(range(1_000, 10_000, 1_000))

LBF = "lbf"
SKIPPING = "round robin"
PAPERS = "round robin of the paper"


class PapersRoundRobin:
    """Gives each queue its slot whether anything waits in it or not: what it names may be empty, and the slot passes.

    No worker runs this: it is here because the paper's figures are against it.
    """

    def __init__(self, queues: int) -> None:
        self._queues = queues
        self._next = 0

    def choose(self, backlog: Mapping[int, int], since: Mapping[int, int], now_ns: int) -> int:  # noqa: ARG002
        """See Policy."""
        chosen = self._next
        self._next = (chosen + 1) % self._queues
        return chosen


POLICIES: Mapping[str, Callable[[int], Policy]] = {
    LBF: lambda queues: LargestBacklogFirst(),  # noqa: ARG005
    SKIPPING: lambda queues: RoundRobin(),  # noqa: ARG005
    PAPERS: PapersRoundRobin,
}


class Simulated(msgspec.Struct, frozen=True, kw_only=True):
    """What one policy made of one stream of arrivals."""

    worst_backlog: int
    """The most tuples that any queue held at the end of any slot."""
    fairness: tuple[float, ...]
    """Jain's index of the backlogs at the sampled slots."""
    delay_ms: float
    """What a tuple waited on average. Those that have not left by the end have waited until then."""


def poisson(queues: int, per_s: float, seed: int) -> list[list[int]]:
    """The queues that tuples arrive at, for each slot, in the order in which they do."""
    dice = random.Random(seed)
    arrivals: list[list[tuple[float, int]]] = [[] for _ in range(SLOTS)]
    for queue in range(queues):
        at_s = dice.expovariate(per_s)
        while at_s < SLOTS * SLOT_S:
            arrivals[int(at_s / SLOT_S)].append((at_s, queue))
            at_s += dice.expovariate(per_s)
    return [[queue for _, queue in sorted(slot)] for slot in arrivals]


def backlogs(policy: Policy, arrivals: Sequence[Sequence[int]]) -> Iterator[dict[int, int]]:
    """What is left in the queues that are not empty, at the end of each slot, in which one tuple can leave.

    What arrives in a slot can leave in it, by equation (1).
    """
    waiting: dict[int, deque[int]] = {}
    backlog: dict[int, int] = {}
    since: dict[int, int] = {}
    arrived = 0
    for slot, queues in enumerate(arrivals):
        for queue in queues:
            if queue not in backlog:
                backlog[queue], since[queue], waiting[queue] = 0, arrived, deque()
            waiting[queue].append(arrived)
            backlog[queue] += 1
            arrived += 1
        if backlog and (chosen := policy.choose(backlog, since, slot)) in backlog:
            waiting[chosen].popleft()
            backlog[chosen] -= 1
            if backlog[chosen]:
                since[chosen] = waiting[chosen][0]
            else:
                del backlog[chosen], since[chosen]
        yield backlog


def simulate(policy: Policy, queues: int, arrivals: Sequence[Sequence[int]]) -> Simulated:
    """Runs one policy on one stream of arrivals."""
    worst = total = 0
    fairness = []
    for slot, backlog in enumerate(backlogs(policy, arrivals)):
        if backlog:
            worst = max(worst, *backlog.values())
            total += sum(backlog.values())
        if slot in SAMPLED_SLOTS:
            fairness.append(jains_index(backlog.values(), queues))
    tuples = sum(map(len, arrivals))
    return Simulated(worst_backlog=worst, fairness=tuple(fairness), delay_ms=total * SLOT_S * 1e3 / max(1, tuples))


def jains_index(values: Collection[int], count: int) -> float:
    """1 if all are alike, 1/count if one has it all; 1 where nobody has anything."""
    squares = sum(value * value for value in values)
    return sum(values) ** 2 / (count * squares) if squares else 1.0
