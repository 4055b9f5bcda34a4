"""What a run's metrics say about help and backpressure. The one place that knows their names."""

from typing import Any

import msgspec

from penstock.control.metrics import RunMetrics

NO_REDIRECTION: dict[str, Any] = {"redirection": False}
"""The settings of a run in which nobody but those upstream helps."""


class Pressure(msgspec.Struct, frozen=True, kw_only=True):
    """All tasks together, since the run began."""

    helped_s: float
    """How long tasks had asked for help and stopped nobody."""
    stopping_s: float
    """How long tasks had others stopped."""
    episodes: int
    """How often one had too much."""
    ratio: dict[str, float]
    """r, by edge: the most that one of its workers has."""

    def since(self, earlier: "Pressure") -> "Pressure":
        """What came to it. r is as it is now."""
        return Pressure(
            helped_s=self.helped_s - earlier.helped_s,
            stopping_s=self.stopping_s - earlier.stopping_s,
            episodes=self.episodes - earlier.episodes,
            ratio=self.ratio,
        )


def pressure_of(metrics: RunMetrics) -> Pressure:
    """As of one look."""
    pressures = metrics.pressures
    return Pressure(
        helped_s=sum(one.asked_s for one in pressures),
        stopping_s=sum(one.stopping_s for one in pressures),
        episodes=sum(one.episodes for one in pressures),
        ratio={f"{source} for {one.component}": r for one in pressures for source, r in one.ratios.items()},
    )
