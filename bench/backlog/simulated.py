"""All that is simulated: each policy on the same arrivals, for several seeds."""

from collections.abc import Callable, Iterable
from statistics import fmean

import msgspec

from bench.backlog.simulation import POLICIES, Simulated, poisson, simulate
from bench.stats import Spread

RATES_PER_S = (500, 600, 700, 800, 900, 950, *range(1_000, 5_001, 500))
"""As in the paper, and closer to each other below 1,000, where the way out is just enough: there it matters most."""
QUEUES = tuple(range(10, 101, 10))
FIXED_QUEUES, FIXED_RATE_PER_S = 10, 1_000


class Setting(msgspec.Struct, frozen=True, kw_only=True):
    """So many queues, at each of which tuples arrive at a rate."""

    queues: int
    per_s: int


BY_RATE = tuple(Setting(queues=FIXED_QUEUES, per_s=rate) for rate in RATES_PER_S)
BY_QUEUES = tuple(Setting(queues=queues, per_s=FIXED_RATE_PER_S) for queues in QUEUES)


class Cell(msgspec.Struct, frozen=True, kw_only=True):
    """What each policy made of one setting, for each seed."""

    setting: Setting
    rounds: dict[str, list[Simulated]]

    def spread(self, policy: str, value_of: Callable[[Simulated], float]) -> Spread:
        """A value of one policy over the seeds."""
        return Spread.over(map(value_of, self.rounds[policy]))

    def reduction(self, policy: str, against: str, value_of: Callable[[Simulated], float]) -> Spread:
        """By which part a value is smaller than another policy's on the same arrivals, over the seeds."""
        pairs = zip(self.rounds[policy], self.rounds[against], strict=True)
        return Spread.over(1 - value_of(ours) / value_of(theirs) if value_of(theirs) else 0.0 for ours, theirs in pairs)


def worst_backlog(one: Simulated) -> float:
    """Figure 6."""
    return one.worst_backlog


def fairness(one: Simulated) -> float:
    """Figure 7, on average over the sampled slots."""
    return fmean(one.fairness)


def delay_ms(one: Simulated) -> float:
    """Figure 8."""
    return one.delay_ms


def simulate_all(settings: Iterable[Setting], seeds: int, step: Callable[[str], None] = lambda _: None) -> list[Cell]:
    """Each setting once."""
    cells = []
    for setting in dict.fromkeys(settings):
        step(f"{setting.queues} queues, {setting.per_s:,} tuples/s each")
        rounds: dict[str, list[Simulated]] = {name: [] for name in POLICIES}
        for seed in range(seeds):
            arrivals = poisson(setting.queues, setting.per_s, seed)
            for name, make in POLICIES.items():
                rounds[name].append(simulate(make(setting.queues), setting.queues, arrivals))
        cells.append(Cell(setting=setting, rounds=rounds))
    return cells
