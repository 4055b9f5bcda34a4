"""How fast the input of a topology is: as fast as the paper's, or as leaves the machine's cores unsaturated.

What should hurt are the links. Where the cores are the scarce thing, a placement is good that costs the least of them,
and on two cores that is all in one process, whatever the links are like.
"""

import time
from collections.abc import Callable

import msgspec

from bench.scheduling.cores import CoreTimes

TARGET_SHARE = 0.5
MOST_SHARE = 0.6
_SETTLE_S = 1.0
_LOOK_S = 2.0
_SLOWER = 0.75
_SLOWEST = 1 / 16


class Chosen(msgspec.Struct, frozen=True, kw_only=True):
    """What was chosen."""

    per_s: float
    """Tuples per second of each spout task."""
    core_share: float
    """Which part of the cores was busy then, with `even`."""
    idle_share: float
    """And without any input."""


def choose_rate(most_per_s: float, share_at: Callable[[float], float]) -> Chosen:
    """The fastest rate at which the cores are busy for less than `MOST_SHARE`, or nearly that. Never none at all.

    Args:
        most_per_s: no faster than this.
        share_at: sets a rate, and says which part of the cores was busy then.
    """
    idle = share_at(0.0)
    tried = most_per_s / 8
    share = share_at(tried)
    slowest = most_per_s * _SLOWEST
    rate = min(most_per_s, max(slowest, tried * _times_as_fast(idle, share)))
    while (share := share_at(rate)) >= MOST_SHARE and rate > slowest:
        rate = max(slowest, rate * _SLOWER)
    return Chosen(per_s=rate, core_share=share, idle_share=idle)


def _times_as_fast(idle: float, share: float) -> float:
    """What an input costs beyond idling grows with it, as a first guess."""
    return max(0.0, TARGET_SHARE - idle) / max(1e-3, share - idle)


def measured_share(turn: Callable[[float], None]) -> Callable[[float], float]:
    """A `share_at` of the real machine, given what sets the rate."""

    def share_at(per_s: float) -> float:
        turn(per_s)
        time.sleep(_SETTLE_S)
        before = CoreTimes.now()
        time.sleep(_LOOK_S)
        return CoreTimes.now().share_since(before)

    return share_at
