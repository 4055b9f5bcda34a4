"""What can go wrong on purpose: faults by name, in a schedule that a seed gives again."""

from __future__ import annotations

import random
from typing import Literal

import msgspec

__all__ = [
    "CLUSTER_FAULT_KINDS",
    "ClusterFault",
    "ClusterFaultKind",
    "Fault",
    "FaultKind",
    "random_cluster_faults",
    "random_faults",
]

FaultKind = Literal["kill", "stop"]


class Fault(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that goes wrong on virtual time."""

    kind: FaultKind
    """``kill``: the worker is gone at once, and comes back. ``stop``: it does nothing for a while."""
    worker: int
    after: int
    """How many turns of workers pass before it, counted from the fault before."""
    turns: int = 0
    """How many turns pass until the worker is back, or goes on."""


def random_faults(
    seed: int, *, count: int, workers: int, over_turns: int, kinds: tuple[FaultKind, ...] = ("kill", "stop")
) -> list[Fault]:
    """Faults by a seed, spread over so many turns: each is as likely to come in one of them as in any other."""
    chance = random.Random(seed)
    # Short enough for the run not to be over before the last one: the others work on meanwhile.
    most_turns = max(1, min(30, over_turns // (2 * max(1, count))))
    found = []
    now = 0
    for at in sorted(chance.randrange(max(1, over_turns)) for _ in range(count)):
        after, turns = max(0, at - now), chance.randrange(most_turns)
        found.append(Fault(kind=chance.choice(kinds), worker=chance.randrange(workers), after=after, turns=turns))
        now += after + turns
    return found


ClusterFaultKind = Literal["kill_worker", "stop_worker", "kill_executors", "cut_off_node", "slow_node", "kill_node"]

CLUSTER_FAULT_KINDS: tuple[ClusterFaultKind, ...] = (
    "kill_worker",
    "stop_worker",
    "kill_executors",
    "cut_off_node",
    "slow_node",
    "kill_node",
)


class ClusterFault(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that goes wrong on a real cluster."""

    kind: ClusterFaultKind
    """``kill_worker``: SIGKILL for a worker's process. ``stop_worker``: SIGSTOP, and SIGCONT later. ``kill_executors``:
    SIGKILL for the executors' JVMs on a node. ``cut_off_node``: its plug is pulled, and put in again later.
    ``slow_node``: its link is slow for a while. ``kill_node``: SIGKILL for all that runs there, and later a restart.
    """
    target: int
    """The number of the worker, or of the node."""
    after_s: float
    """How long all is well before it, counted from the end of the fault before."""
    for_s: float = 0.0
    """How long it lasts, if it is one that lasts."""

    def __str__(self) -> str:
        return f"{self.kind} {self.target} after {self.after_s:.1f} s, for {self.for_s:.1f} s"


def random_cluster_faults(
    seed: int,
    *,
    count: int,
    workers: int,
    nodes: int,
    kinds: tuple[ClusterFaultKind, ...] = CLUSTER_FAULT_KINDS,
    most_s: float = 5.0,
) -> list[ClusterFault]:
    """Faults by a seed; `most_s` is how long one lasts at most, and how long it is quiet between two."""
    chance = random.Random(seed)
    found = []
    for _ in range(count):
        kind = chance.choice(kinds)
        found.append(
            ClusterFault(
                kind=kind,
                target=chance.randrange(workers if kind.endswith("_worker") else nodes),
                after_s=chance.uniform(0.2, most_s),
                for_s=chance.uniform(0.2, most_s),
            )
        )
    return found
