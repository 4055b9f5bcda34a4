"""What each worker of a transform is given, inside the Spark task."""

from __future__ import annotations

import msgspec

from penstock.transport.links import LinkKeys
from penstock.worker.settings import WorkerSettings

__all__ = ["TransformTicket"]


class TransformTicket(msgspec.Struct, frozen=True, kw_only=True):
    """Travels inside the Spark task, and nowhere else: it holds secret keys."""

    topology: bytes
    """What is to run, from its `FrameSpout`s to its `FrameOutput`."""
    inputs: tuple[str, ...]
    """The spouts that Spark feeds, in the order of the frames."""
    workers: int
    """How many there are to be."""
    keys: LinkKeys
    """For links between nodes."""
    settings: WorkerSettings
