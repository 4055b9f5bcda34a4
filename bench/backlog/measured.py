"""All that was measured on a cluster in a box."""

import msgspec

from bench.backlog.plan import Experiment
from bench.stats import Spread

FIFO, ROUND_ROBIN, LBF = "fifo", "round_robin", "lbf"


class Sample(msgspec.Struct, frozen=True, kw_only=True):
    """How old words were when they were counted, in one run."""

    words: int
    """Without those of the warm-up."""
    mean_ms: float
    p50_ms: float
    p99_ms: float
    slowest_task_ms: float
    """The mean of the split task for which it is largest."""


class Measured(msgspec.Struct, frozen=True, kw_only=True):
    """One experiment: each policy, round by round."""

    experiment: Experiment
    intervals_ms: tuple[int, ...]
    rounds: dict[str, list[Sample]]

    @property
    def round_robin(self) -> str:
        """The one contestant that goes round."""
        return next(name for name in self.rounds if name.startswith(ROUND_ROBIN))

    def spread(self, contestant: str, value: str) -> Spread:
        """A value over the rounds."""
        return Spread.over(getattr(sample, value) for sample in self.rounds[contestant])

    def reduction(self, contestant: str) -> Spread:
        """By which part the mean is smaller than that of `fifo` in the same round."""
        pairs = zip(self.rounds[contestant], self.rounds[FIFO], strict=True)
        return Spread.over(1 - ours.mean_ms / fifos.mean_ms for ours, fifos in pairs)

    def reductions(self) -> dict[int, Spread]:
        """That of `lbf`, by the interval."""
        return {interval: self.reduction(f"{LBF} {interval} ms") for interval in self.intervals_ms}
