"""Where a spout goes on when its worker was lost."""

from __future__ import annotations

import msgspec

from penstock.flow.replay import Stretch

__all__ = ["SpoutProgress"]


class SpoutProgress(msgspec.Struct, frozen=True, kw_only=True):
    """How far a spout task had come when it was last heard of."""

    task: int
    position: bytes | None = None
    """From where on not everything is done, encoded; None if the spout has no positions: it begins anew."""
    owed: int = 0
    """How many outputs it had emitted from there on. They are emitted again, also if the run is drained meanwhile."""
    done: tuple[Stretch, ...] = ()
    """What is done behind the position, between encoded positions. It is not emitted again if it can be skipped."""
    ended: bool = False
    """Whether all that it ever emitted is done."""
