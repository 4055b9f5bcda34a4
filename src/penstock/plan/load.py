"""What was measured of a running topology, as schedulers take it."""

from __future__ import annotations

import msgspec

__all__ = ["Load", "Traffic"]


class Load(msgspec.Struct, frozen=True, kw_only=True):
    """How much of one core each task takes (0.25: a quarter), by task id."""

    busy_share: dict[int, float]


class Traffic(msgspec.Struct, frozen=True, kw_only=True):
    """What flows between tasks, by (source task id, target task id). Pairs without traffic are left out."""

    tuples_per_s: dict[tuple[int, int], float]
    bytes_per_s: dict[tuple[int, int], float]
