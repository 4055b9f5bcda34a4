"""What to measure on a cluster in a box, and at which rates."""

import msgspec

from penstock.devcluster import DevClusterSettings


class Experiment(msgspec.Struct, frozen=True, kw_only=True):
    """Words go from split to count by a grouping, and so many sentences come in each second."""

    grouping: str
    per_s: float

    @property
    def name(self) -> str:
        """What it is called in tables."""
        return f"{self.grouping}, {self.per_s:g} sentences/s"


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """All there is to measure."""

    rate_bits_per_s: int = 4_000_000
    """Of each node's link. At the paper's 1 Gb/s two cores would be the scarce thing, and not the link."""
    workers_per_node: int = 2
    seeds: int
    """Of the simulation."""
    rounds: int
    warm_up_s: float = 2.0
    seconds: float
    """Of input, the warm-up included. A run goes on until all of it was counted."""
    intervals_ms: tuple[int, ...]
    experiments: tuple[Experiment, ...]

    @property
    def cluster(self) -> DevClusterSettings:
        """One node that splits, one that counts."""
        return DevClusterSettings(nodes=2, slots_per_node=self.workers_per_node, rate_bits_per_s=self.rate_bits_per_s)


# As in the paper: three rates from where the link is just enough for `fifo` to where it is not; one for partial keys.
FULL = Plan(
    seeds=9,
    rounds=3,
    seconds=10.0,
    intervals_ms=(10, 30, 50, 70, 90, 110, 130),
    experiments=(
        Experiment(grouping="shuffle", per_s=440),
        Experiment(grouping="shuffle", per_s=470),
        Experiment(grouping="shuffle", per_s=500),
        Experiment(grouping="partial key", per_s=500),
    ),
)
QUICK = Plan(
    seeds=2, rounds=1, seconds=5.0, intervals_ms=(10,), experiments=(Experiment(grouping="shuffle", per_s=500),)
)
