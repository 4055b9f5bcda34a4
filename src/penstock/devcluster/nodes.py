"""How a node is, for people and for other processes."""

from __future__ import annotations

from typing import Literal

import msgspec

from penstock.devcluster.settings import Shape

__all__ = ["NodeStatus"]


class NodeStatus(msgspec.Struct, frozen=True, kw_only=True):
    """A node as it is now."""

    number: int
    address: str
    namespace: str | None
    """The network namespace that it is; None: it is an address of the loopback interface."""
    state: Literal["up", "cut off", "dead"]
    """Dead: its own process has ended, be it cut off or not."""
    shape: Shape
    processes: int
    """How many there are: Spark's own, executors, Python."""
