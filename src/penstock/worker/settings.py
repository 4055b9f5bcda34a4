"""How a worker is sized. The defaults suit tuples of up to some kilobytes on a few cores."""

from __future__ import annotations

from typing import get_args

import msgspec

from penstock.flow.backlog import OutgoingPolicy
from penstock.flow.delivery import Delivery

__all__ = ["WorkerSettings"]


class WorkerSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The same for all workers of a run."""

    inbox_bytes: int = 8 << 20
    """The ring that other workers of the node write to."""

    share_memory: bool = True
    """Whether workers of one node write into each other's rings. Without that they use links, as between nodes."""

    credit_window_bytes: int = 1 << 20
    """What a task may have under way to a task of another worker."""

    high_water_tuples: int = 16_384
    """How many tuples may wait for a task, before those that feed it help or pause."""

    high_water_ms: float = 100.0
    """The same by time: what takes a task longer is too much, too, from 16 tuples on."""

    low_water_share: float = 0.5
    """The part of these at which all go on as before. Below 1."""

    help_step: float = 0.1
    """By how much workers learn each time how much of the next bolt's work they should do: the Δ of Leron's equation
    (1), above 0 and below 1."""

    redirection: bool = True
    """Whether workers with time to spare do a part of what a task cannot do that has others stopped."""

    turn_tuples: int = 16_384
    """How many tuples a task works through at most before the next task has its turn. More than 1,024 are done by one
    that is given them singly and needs less than a microsecond for each: as many as a millisecond is enough for."""

    spout_turn_tuples: int = 1024
    """How many tuples a spout is asked for before the next task has its turn."""

    idle_spout_wait_us: int = 500
    """How long a worker sleeps when its spouts have nothing just now."""

    max_spout_failures: int = 20
    """How often in a row a spout's `next()` may raise until the run fails. It is asked again after 10 ms to 1 s."""

    delivery: Delivery = "at_least_once"
    """What is promised when something dies."""

    max_pending: int = 10_000
    """At least once: how many tuples of one spout task may be under way; it is not asked for more."""

    max_tries: int = 4
    """At least once: how often a tuple that fails is emitted, the first time included, until it is given up."""

    singly_tuples: int = 10_000
    """At least once: how many tuples of a spout task are tracked each by itself, at first and after one has failed,
    until up to 64 of them are tracked together."""

    link_high_water_frames: int = 1000
    """How many frames ZeroMQ keeps for another node before it says that it is full."""

    link_window_ms: float = 10.0
    """How much of a link's time is given to it ahead. What is beyond that waits where `outgoing` decides."""

    outgoing: OutgoingPolicy = "lbf"
    """Whose tuples leave first when the way out is congested, among the tasks of an operator: `"fifo"`: those that have
    waited longest; `"round_robin"`: one task after the other; `"lbf"`: those of the task that has most of them."""

    outgoing_interval_ms: float = 10.0
    """How long the task that was chosen goes on, and how long other workers of its node that have less wait for it."""

    def __post_init__(self) -> None:
        for name in (
            "credit_window_bytes",
            "high_water_tuples",
            "turn_tuples",
            "spout_turn_tuples",
            "max_spout_failures",
            "max_pending",
            "max_tries",
        ):
            self._require(name, getattr(self, name) >= 1, "at least 1")
        for name in ("high_water_ms", "link_window_ms"):
            self._require(name, getattr(self, name) > 0, "above 0")
        self._require("low_water_share", 0 <= self.low_water_share < 1, "0 or more, and below 1")
        self._require("help_step", 0 < self.help_step < 1, "above 0 and below 1")
        self._require("outgoing_interval_ms", self.outgoing_interval_ms >= 0, "0 or more")
        policies = get_args(OutgoingPolicy)
        self._require("outgoing", self.outgoing in policies, f"one of {', '.join(map(repr, policies))}")

    def _require(self, name: str, holds: bool, wanted: str) -> None:
        if not holds:
            message = f"{name} must be {wanted}, got {getattr(self, name)!r}"
            raise ValueError(message)
