"""How many tuples at which rates, in how many rounds."""

import msgspec

from bench.overhead.chain import Paced


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """All there is to measure."""

    rounds: int
    batches: tuple[int, ...]
    """Tuples per message of the chains that batch by hand."""
    flood_s: float
    """How long an unthrottled run lasts at least."""
    rates_per_s: tuple[int, ...]
    paced_s: float

    def paced(self) -> list[Paced]:
        """A run for each rate, with a quarter more tuples to warm up."""
        return [
            Paced(rate_per_s=rate, count=int(rate * self.paced_s), warm_up=int(rate * self.paced_s / 4))
            for rate in self.rates_per_s
        ]


FULL = Plan(rounds=5, batches=(64, 256, 1024), flood_s=2.0, rates_per_s=(1_000, 5_000), paced_s=4.0)

QUICK = Plan(rounds=1, batches=(256,), flood_s=0.5, rates_per_s=(1_000, 5_000), paced_s=2.0)
