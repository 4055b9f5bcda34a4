"""How load is measured, how often the placement is thought over, and what has to be gained by a change."""

from __future__ import annotations

from typing import Literal

import msgspec

__all__ = ["SchedulingSettings"]


class SchedulingSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Settings of online scheduling. All but `scheduling` and `store` can be changed while the run goes on."""

    scheduling: Literal["driver", "external", "off"] = "driver"
    """Who plans: a thread of the driver, `penstock scheduler` elsewhere, or nobody. Load is measured in any case."""
    store: str | None = None
    """Where load and schedules are kept: `sqlite:///path` or `postgresql://…`; None: a file of this user's."""
    load_every_s: float | None = 20.0
    """How often load is sampled; None: never."""
    load_alpha: float = 0.5
    """How much of the old estimate is kept at each sample."""
    schedule_every_s: float = 60.0
    """How often a schedule is made, when nothing is overloaded. With overload, one is made at each sample of load."""
    fetch_every_s: float = 10.0
    """How often the driver looks for schedules."""
    gain_threshold: float = 0.1
    """How much better a schedule has to be, to be applied: 0.1 is ten percent."""
    capacity_fraction: float = 0.9
    """Which part of a core, or of a node's cores, may be in use until that counts as overload."""
    history_s: float = 86_400.0
    """How long samples are kept."""

    def __post_init__(self) -> None:
        if self.load_every_s is not None and self.load_every_s <= 0:
            message = f"load_every_s must be above 0, or None, got {self.load_every_s}"
            raise ValueError(message)
        for name in ("schedule_every_s", "fetch_every_s", "history_s"):
            if getattr(self, name) <= 0:
                message = f"{name} must be above 0, got {getattr(self, name)}"
                raise ValueError(message)
        if not 0 <= self.load_alpha < 1:
            message = f"load_alpha must be at least 0 and below 1, got {self.load_alpha}"
            raise ValueError(message)
        if not 0 < self.gain_threshold < 1:
            message = f"gain_threshold must be above 0 and below 1, got {self.gain_threshold}"
            raise ValueError(message)
        if not 0 < self.capacity_fraction <= 1:
            message = f"capacity_fraction must be above 0 and at most 1, got {self.capacity_fraction}"
            raise ValueError(message)
