"""How many rows, in how many rounds."""

import msgspec


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """All there is to measure."""

    rounds: int
    rows: int
    running_rows: int
    """Of the running counts: there a peer is slow, and all are given fewer."""
    sensors: int = 1_000


FULL = Plan(rounds=5, rows=10_000_000, running_rows=1_000_000)

QUICK = Plan(rounds=1, rows=200_000, running_rows=50_000)
