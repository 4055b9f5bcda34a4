"""What a cluster in a box looks like."""

from __future__ import annotations

import math
from typing import Literal

import msgspec

__all__ = ["DevClusterSettings", "Shape"]

MOST_NODES = 99
# Spark refuses to start an executor with less.
LEAST_EXECUTOR_MEMORY_MIB = 450
# A token bucket counts in kernel ticks: far below this it is no bucket any more.
LEAST_RATE_BITS_PER_S = 8_000
MOST_DELAY_S = 60.0


class Shape(msgspec.Struct, frozen=True, kw_only=True):
    """What is done to the traffic of a node."""

    rate_bits_per_s: int | None = None
    """Of what it sends, and of what it receives; None: as fast as the machine is."""
    delay_s: float | None = None
    """Of everything it sends, so that a question and its answer take two of them."""

    def __post_init__(self) -> None:
        if self.rate_bits_per_s is not None and self.rate_bits_per_s < LEAST_RATE_BITS_PER_S:
            message = f"rate_bits_per_s must be at least {LEAST_RATE_BITS_PER_S}, got {self.rate_bits_per_s}"
            raise ValueError(message)
        if self.delay_s is not None and not (math.isfinite(self.delay_s) and 0 < self.delay_s <= MOST_DELAY_S):
            message = f"delay_s must be above 0 and at most {MOST_DELAY_S:g}, got {self.delay_s}"
            raise ValueError(message)


class DevClusterSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How many nodes, how large, and how they are joined."""

    nodes: int = 4
    slots_per_node: int = 4
    """Tasks that a node runs at a time, and so workers that it has room for; not held to be cores of this machine."""
    rate_bits_per_s: int | None = None
    """How fast each node's link is in each direction; None: as fast as the machine is."""
    delay_s: float | None = None
    """How long what a node sends is under way; None: no longer than it takes."""
    network: Literal["auto", "namespaces", "loopback"] = "auto"
    """How nodes are kept apart; auto: by namespaces where that can be had, else by addresses of the loopback."""
    executor_memory_mib: int = 512
    """Of each executor's JVM. Python's memory is beside it."""
    daemon_memory_mib: int = 256
    """Of the JVM of the master, and of each node's own."""
    lost_after_s: float = 20.0
    """How long Spark hears nothing of a node until it takes it for lost. Spark's own default is two minutes."""
    start_timeout_s: float = 120.0
    """How long the master, or a node, may take to start."""

    def __post_init__(self) -> None:
        if not 1 <= self.nodes <= MOST_NODES:
            message = f"nodes must be from 1 to {MOST_NODES}, got {self.nodes}"
            raise ValueError(message)
        if self.slots_per_node < 1:
            message = f"slots_per_node must be at least 1, got {self.slots_per_node}"
            raise ValueError(message)
        if self.executor_memory_mib < LEAST_EXECUTOR_MEMORY_MIB:
            message = (
                f"executor_memory_mib must be at least {LEAST_EXECUTOR_MEMORY_MIB}, below which Spark starts no "
                f"executor, got {self.executor_memory_mib}"
            )
            raise ValueError(message)
        for name in ("daemon_memory_mib", "lost_after_s", "start_timeout_s"):
            if getattr(self, name) <= 0:
                message = f"{name} must be above zero, got {getattr(self, name)}"
                raise ValueError(message)
        _ = self.shape  # it checks itself

    @property
    def shape(self) -> Shape:
        """What every node's traffic is like at first."""
        return Shape(rate_bits_per_s=self.rate_bits_per_s, delay_s=self.delay_s)
