"""What to measure, and on how large clusters."""

from collections.abc import Callable
from typing import Any

import msgspec

import penstock as ps
from bench.scheduling.log_stream import log_stream
from bench.scheduling.sol import sol
from bench.scheduling.throughput_test import throughput_test
from bench.scheduling.word_count import word_count
from penstock.devcluster import DevClusterSettings
from penstock.devcluster.settings import Shape

# Of each node's link. At the papers' 1 Gb/s two cores would be the scarce thing, and not the links. Where the kernel
# cannot delay, only what is larger than a bucket (6 KB) is held up: that is what messages of 10 KB are for.
LINKS = Shape(rate_bits_per_s=20_000_000, delay_s=0.001)

EVEN = "even"
PENSTOCK = "penstock"
FLOOR = "one worker"


class Layout(msgspec.Struct, frozen=True, kw_only=True):
    """So many workers on so many nodes, named as in the papers."""

    nodes: int
    workers: int

    @property
    def name(self) -> str:
        """Such as 2N8W."""
        return f"{self.nodes}N{self.workers}W"

    @property
    def cluster(self) -> DevClusterSettings:
        """A box that has this and no more: nobody has to choose among slots."""
        return DevClusterSettings(
            nodes=self.nodes,
            slots_per_node=self.workers // self.nodes,
            rate_bits_per_s=LINKS.rate_bits_per_s,
            delay_s=LINKS.delay_s,
        )


class Contestant(msgspec.Struct, frozen=True, kw_only=True):
    """A scheduler with its parameters, and what it is called in tables."""

    name: str
    scheduler: str
    parameters: dict[str, Any] = {}

    def __str__(self) -> str:
        return self.name


def t_storm(gamma: float) -> Contestant:
    """T-Storm's, with that consolidation factor."""
    return Contestant(name=f"t-storm {gamma:g}", scheduler="t-storm", parameters={"gamma": gamma})


def _contestants(*gammas: float) -> tuple[Contestant, ...]:
    return (
        Contestant(name=EVEN, scheduler="even"),
        *map(t_storm, gammas),
        Contestant(name="turbo offline", scheduler="turbo", parameters={"online": False}),
        Contestant(name="turbo online", scheduler="turbo", parameters={"online": True}),
        Contestant(name=PENSTOCK, scheduler="penstock"),
        # Not a rival: what could be saved at most, by who may overload what he likes.
        Contestant(name=FLOOR, scheduler="bench.scheduling.placement:OneWorker"),
    )


class Experiment(msgspec.Struct, frozen=True, kw_only=True):
    """One topology on one layout."""

    topology: str
    build: Callable[[str, int | None], ps.Topology]
    layout: Layout
    most_per_s: float
    """Tuples per second of each spout task, unless the cores are busy before."""
    contestants: tuple[Contestant, ...]

    @property
    def name(self) -> str:
        """What its cells are called."""
        return f"{self.topology}, {self.layout.name}"


# The paper has ten nodes with two or four workers each. This is what a machine can be that has two cores. Not five
# nodes: dealing tasks round-robin over as many nodes as components have tasks puts those on one node that talk to each
# other most, by chance, which no other number of nodes would.
_BOX = Layout(nodes=4, workers=8)

THROUGHPUT_TEST = Experiment(
    topology="Throughput Test",
    build=throughput_test,
    layout=_BOX,
    most_per_s=20.0,  # two fifths of a link if all comes from one node; the paper's spout sleeps 5 ms between tuples
    contestants=_contestants(1.0, 1.7, 6.0),
)
WORD_COUNT = Experiment(
    topology="Word Count", build=word_count, layout=_BOX, most_per_s=500.0, contestants=_contestants(1.0, 1.8, 2.2)
)
LOG_STREAM = Experiment(
    topology="Log Stream", build=log_stream, layout=_BOX, most_per_s=500.0, contestants=_contestants(1.0, 1.7, 2.0)
)


def _sol(nodes: int, workers: int) -> Experiment:
    return Experiment(
        topology="SOL",
        build=sol,
        layout=Layout(nodes=nodes, workers=workers),
        most_per_s=20.0,  # as above; the paper has 5,000 tuples/s in all
        contestants=_contestants(1.0),
    )


SOL = tuple(_sol(nodes, workers) for nodes, workers in ((4, 8), (8, 8), (2, 8), (4, 4), (2, 4), (2, 2), (1, 4), (1, 2)))
"""As in the paper, and as large."""


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """All there is to measure."""

    rounds: int
    settle_s: float
    """After a schedule was applied: until queues, and what is known of the load, are of this schedule."""
    window_s: float
    experiments: tuple[Experiment, ...]
    overloads: tuple[Experiment, ...]
    overload_s: float
    gap_cases: int
    """How many small topologies schedulers are compared with the optimum on."""
    planning_sizes: tuple[tuple[int, int], ...]
    """Of how many tasks on how many nodes plans are timed."""


FULL = Plan(
    rounds=3,
    settle_s=2.0,
    window_s=4.0,
    experiments=(THROUGHPUT_TEST, WORD_COUNT, LOG_STREAM, *SOL),
    overloads=(WORD_COUNT, LOG_STREAM),
    overload_s=60.0,
    gap_cases=60,
    planning_sizes=((1_000, 100), (10_000, 1_000)),
)
QUICK = Plan(
    rounds=1,
    settle_s=1.5,
    window_s=1.5,
    experiments=(_sol(nodes=2, workers=2),),
    overloads=(),
    overload_s=30.0,
    gap_cases=10,
    planning_sizes=((1_000, 100),),
)
