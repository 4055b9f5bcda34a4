"""How many sentences at which rate, in how many rounds."""

import msgspec


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """All there is to measure."""

    rounds: int
    flood_s: float
    """How long an unthrottled run lasts at least, once everything is up."""
    rates_per_s: tuple[int, ...]
    paced_s: float
    """How long a run at a rate lasts after its warm-up."""
    patience_s: float
    """How long a runner may take."""
    quick: bool
    """Leave out whoever is slow to start, and whoever would have to be installed first."""


FULL = Plan(rounds=3, flood_s=3.0, rates_per_s=(5_000,), paced_s=8.0, patience_s=300.0, quick=False)

QUICK = Plan(rounds=1, flood_s=0.5, rates_per_s=(5_000,), paced_s=2.0, patience_s=120.0, quick=True)
