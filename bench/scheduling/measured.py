"""All that one run of the benchmark has measured."""

import statistics
from collections.abc import Iterable

import msgspec

from bench.scheduling.gap import Gap
from bench.scheduling.plan import EVEN
from bench.scheduling.planning import Planned
from bench.scheduling.rates import Chosen
from bench.scheduling.window import Times
from bench.stats import Spread
from penstock.control.metrics import TrafficMetrics
from penstock.devcluster.settings import Shape


class Sample(msgspec.Struct, frozen=True, kw_only=True):
    """One scheduler in one round."""

    times: Times
    emitted_per_s: float
    """By all spout tasks."""
    traffic: TrafficMetrics
    nodes: int
    workers: int
    core_share: float
    """Of the machine, with all that else it did."""


class Cell(msgspec.Struct, frozen=True, kw_only=True):
    """One topology on one layout."""

    name: str
    chosen: Chosen
    rounds: dict[str, list[Sample]]
    """By scheduler; rounds in order."""

    def mean_ms(self, contestant: str) -> Spread:
        """Average processing times, over all rounds."""
        return Spread.over(sample.times.mean_ms for sample in self.rounds[contestant])

    def over_even(self, contestant: str) -> Spread:
        """Average processing times over those of `even` in the same round."""
        return Spread.over(
            sample.times.mean_ms / even.times.mean_ms
            for sample, even in zip(self.rounds[contestant], self.rounds[EVEN], strict=True)
        )

    def reduction(self, contestant: str) -> float | None:
        """By which part of `even`'s it is shorter; None if it was not measured."""
        return 1.0 - self.over_even(contestant).median if contestant in self.rounds else None

    def typical(self, contestant: str) -> Sample:
        """The sample of the median average: a whole one, because medians of parts do not add up."""
        samples = sorted(self.rounds[contestant], key=lambda sample: sample.times.mean_ms)
        return samples[(len(samples) - 1) // 2]


class Moment(msgspec.Struct, frozen=True, kw_only=True):
    """One look at a topology under overload."""

    at_s: float
    """Since the input was doubled; negative before."""
    mean_ms: float | None
    """The average of what came to its end since the last look; None if nothing did."""
    workers: int
    nodes: int


class Overload(msgspec.Struct, frozen=True, kw_only=True):
    """A topology that was too much for one worker."""

    name: str
    per_s: float
    """Tuples of each spout task, before the input was doubled."""
    moments: list[Moment]

    def spread_after_s(self) -> float | None:
        """When it had left the one worker."""
        return min((moment.at_s for moment in self.moments if moment.at_s >= 0 and moment.workers > 1), default=None)

    def before_ms(self) -> float | None:
        """The average before the input was doubled."""
        return _median(moment.mean_ms for moment in self.moments if moment.at_s < 0)

    def worst_ms(self) -> float | None:
        """The worst average of all moments."""
        return max((moment.mean_ms for moment in self.moments if moment.mean_ms is not None), default=None)

    def after_ms(self) -> float | None:
        """The average of the last third."""
        last_s = max((moment.at_s for moment in self.moments), default=0.0)
        return _median(moment.mean_ms for moment in self.moments if moment.at_s > last_s * 2 / 3)


class Measured(msgspec.Struct, frozen=True, kw_only=True):
    """Everything."""

    links: Shape
    """What the box made of its links: kernels differ in what they can."""
    cells: list[Cell]
    overloads: list[Overload]
    gaps: list[Gap]
    """None where OR-tools is not installed."""
    planned: list[Planned]


def _median(values: Iterable[float | None]) -> float | None:
    found = [value for value in values if value is not None]
    return statistics.median(found) if found else None
