"""All that one run of the benchmark has measured."""

import statistics
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

import msgspec

from bench.paths.arrivals import Stamps
from bench.stats import Spread, percentile

STAGES: tuple[tuple[str, Callable[[Stamps], float | None]], ...] = (
    ("sent", lambda stamps: stamps["sent_ns"] / 1e6),
    ("micro-batch begun", lambda stamps: stamps.get("begun_ms")),
    ("row computed by Spark", lambda stamps: stamps.get("computed_ms")),
    ("counted by the topology", lambda stamps: stamps["counted_ns"] / 1e6 if "counted_ns" in stamps else None),
    ("at the last operator", lambda stamps: stamps["arrived_ns"] / 1e6),
)
"""What a line passes, and when it did, in ms, if it did."""

DURATIONS = ("latestOffset", "walCommit", "queryPlanning", "addBatch", "commitOffsets", "triggerExecution")
"""What Spark tells of a micro-batch, in ms."""


class Round(msgspec.Struct, frozen=True, kw_only=True):
    """One way, once; all in ms."""

    p50: float
    p90: float
    p99: float
    lines: int
    stages: dict[str, float]
    """By stage: the median from the stage before."""
    durations: dict[str, float]
    """By what Spark calls it: the median over micro-batches."""

    @classmethod
    def of(cls, lines: Sequence[Stamps], progress: Sequence[dict[str, Any]]) -> "Round":
        """From what was noted of at least one line, and what Spark says of the query before the topology, if any."""
        ordered = sorted((stamps["arrived_ns"] - stamps["sent_ns"]) / 1e6 for stamps in lines)
        batches = [batch["durationMs"] for batch in progress if batch["numInputRows"]]
        return cls(
            p50=percentile(ordered, 0.5),
            p90=percentile(ordered, 0.9),
            p99=percentile(ordered, 0.99),
            lines=len(lines),
            stages=_stages(lines),
            durations={
                name: statistics.median(batch.get(name, 0) for batch in batches) for name in DURATIONS if batches
            },
        )


def _stages(lines: Sequence[Stamps]) -> dict[str, float]:
    passed = [(name, when) for name, when in STAGES if when(lines[0]) is not None]
    return {
        name: statistics.median((when(stamps) or 0.0) - (before(stamps) or 0.0) for stamps in lines)
        for (_, before), (name, when) in pairwise(passed)
    }


class Measured(msgspec.Struct, frozen=True, kw_only=True):
    """By way, a value per round."""

    rounds: dict[str, list[Round]]

    def spread(self, way: str, value: Callable[[Round], float]) -> Spread:
        """One value over all rounds."""
        return Spread.over(value(one) for one in self.rounds[way])

    def medians(self, way: str, values: Callable[[Round], dict[str, float]]) -> dict[str, float]:
        """Several values by name, each over all rounds."""
        rounds = [values(one) for one in self.rounds[way]]
        return {name: statistics.median(one[name] for one in rounds) for name in rounds[0]}
