"""All that one run of the benchmark has measured."""

import msgspec

from bench.recovery.outage import Outage
from bench.recovery.soak import Soaked
from bench.stats import Distribution, Spread


class Measured(msgspec.Struct, frozen=True, kw_only=True):
    """By guarantee, a value per round; and the soaks."""

    words_per_s: dict[str, list[float]]
    latencies_ms: dict[str, list[Distribution]]
    outages: dict[str, list[Outage]]
    soaked: list[Soaked]

    def rate(self, delivery: str) -> Spread:
        """Words per second, over all rounds."""
        return Spread.over(self.words_per_s[delivery])
