"""How to reach another worker: by its ring if we may and can share memory with it, else by a link."""

from __future__ import annotations

import logging

from penstock.errors import RingAttachError
from penstock.transport.links import LinkKeys, LinkSender
from penstock.transport.ring import RingWriter
from penstock.worker.carriers import FrameWay, RingWay
from penstock.worker.settings import WorkerSettings

__all__ = ["way_to"]

log = logging.getLogger(__name__)


def way_to(
    *, same_node: bool, ring_address: str, link_endpoint: str, keys: LinkKeys, settings: WorkerSettings
) -> FrameWay:
    """A way to a peer. That two workers are on one node is a claim; attaching to the ring proves it."""
    if same_node and settings.share_memory:
        try:
            writer = RingWriter.attach(ring_address)
        except RingAttachError as error:
            log.warning("a peer on the same node cannot be reached by its ring, so a link is used: %s", error)
        else:
            return RingWay(writer)
    return LinkSender(
        endpoint=link_endpoint,
        keys=keys,
        high_water_frames=settings.link_high_water_frames,
        window_ms=settings.link_window_ms,
    )
