"""How much of everything."""

import msgspec


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """All there is to measure."""

    rounds: int
    tuples: int
    """How many pass in an unthrottled run."""
    tasks: tuple[int, ...]
    """How many tasks a topology on two workers has, spout included."""
    workers: tuple[int, ...]
    """How many workers a topology with a task each has."""
    load_shares: tuple[float, ...]
    """Which shares of what it can take at most the chain is given."""
    load_s: float
    keys: int
    soak_s: float
    slice_s: float
    """How long a slice of the soak is."""
    soak_rate_per_s: int


FULL = Plan(
    rounds=5,
    tuples=1_000_000,
    tasks=(2, 4, 8, 16, 32, 64),
    workers=(2, 4, 8, 16),
    load_shares=(0.01, 0.1, 0.25, 0.5, 0.75, 0.9, 1.0),
    load_s=10.0,
    keys=10_000_000,
    soak_s=3600.0,
    slice_s=60.0,
    soak_rate_per_s=2_000,
)

QUICK = Plan(
    rounds=1,
    tuples=100_000,
    tasks=(2, 16),
    workers=(2, 4),
    load_shares=(0.05, 0.5),
    load_s=1.0,
    keys=50_000,
    soak_s=6.0,
    slice_s=2.0,
    soak_rate_per_s=1_000,
)
